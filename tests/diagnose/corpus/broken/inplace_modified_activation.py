"""relu_ overwrites what tanh has saved, in a closure that an optimizer calls."""

import torch

torch.manual_seed(0)
w = torch.randn(6, 6, requires_grad=True)
x = torch.randn(6)
optimizer = torch.optim.LBFGS([w], max_iter=3)


def closure():
    optimizer.zero_grad()
    h = torch.tanh(w @ x)
    torch.relu_(h)  # expect: inplace-modified
    loss = (h.sum() - 1) ** 2
    loss.backward()
    return loss


for _ in range(2):
    optimizer.step(closure)
