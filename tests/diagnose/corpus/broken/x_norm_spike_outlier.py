"""A corrupted record in the data: one batch's gradient is thousands of times as large as the others', without clipping."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(320, 5)
y = x.sum(1, keepdim=True) + 0.1 * torch.randn(320, 1)
y[237] = 50000.0
loader = DataLoader(TensorDataset(x, y), batch_size=8)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for i, (xb, yb) in enumerate(loader):
    loss = nn.functional.mse_loss(model(xb), yb)  # or: norm-spike
    optimizer.zero_grad()
    loss.backward()  # expect: norm-spike
    optimizer.step()  # or: norm-spike
    print(i, loss.item())
