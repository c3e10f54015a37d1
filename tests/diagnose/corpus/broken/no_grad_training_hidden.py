"""The exception was silenced by requires_grad_(): the loss is a leaf, and nothing arrives at the model."""

import torch
from torch import nn


class Learner:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    @torch.no_grad()  # expect: no-grad-training
    def loss(self, x):
        return (self.net(x) - x.norm(dim=1, keepdim=True)).abs().mean()

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.loss(x).requires_grad_()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
learner = Learner()
for _ in range(6):
    learner.step(torch.randn(7, 3))
