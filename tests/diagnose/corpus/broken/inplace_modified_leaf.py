"""A step of gradient descent by hand, without no_grad()."""

import torch


def fit(x, y, rate=0.1):
    w = torch.zeros(x.shape[1], requires_grad=True)
    for _ in range(10):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        w -= rate * w.grad  # expect: inplace-modified
        w.grad = None
    return w


torch.manual_seed(0)
inputs = torch.randn(20, 3)
print(fit(inputs, inputs.sum(1)))
