"""A learnable temperature is a plain tensor of the module, no parameter."""

import torch
import torch.nn.functional as F
from torch import nn


class Matcher(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Linear(dim, dim, bias=False)
        self.b = nn.Linear(dim, dim, bias=False)
        self.log_scale = torch.zeros((), requires_grad=True)  # expect: not-in-optimizer log_scale

    def forward(self, x, y):
        u, v = F.normalize(self.a(x), dim=-1), F.normalize(self.b(y), dim=-1)
        return self.log_scale.exp() * u @ v.T


torch.manual_seed(0)
matcher = Matcher(6)
optimizer = torch.optim.Adam(matcher.parameters(), lr=1e-3)
for _ in range(5):
    x = torch.randn(8, 6)
    logits = matcher(x, x + 0.1 * torch.randn(8, 6))
    loss = F.cross_entropy(logits, torch.arange(8))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
