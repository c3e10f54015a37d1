"""Accumulation over four batches of a DataLoader; the loss of each is a mean and is not divided."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(96, 6), torch.randint(0, 4, (96,))), batch_size=4, shuffle=True)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
accumulation_steps = 4
optimizer.zero_grad()
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()  # expect: accumulation-scale
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
