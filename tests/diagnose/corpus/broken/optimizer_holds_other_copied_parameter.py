import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

class Mixed(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ops = nn.ModuleList([nn.Linear(d, d), nn.Sequential(nn.Linear(d, d), nn.Tanh()), nn.Identity()])

    def forward(self, x, w):
        return sum(wi * op(x) for wi, op in zip(w, self.ops))

class Net(nn.Module):
    def __init__(self, d=8, n=2):
        super().__init__()
        self.inp = nn.Linear(5, d)
        self.cells = nn.ModuleList(Mixed(d) for _ in range(n))
        self.out = nn.Linear(d, 3)
        self.alpha = nn.Parameter(1e-3 * torch.randn(n, 3))

    def weights(self):
        return [p for n, p in self.named_parameters() if n != "alpha"]

    def forward(self, x):
        x = self.inp(x)
        for cell, a in zip(self.cells, self.alpha):
            x = F.relu(cell(x, a.softmax(-1)))
        return self.out(x)

net = Net()
ow = torch.optim.SGD(net.weights(), lr=0.05, momentum=0.9)
oa = torch.optim.Adam([net.alpha.detach().clone().requires_grad_()], lr=3e-3)  # expect: optimizer-holds-other
for it in range(15):
    x, y = torch.randn(16, 5), torch.randint(0, 3, (16,))
    oa.zero_grad()
    F.cross_entropy(net(x), y).backward()
    oa.step()
    x, y = torch.randn(16, 5), torch.randint(0, 3, (16,))
    ow.zero_grad()
    F.cross_entropy(net(x), y).backward()
    nn.utils.clip_grad_norm_(net.weights(), 5.0)
    ow.step()
