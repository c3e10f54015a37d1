"""The loss is a mean over the valid entries; in one batch there are none. The program checks, and raises."""

import torch
from torch import nn


def train(model, optimizer, steps):
    for step in range(steps):
        x = torch.randn(6, 4)
        valid = torch.rand(6) > (1.0 if step == 6 else 0.3)
        error = (model(x).squeeze(1) - x[:, 0]).abs()
        loss = error[valid].mean()  # expect: nonfinite-forward
        if torch.isnan(loss):
            raise FloatingPointError(f"step {step}: the loss is NaN")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
net = nn.Linear(4, 1)
train(net, torch.optim.Adamax(net.parameters()), 10)
