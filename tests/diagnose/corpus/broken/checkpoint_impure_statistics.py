"""A buffer with a running mean is written to in the checkpointed function, so twice in every step."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Scaled(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        with torch.no_grad():
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)  # expect: checkpoint-impure
        return self.linear(x).tanh()


torch.manual_seed(0)
blocks = nn.Sequential(Scaled(4), Scaled(4))
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
for _ in range(3):
    h = torch.randn(8, 4)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    loss = (h - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
