"""Gradients from autograd.grad() are added to .grad by hand, and nothing clears it between two steps."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr=0.05):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

    def add_gradients(self, loss):
        parameters = list(self.model.parameters())
        for p, g in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            p.grad = g if p.grad is None else p.grad + g

    def fit(self, batches, parts=2):
        for x, y in batches:
            for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):
                self.add_gradients(nn.functional.mse_loss(self.model(a), b) / parts)
            self.optimizer.step()  # expect: stale-gradient 0.weight 0.bias 2.weight 2.bias


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
data = [(x := torch.randn(16, 3), x.sum(1, keepdim=True)) for _ in range(10)]
Trainer(net).fit(data)
