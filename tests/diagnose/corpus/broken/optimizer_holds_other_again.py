"""The model is made a second time, with other settings, after the optimizer."""

import torch
from torch import nn


def main(hidden=8):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)  # or: optimizer-holds-other
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, 1))  # expect: optimizer-holds-other
    for _ in range(6):
        x = torch.rand(20, 3)
        optimizer.zero_grad()
        nn.functional.l1_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


main()
