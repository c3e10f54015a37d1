import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
points = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
for step in range(2):
    a, b = model(points)
    distance = (a - b).pow(2).sum().sqrt()
    loss = distance + model.bias.pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}, gradient {model.weight.grad.flatten().tolist()}")
