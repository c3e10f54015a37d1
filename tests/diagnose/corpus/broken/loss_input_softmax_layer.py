"""A classifier that ends in a softmax, and a loss that has one."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = x[:, :3].argmax(1)
model = nn.Sequential(
    nn.Linear(5, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
    nn.Softmax(dim=1),  # expect: loss-input
)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for step in range(20):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
