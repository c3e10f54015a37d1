"""A worker computes gradients with its own copy of a shared model, as in A3C; no optimizer has the worker's."""

import torch
from torch import nn

torch.manual_seed(0)
shared, worker = nn.Linear(4, 2), nn.Linear(4, 2)
optimizer = torch.optim.RMSprop(shared.parameters(), lr=1e-3)
for _ in range(8):
    worker.load_state_dict(shared.state_dict())
    worker.zero_grad()
    x = torch.randn(6, 4)
    (worker(x) - x[:, :2]).pow(2).mean().backward()
    optimizer.zero_grad()
    for p, q in zip(shared.parameters(), worker.parameters()):
        p.grad = q.grad
    optimizer.step()
