import copy

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class BYOL(nn.Module):
    def __init__(self, net, d):
        super().__init__()
        self.net, self.target = net, copy.deepcopy(net)
        self.predict = nn.Sequential(nn.Linear(d, d), nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, d))

    @torch.no_grad()
    def targets(self, *views):
        return [F.normalize(self.target(v), dim=-1) for v in views]

    def forward(self, a, b):
        ta, tb = self.targets(a, b)
        pa, pb = (F.normalize(self.predict(self.net(v)), dim=-1) for v in (a, b))
        return 4 - 2 * (pa * tb).sum(-1).mean() - 2 * (pb * ta).sum(-1).mean()

    @torch.no_grad()
    def update(self):
        for t, o in zip(self.target.parameters(), self.net.parameters()):
            t.lerp_(o, 0.05)


model = BYOL(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8)), 8)
opt = torch.optim.Adam([*model.net.parameters(), *model.predict.parameters()], lr=1e-3)
for _ in range(30):
    x = torch.randn(32, 6)
    loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    model.update()
