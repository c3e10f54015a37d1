"""A target of 1e6 among ordinary ones, with gradients that are accumulated over two batches."""

import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(3, 10), nn.Tanh(), nn.Linear(10, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def accumulate(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y) / 2
        loss.backward()  # expect: norm-spike

    def fit(self, data):
        for i, (x, y) in enumerate(data):
            self.accumulate(x, y)
            if i % 2:
                self.optimizer.step()  # or: norm-spike
                self.optimizer.zero_grad()


torch.manual_seed(0)
data = [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(40)]
data[31][1][2] = 1e6  # or: norm-spike
Trainer().fit(data)
