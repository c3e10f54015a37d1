"""The features are computed once, before the loop that trains on them."""

import torch
from torch import nn


def fit(encoder, head, x, y, steps=5):
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    features = encoder(x)  # or: backward-twice
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(features), y)
        loss.backward()  # expect: backward-twice
        optimizer.step()
    return head


torch.manual_seed(0)
fit(nn.Sequential(nn.Linear(6, 12), nn.GELU()), nn.Linear(12, 3), torch.randn(30, 6), torch.randint(0, 3, (30,)))
