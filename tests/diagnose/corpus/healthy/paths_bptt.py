"""Truncated backpropagation through time: the state goes from window to window, its history does not."""

import torch
from torch import nn

torch.manual_seed(0)
rnn, out = nn.LSTM(3, 8), nn.Linear(8, 3)
model = nn.ModuleDict({"rnn": rnn, "out": out})
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
series = torch.sin(torch.arange(0, 40.0)[:, None, None] * torch.tensor([0.3, 0.5, 0.7])).expand(-1, 2, -1)
state = None
for start in range(0, 35, 5):
    x, y = series[start : start + 5], series[start + 1 : start + 6]
    if state is not None:
        state = tuple(s.detach() for s in state)
    h, state = rnn(x, state)
    loss = (out(h) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
