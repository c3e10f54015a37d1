"""A learning rate that an integer division has made zero."""

import torch
from torch import nn

torch.manual_seed(0)
epochs, batch_size = 5, 16
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=batch_size // 256, momentum=0.9)  # expect: update-ratio
for _ in range(epochs):
    for _ in range(3):
        x = torch.randn(batch_size, 3)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # or: update-ratio
    print(loss.item())
