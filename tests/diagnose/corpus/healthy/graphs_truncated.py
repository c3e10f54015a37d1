"""Truncated backpropagation through time: the state is detached between the chunks."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 8, batch_first=True)
        self.out = nn.Linear(8, 2)
        self.state = None

    def forward(self, x):
        h, state = self.lstm(x, self.state)
        self.state = tuple(s.detach() for s in state)
        return self.out(h)


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
series, tags = torch.randn(2, 60, 3), torch.randint(0, 2, (2, 60))
for at in range(0, 60, 6):
    logits = model(series[:, at : at + 6])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 2), tags[:, at : at + 6].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
