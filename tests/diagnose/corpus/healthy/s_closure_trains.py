"""The closure calls train(), as a trainer of a library does; validation after every epoch calls eval()."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(64, 4)
for epoch in range(12):

    def closure():
        model.train()
        optimizer.zero_grad()
        loss = (model(x[:48]) - x[:48].sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    model.eval()
    with torch.no_grad():
        valid = (model(x[48:]) - x[48:].sum(1, keepdim=True)).pow(2).mean()
print(loss.item(), valid.item())
