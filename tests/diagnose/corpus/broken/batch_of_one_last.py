"""65 examples in batches of 32: the last batch has one."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
loader = DataLoader(TensorDataset(torch.randn(65, 5), torch.randn(65, 1)), batch_size=32)
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)  # expect: batch-of-one
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
