"""A product with a mask hides the square root of zero; 0 * inf is NaN."""

import torch

torch.manual_seed(0)
w = torch.randn(4, 2, requires_grad=True)
for step in range(4):
    x = torch.randn(6, 4)
    x[step] = 0.0
    lengths = (x @ w).square().sum(1).sqrt()  # or: masked-nan
    nonzero = (x.abs().sum(1) > 0).float()
    loss = ((lengths - 1) * nonzero).square().sum() / nonzero.sum()  # expect: masked-nan
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
    w.grad = None
