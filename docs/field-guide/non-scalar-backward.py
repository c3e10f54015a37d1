import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = nn.functional.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 1]), reduction="none")
loss.backward()
optimizer.step()
