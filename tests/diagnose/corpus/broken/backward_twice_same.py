"""backward() is called for the same loss once more, to "strengthen" its gradient."""

import torch

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
for _ in range(3):
    loss = (torch.randn(8, 4) @ w).exp().mean()
    loss.backward()
    loss.backward()  # expect: backward-twice
    with torch.no_grad():
        w -= 0.01 * w.grad
        w.grad.zero_()
