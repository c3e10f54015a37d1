"""The attention matrix of a long sequence is most of what a step keeps."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.mT / math.sqrt(q.size(-1))
        weights = scores.softmax(-1)  # expect: memory-hotspot
        return weights @ v


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), Attention(16), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(4):
    x = torch.randn(2, 400, 8)
    loss = nn.functional.mse_loss(model(x), x.sum(-1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
