"""The test accuracy is measured with dropout on."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 10)
y = (x[:, :2].sum(1) > 0).long()
x_train, y_train, x_test, y_test = x[:150], y[:150], x[150:], y[150:]

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x_train), y_train)
    loss.backward()
    optimizer.step()

with torch.no_grad():
    predicted = model(x_test).argmax(dim=1)  # expect: train-evaluation
print("test accuracy", (predicted == y_test).float().mean().item())
