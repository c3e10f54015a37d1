import torch
from torch import nn

torch.manual_seed(0)
layers = [layer for _ in range(12) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
model = nn.Sequential(*layers, nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = (model(torch.randn(16, 8)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    first, last = (layer.weight.grad.norm().item() for layer in (model[0], model[-1]))
    print(f"loss {loss.item():.3f}, gradient of the first layer {first:.0e}, of the last {last:.0e}")
