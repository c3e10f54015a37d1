"""House prices: features in thousands of dollars go through sigmoid units."""
import torch
from torch import nn

torch.manual_seed(0)
area, age = 500 + 2500 * torch.rand(120, 1), 80 * torch.rand(120, 1)
x = torch.cat([area, age, area * 0.3 + 100], dim=1)
y = 0.2 * area - age
y = (y - y.mean()) / y.std()
model = nn.Sequential(nn.Linear(3, 16), nn.Sigmoid(), nn.Linear(16, 1))  # expect: saturated
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(25):
    pred = model(x)  # or: saturated
    loss = nn.functional.mse_loss(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), model[0].weight.grad.abs().max().item())
