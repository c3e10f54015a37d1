"""On a rise of the validation loss the best model is restored as a copy; the optimizer goes on with the old one."""
import copy

import torch
from torch import nn


def loaders():
    x = torch.randn(80, 6)
    y = x[:, :1] - x[:, 1:2] ** 2
    return (x[:60], y[:60]), (x[60:], y[60:])


torch.manual_seed(0)
(train_x, train_y), (val_x, val_y) = loaders()
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)  # or: optimizer-holds-other
best, best_loss = None, float("inf")
for epoch in range(30):
    loss = nn.functional.mse_loss(model(train_x), train_y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(val_x), val_y).item()
    if val < best_loss:
        best, best_loss = copy.deepcopy(model), val
    elif epoch % 5 == 4:
        model = copy.deepcopy(best)  # expect: optimizer-holds-other 0.weight 0.bias 2.weight 2.bias
        for group in optimizer.param_groups:
            group["lr"] *= 0.5
    print(epoch, loss.item(), val)
