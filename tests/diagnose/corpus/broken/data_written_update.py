"""A hand-written update comes before the backward() of the second loss, which needs the old weights."""

import torch

torch.manual_seed(0)
a = torch.randn(4, 4, requires_grad=True)
b = torch.randn(4, 1, requires_grad=True)
for _ in range(4):
    x = torch.randn(9, 4)
    hidden = (x @ a).tanh()
    error = (hidden @ b).pow(2).mean()
    penalty = (a @ b).abs().mean()
    penalty.backward()
    for p in (a, b):
        p.data -= 0.01 * p.grad  # expect: data-written b
        p.grad = None
    error.backward()
    for p in (a, b):
        p.data -= 0.01 * p.grad
        p.grad = None
