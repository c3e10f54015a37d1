"""Attention in which one sequence consists of padding only: a row of the scores is -inf everywhere."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, padding):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        scores = scores.masked_fill(padding[:, None, :], float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # expect: nonfinite-forward
        return weights @ self.v(x)


torch.manual_seed(0)
attention, head = Attention(8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=1e-3)
for lengths in ([3, 5, 2], [5, 1, 4], [4, 0, 5]):
    x = torch.randn(3, 5, 8)
    padding = torch.arange(5)[None, :] >= torch.tensor(lengths)[:, None]
    out = head(attention(x, padding).mean(1))
    loss = nn.functional.cross_entropy(out, torch.tensor([0, 1, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
