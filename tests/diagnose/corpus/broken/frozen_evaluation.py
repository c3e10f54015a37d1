"""The evaluation freezes the model and leaves it so."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())


def validate():
    model.eval()
    model.requires_grad_(False)  # expect: frozen
    error = (model(torch.ones(2, 3)) - 3).abs().mean()
    model.train()
    return error.item()


for epoch in range(2):
    for _ in range(2):
        x = torch.randn(4, 3)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(validate())
