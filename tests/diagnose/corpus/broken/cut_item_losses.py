"""The losses of the parts are collected as numbers and made a tensor again."""

import torch
from torch import nn

torch.manual_seed(0)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.history = []

    def loss(self, batch):
        losses = []
        for x, y in batch:
            error = (self.model(x) - y).pow(2).mean()
            losses.append(error.item())  # expect: cut-item weight bias
        return torch.tensor(losses, requires_grad=True).mean()

    def step(self, batch):
        loss = self.loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())


trainer = Trainer(nn.Linear(3, 1), lr=0.1)
for _ in range(5):
    trainer.step([(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)])
