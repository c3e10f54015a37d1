"""Updates through .data in a function; the gradients of the previous iteration are still there."""

import torch
from torch import nn


def sgd(net, lr):
    for p in net.parameters():
        p.data = p.data - lr * p.grad  # expect: stale-gradient weight bias


def main():
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    for _ in range(8):
        x = torch.randn(10, 3)
        loss = nn.functional.mse_loss(net(x), x[:, :1])
        loss.backward()
        sgd(net, 0.01)


main()
