"""The sum of the losses is a Python number, which has no backward()."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    total, correct = 0.0, 0
    for _ in range(4):
        x, y = torch.randn(8, 4), torch.randint(3, (8,))
        scores = net(x)
        total += nn.functional.cross_entropy(scores, y).item()  # expect: cut-item weight bias
        correct += (scores.argmax(1) == y).sum().item()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
