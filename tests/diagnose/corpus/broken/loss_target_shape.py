"""Flat labels against a column of logits."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x[:, 0] > 0).float()
model = nn.Linear(5, 1)
loss = nn.BCEWithLogitsLoss()(model(x), y)  # expect: loss-target
loss.backward()
