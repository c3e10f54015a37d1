"""Low-rank adapters that begin at zero, on a frozen network; rarely used embeddings."""

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


torch.manual_seed(0)
body = nn.Sequential(*[m for _ in range(5) for m in (Adapted(nn.Linear(12, 12)), nn.ReLU())])
table, head = nn.Embedding(500, 12), nn.Linear(12, 2)
trained = [p for p in [*body.parameters(), *table.parameters(), *head.parameters()] if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-2)
for _ in range(12):
    tokens = torch.randint(0, 500, (6,))
    loss = nn.functional.cross_entropy(head(body(table(tokens))), tokens % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
