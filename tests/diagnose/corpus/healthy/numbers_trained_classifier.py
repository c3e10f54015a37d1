"""A classifier that is already sure of itself is trained further; its sigmoid and softmax are at their limits."""

import torch
from torch import nn

torch.manual_seed(0)
features = torch.randn(64, 4)
labels = (features[:, :1] > 0).float()
features[:, :1] += 4 * labels - 2
model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
with torch.no_grad():
    model[0].weight.copy_(torch.tensor([[12.0, 0.0, 0.0, 0.0]]))
    model[0].bias.zero_()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(10):
    loss = nn.functional.binary_cross_entropy(model(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
