"""LBFGS whose closure does not zero the gradients."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
x = torch.randn(50, 3)
y = x @ torch.tensor([[1.0], [-1.0], [0.5]])


def closure():
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()  # or: stale-gradient
    return loss


for i in range(6):
    loss = optimizer.step(closure)  # expect: stale-gradient weight bias
    print(i, loss.item())
