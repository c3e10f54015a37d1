"""The checkpointed function appends to a list of the program: every entry is there twice."""

import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
weights = [torch.randn(4, 4, requires_grad=True) for _ in range(3)]
optimizer = torch.optim.Adam(weights, lr=0.01)
norms = []


def layer(w, x):
    h = torch.relu(x @ w)
    norms.append(h.norm().item())  # expect: checkpoint-impure
    return torch.sin(h)


for _ in range(3):
    h = torch.randn(5, 4)
    for w in weights:
        h = checkpoint(layer, w, h, use_reentrant=False)
    optimizer.zero_grad()
    (h - 0.5).pow(2).mean().backward()
    optimizer.step()
