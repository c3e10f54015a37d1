"""The attention is masked in place after softmax has saved its result."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-1, -2)
        weights = torch.softmax(scores, -1)
        mask = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        weights.masked_fill_(mask, 0.0)  # expect: inplace-modified
        return weights @ x


torch.manual_seed(0)
attention = Attention(4)
optimizer = torch.optim.Adam(attention.parameters(), lr=0.01)
for _ in range(2):
    loss = attention(torch.randn(2, 5, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
