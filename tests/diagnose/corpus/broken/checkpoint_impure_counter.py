"""A block that takes another way at every second call: backward() runs it once more."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Alternating(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.even = nn.Linear(size, size)
        self.odd = nn.Linear(size, size)
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # expect: checkpoint-impure
        if self.calls % 2:
            return torch.sigmoid(self.odd(x))
        return torch.tanh(self.even(x)).exp()


torch.manual_seed(0)
block, head = Alternating(4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    out = head(checkpoint(block, torch.randn(5, 4), use_reentrant=False))
    optimizer.zero_grad()
    out.pow(2).mean().backward()
    optimizer.step()
