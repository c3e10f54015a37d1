"""Low-rank adapters in a frozen network; the optimizer has what requires gradients."""

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.normal_(self.up.weight, std=0.01)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
net.requires_grad_(False)
net[0], net[2] = Adapted(net[0]), Adapted(net[2])
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for _ in range(6):
    loss = nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.randint(2, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
