"""A stateful LSTM whose state goes from batch to batch with its graph."""
import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.cell = nn.LSTM(1, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, 1)
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.cell(x, self.hidden)  # or: backward-twice
        return self.linear(out)


def windows(series, size):
    for i in range(0, len(series) - size - 1, size):
        yield series[i:i + size].view(1, -1, 1), series[i + 1:i + size + 1].view(1, -1, 1)


torch.manual_seed(0)
series = torch.sin(torch.linspace(0, 20, 200))
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
for epoch in range(2):
    for x, y in windows(series, 20):
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()  # expect: backward-twice
        optimizer.step()
    print(epoch, loss.item())
