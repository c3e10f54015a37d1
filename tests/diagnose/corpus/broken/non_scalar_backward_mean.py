"""A mean over one dimension only, in a class with a training step."""

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))

    def loss(self, x, y):
        return (self.body(x) - y).square().mean(dim=1)  # or: non-scalar-backward


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    model.loss(x, y).backward()  # expect: non-scalar-backward
    optimizer.step()


torch.manual_seed(0)
model = Regressor()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(2):
    train_step(model, optimizer, torch.randn(6, 4), torch.randn(6, 3))
