"""The state of an LSTM is carried to the next chunk with its history."""

import torch
from torch import nn

torch.manual_seed(0)
lstm = nn.LSTM(3, 8, batch_first=True)
head = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3)
state = None
for _ in range(5):
    x = torch.randn(2, 6, 3)
    out, state = lstm(x, state)  # or: backward-twice
    loss = head(out[:, -1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # expect: backward-twice
    optimizer.step()
