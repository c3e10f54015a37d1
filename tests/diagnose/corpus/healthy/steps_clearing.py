"""The ways to clear gradients: of the optimizer, of the model, to zero, to None, after the step or before."""

import torch
from torch import nn

torch.manual_seed(0)


def by_loop(model, optimizer):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.detach_()
            p.grad.zero_()


def forget(model, optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None


ways = [lambda m, o: o.zero_grad(), lambda m, o: m.zero_grad(), lambda m, o: o.zero_grad(set_to_none=False), by_loop,
    forget]
for clear in ways:
    for first in (True, False):
        model = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(4):
            loss = model(torch.randn(5, 4)).square().mean()
            if first:
                clear(model, optimizer)
            loss.backward()
            optimizer.step()
            if not first:
                clear(model, optimizer)
