"""nn.RNN predicts the next value of a sine from twenty-five; each of several outputs counts."""

import torch
from torch import nn


class Predictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(1, 16, batch_first=True)
        self.line = nn.Linear(16, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.line(h[:, -1])


torch.manual_seed(0)
wave = torch.sin(torch.arange(400) * 0.1)
windows = wave.unfold(0, 26, 5)[:, :, None]
model = Predictor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch in windows.split(16):
        loss = nn.functional.mse_loss(model(batch[:, :-1]), batch[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
