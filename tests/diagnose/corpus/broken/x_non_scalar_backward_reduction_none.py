"""Weighted samples: the criterion does not reduce, and the mean was forgotten."""
import torch
import torch.nn as nn


class WeightedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.ce = nn.CrossEntropyLoss(reduction="none")

    def forward(self, logits, target, weight):
        return self.ce(logits, target) * weight  # or: non-scalar-backward


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
criterion = WeightedLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    x = torch.randn(12, 4)
    y = torch.randint(0, 3, (12,))
    loss = criterion(net(x), y, torch.rand(12))
    optimizer.zero_grad()
    loss.backward()  # expect: non-scalar-backward
    optimizer.step()
    print(i, loss)
