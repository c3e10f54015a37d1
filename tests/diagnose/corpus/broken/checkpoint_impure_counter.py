"""A block whose temperature falls with every call: backward() calls it once more."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Annealed(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # expect: checkpoint-impure
        temperature = 2.0 / self.calls
        return torch.sigmoid(self.linear(x) / temperature).exp()


torch.manual_seed(0)
block, head = Annealed(4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.01)
for _ in range(3):
    out = head(checkpoint(block, torch.randn(5, 4), use_reentrant=False))
    optimizer.zero_grad()
    out.pow(2).mean().backward()
    optimizer.step()
