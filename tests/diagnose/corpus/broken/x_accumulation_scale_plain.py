"""Gradient accumulation over four micro-batches, whose mean losses are summed."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 8)
data = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulation_steps = 4

for epoch in range(2):
    optimizer.zero_grad()
    for i, (inputs, labels) in enumerate(data):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()  # expect: accumulation-scale
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()  # or: accumulation-scale
            optimizer.zero_grad()
    print(epoch, loss.item())
