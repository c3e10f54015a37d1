"""Accuracy on test data after each epoch, with batch norm still in training mode."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
train = DataLoader(TensorDataset(torch.randn(64, 5), torch.randint(0, 3, (64,))), batch_size=8, shuffle=True)
test = DataLoader(TensorDataset(torch.randn(24, 5), torch.randint(0, 3, (24,))), batch_size=8)
model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    correct = 0
    with torch.no_grad():
        for x, y in test:
            prediction = model(x).argmax(dim=1)  # expect: train-evaluation
            correct += (prediction == y).sum().item()
    print(f"epoch {epoch}: {correct / 24:.0%}")
