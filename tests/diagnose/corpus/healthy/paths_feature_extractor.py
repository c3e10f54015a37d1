"""Features of a fixed network, computed without gradients; only the head is in the optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
head = nn.Linear(12, 3)
model = nn.ModuleList([body, head])
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(6):
    with torch.no_grad():
        h = body(torch.randn(5, 6))
    loss = nn.functional.cross_entropy(head(h), torch.randint(3, (5,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
