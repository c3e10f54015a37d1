"""Gradual unfreezing: the head first, then the body, as a group of its own."""

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)
model = nn.Sequential(body, head)
for p in body.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    if epoch == 2:
        for p in body.parameters():
            p.requires_grad = True
        optimizer.add_param_group({"params": body.parameters(), "lr": 0.01})
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
