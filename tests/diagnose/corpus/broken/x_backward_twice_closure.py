"""LBFGS: the loss is computed outside of the closure."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5)
x = torch.randn(30, 2)
for epoch in range(3):
    loss = nn.functional.mse_loss(model(x), x.prod(1, keepdim=True))  # or: backward-twice

    def closure():
        optimizer.zero_grad()
        loss.backward()  # expect: backward-twice
        return loss
    optimizer.step(closure)
    print(epoch, loss.item())
