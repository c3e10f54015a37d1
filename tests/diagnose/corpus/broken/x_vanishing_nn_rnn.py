"""The adding problem with nn.RNN over 150 steps: the gradient of the first inputs is lost."""
import torch
from torch import nn


class Adding(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.embed = nn.Linear(2, 6)
        self.stack = nn.Sequential(*[m for _ in range(16) for m in (nn.Linear(6, 6), nn.Tanh())])  # expect: vanishing
        for m in self.stack:
            if isinstance(m, nn.Linear):
                nn.init.uniform_(m.weight, -0.1, 0.1)  # or: vanishing
        self.read = nn.Linear(6, 1)

    def forward(self, x):
        return self.read(self.stack(self.embed(x)))  # or: vanishing


torch.manual_seed(0)
net = Adding()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(10):
    x = torch.randn(32, 2)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()  # or: vanishing
    opt.step()  # or: vanishing
    print(i, loss.item(), net.embed.weight.grad.norm().item())
