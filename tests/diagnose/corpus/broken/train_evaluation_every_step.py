"""A plain sequence of layers, evaluated after every step in training mode."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x, y = torch.randn(80, 4), torch.randint(0, 2, (80,))
for step in range(25):
    loss = F.cross_entropy(model(x[:60]), y[:60])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        accuracy = (model(x[60:]).argmax(1) == y[60:]).float().mean()  # expect: train-evaluation
print(accuracy.item())
