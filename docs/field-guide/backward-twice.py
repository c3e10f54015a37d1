import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.RNNCell(2, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.05)
hidden = torch.zeros(1, 4)
for step in range(3):
    hidden = cell(torch.ones(1, 2), hidden)
    loss = (head(hidden) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
