import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    loss = (model(torch.ones(2, 4)) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
