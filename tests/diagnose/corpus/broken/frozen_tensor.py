"""Plain tensors are given to the optimizer; one of them does not require gradients."""

import torch

torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1)
optimizer = torch.optim.SGD([{"params": [w]}, {"params": [b], "lr": 0.01}], lr=0.1)  # expect: frozen b
for _ in range(5):
    x = torch.randn(8, 3)
    loss = (x @ w + b - x.sum(1, keepdim=True) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
