"""The loop notices the NaN and stops, before backward(); some steps after the first ones."""

import sys

import torch
from torch import nn


def ratio(a, b):
    return a / b  # expect: nonfinite-forward


def main():
    torch.manual_seed(0)
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(20):
        x = torch.randn(8, 5)
        counts = (x > 0).float().sum(1)
        if step == 6:
            counts[2] = 0.0
        loss = ratio(model(x).squeeze(1).pow(2), counts + 0 * model.bias).mean()
        value = loss.item()
        if value != value or value in (float("inf"), float("-inf")):
            print("loss is", value)
            sys.exit(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
