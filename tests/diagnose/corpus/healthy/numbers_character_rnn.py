"""A simple RNN that predicts every next character."""

import torch
from torch import nn

torch.manual_seed(0)
text = "the quick brown fox jumps over the lazy dog. " * 4
letters = sorted(set(text))
codes = torch.tensor([letters.index(c) for c in text])
cell = nn.RNNCell(len(letters), 24)
read = nn.Linear(24, len(letters))
optimizer = torch.optim.Adagrad([*cell.parameters(), *read.parameters()], lr=0.1)
for start in range(0, 100, 25):
    h, loss = torch.zeros(1, 24), 0.0
    for t in range(start, start + 40):
        x = nn.functional.one_hot(codes[t : t + 1], len(letters)).float()
        h = cell(x, h)
        loss = loss + nn.functional.cross_entropy(read(h), codes[t + 1 : t + 2])
    optimizer.zero_grad()
    loss.backward()
    for p in cell.parameters():
        p.grad.clamp_(-5, 5)
    optimizer.step()
