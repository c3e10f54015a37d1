"""A plain loop that never zeroes the gradients."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 10), nn.ReLU(), nn.Linear(10, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.005)
x = torch.randn(50, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]])

for epoch in range(20):
    y_pred = model(x)
    loss = criterion(y_pred, y)
    loss.backward()
    optimizer.step()  # expect: stale-gradient 0.weight 0.bias 2.weight 2.bias
    print(epoch, loss.item())
