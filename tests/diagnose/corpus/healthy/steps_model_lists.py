"""Layers in plain lists whose parameters the optimizer is given, and an ensemble in a list."""

import itertools

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3) for _ in range(2)]
        self.last = nn.Linear(3, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.last(x)


torch.manual_seed(0)
stack = Stack()
own = itertools.chain(stack.parameters(), *(layer.parameters() for layer in stack.layers))
optimizer = torch.optim.SGD(own, lr=0.05)
for _ in range(5):
    x = torch.randn(8, 3)
    stack.zero_grad()
    for layer in stack.layers:
        layer.zero_grad()
    (stack(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()

ensemble = [nn.Linear(3, 1) for _ in range(3)]
optimizers = [torch.optim.SGD(m.parameters(), lr=0.05) for m in ensemble]
for _ in range(5):
    x = torch.randn(8, 3)
    for model, optimizer in zip(ensemble, optimizers):
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
