"""Each epoch begins with cleared gradients: those of its last, incomplete accumulation were never used."""

import torch
from torch import nn


def train(model, batches, accumulate=3, epochs=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        optimizer.zero_grad()
        for i, x in enumerate(batches, 1):
            loss = (model(x) - x).square().mean()
            (loss / accumulate).backward()  # or: accumulation-scale
            if i % accumulate == 0:
                optimizer.step()  # expect: accumulation-scale
                optimizer.zero_grad()


torch.manual_seed(0)
train(nn.Sequential(nn.Linear(6, 2), nn.Linear(2, 6)), torch.randn(11, 8, 6))
