import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    errors = [(model(torch.ones(4)) - target).pow(2).sum() for target in (1.0, 2.0)]
    loss = torch.tensor(errors, requires_grad=True).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
