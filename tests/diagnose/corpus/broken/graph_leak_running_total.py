"""The sum of the losses of an epoch is itself a tensor, whose graph grows."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.running_loss = 0.0
        self.seen = 0

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.running_loss += loss * len(x)  # expect: graph-leak
        self.seen += len(x)

    def epoch(self, batches):
        self.running_loss, self.seen = 0.0, 0
        for x, y in batches:
            self.step(x, y)
        return float(self.running_loss) / self.seen


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)))
data = [(torch.randn(10, 6), torch.randint(0, 3, (10,))) for _ in range(6)]
for _ in range(2):
    print(trainer.epoch(data))
