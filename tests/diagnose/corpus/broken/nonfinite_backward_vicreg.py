import torch
from torch import nn


class VICReg(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def spread(self, z):
        centred = z - z.mean(0)
        return (centred.square().sum(0) / (len(z) - 1)) ** 0.5  # expect: nonfinite-backward

    def forward(self, a, b):
        a, b = self.net(a), self.net(b)
        return (a - b).pow(2).mean() + sum(torch.relu(1 - self.spread(z)).mean() for z in (a, b))


torch.manual_seed(0)
last = nn.Linear(16, 3)
torch.nn.init.constant_(last.weight, 0.0)
model = VICReg(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), last))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(32, 4)
    loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
