import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
for layer in (model[0], model[2]):
    nn.init.constant_(layer.weight, 0.1)
    nn.init.zeros_(layer.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 3)
for step in range(50):
    loss = (model(x) - x[:, :1] * x[:, 1:2]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("different units:", len(torch.unique(model[0].weight, dim=0)), "of 16")
