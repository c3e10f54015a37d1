"""Gradients through the steps of an optimizer."""

import higher
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
x, y = torch.randn(10, 3), torch.randn(10, 1)
for optimizer in (torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        torch.optim.Adam(model.parameters(), lr=0.1)):
    model.zero_grad()
    with higher.innerloop_ctx(model, optimizer, copy_initial_weights=False) as (inner, inner_optimizer):
        for _ in range(3):
            inner_optimizer.step(((inner(x) - y) ** 2).mean())
        ((inner(x) - y) ** 2).mean().backward()
    print(model.weight.grad.tolist(), model.bias.grad.tolist())
