"""A trainer that splits batches; the penalty is scaled, the loss is not."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, chunks=8):
        self.model, self.chunks = model, chunks
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def loss(self, x, y):
        return (self.model(x) - y).pow(2).mean()

    def step(self, x, y):
        self.optimizer.zero_grad()
        total = 0.0
        for a, b in zip(x.chunk(self.chunks), y.chunk(self.chunks)):
            loss = self.loss(a, b)
            loss.backward()  # expect: accumulation-scale
            total += loss.item() / self.chunks
        self.optimizer.step()
        return total


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)))
for _ in range(5):
    x = torch.randn(32, 3)
    print(trainer.step(x, x.sum(1, keepdim=True)))
