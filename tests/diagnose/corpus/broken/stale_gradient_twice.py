"""Two steps for one backward: a step in the loop's body, and one in its helper."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
        self.losses = []

    def update(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()  # or: stale-gradient

    def fit(self, batches):
        for x, y in batches:
            loss = (self.model(x) - y).abs().mean()
            self.update(loss)
            self.losses.append(loss.item())
            self.optimizer.step()  # expect: stale-gradient


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)))
trainer.fit([(torch.randn(8, 6), torch.randn(8, 1)) for _ in range(12)])
