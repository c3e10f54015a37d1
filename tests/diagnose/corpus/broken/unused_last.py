"""The loop over the layers stops one too early."""

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, depth, dim):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.Linear(dim, dim) for _ in range(depth)])  # expect: unused layers.3.bias layers.3.weight
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        for i in range(1, len(self.layers)):
            x = x + torch.tanh(self.layers[i - 1](x))
        return self.out(x)


torch.manual_seed(0)
stack = Stack(4, 6)
optimizer = torch.optim.SGD(stack.parameters(), lr=0.05, momentum=0.9)
for _ in range(6):
    x = torch.randn(8, 6)
    loss = (stack(x) - x.max(1, keepdim=True).values).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
