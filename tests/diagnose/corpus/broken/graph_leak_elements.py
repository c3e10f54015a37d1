"""The losses are written into a tensor, which so has the graphs of all of them."""

import torch
from torch import nn


def main(steps=10):
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    history = torch.zeros(steps)
    for i in range(steps):
        loss = net(torch.randn(4, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history[i] = loss  # expect: graph-leak
    print(history.mean().item())


main()
