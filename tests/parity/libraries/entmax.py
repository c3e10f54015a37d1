"""Sparse softmax: custom Functions."""

import torch
from entmax import entmax15, entmax_bisect, sparsemax

torch.manual_seed(0)
z = torch.randn(3, 6, requires_grad=True)
for f in (sparsemax, entmax15, entmax_bisect):
    z.grad = None
    f(z, dim=-1).square().sum().backward()
    print(f(z, dim=-1).tolist(), z.grad.tolist())
