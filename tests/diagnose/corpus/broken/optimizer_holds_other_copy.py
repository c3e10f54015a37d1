"""Training goes on with a copy of the model, the optimizer has the original."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # or: optimizer-holds-other
criterion = nn.CrossEntropyLoss()
initial = model.state_dict()
model = copy.deepcopy(model)  # expect: optimizer-holds-other 0.weight 0.bias 2.weight 2.bias
for step in range(8):
    x = torch.randn(16, 4)
    loss = criterion(model(x), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.zero_grad()
