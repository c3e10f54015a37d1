"""L-BFGS with a closure that does not clear the gradients."""

import torch

torch.manual_seed(0)
a = torch.randn(20, 4)
target = a @ torch.tensor([1.0, -2.0, 0.5, 3.0])
theta = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.LBFGS([theta], lr=0.1, max_iter=4)


def closure():
    loss = (a @ theta - target).pow(2).sum()
    loss.backward()
    return loss


for _ in range(5):
    optimizer.step(closure)  # expect: stale-gradient theta
