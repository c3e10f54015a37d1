"""SimSiam: stop-gradient on the targets, BatchNorm in the projector."""
import torch
from torch import nn


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
        self.predictor = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.predictor(za), self.predictor(zb), za.detach(), zb.detach()


torch.manual_seed(0)
model = SimSiam()
criterion = nn.CosineSimilarity(dim=1)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for step in range(15):
    x = torch.randn(48, 10)
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    pa, pb, za, zb = model(a, b)
    loss = -(criterion(pa, zb).mean() + criterion(pb, za).mean()) * 0.5
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), za.std(0).mean().item())
