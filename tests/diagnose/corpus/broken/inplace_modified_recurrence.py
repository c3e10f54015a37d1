"""A table is filled step by step, each row from the one before."""

import torch

torch.manual_seed(0)
w = torch.randn(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.01)
for _ in range(2):
    table = torch.zeros(6, 4)
    table[0] = 1.0
    for t in range(5):
        table[t + 1] = torch.tanh(table[t] @ w)  # expect: inplace-modified
    optimizer.zero_grad()
    table.sum().backward()
    optimizer.step()
