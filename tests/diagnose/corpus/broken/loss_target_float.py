"""Labels that were read as float32."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = torch.tensor([float(i % 3) for i in range(64)])
model = nn.Linear(5, 3)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
criterion = nn.CrossEntropyLoss()
for step in range(10):
    loss = criterion(model(x), y)  # expect: loss-target
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
