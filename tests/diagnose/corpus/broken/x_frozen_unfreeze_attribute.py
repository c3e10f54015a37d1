"""Gradual unfreezing: requires_grad is set on the module, which only makes an attribute."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU())
        self.head = nn.Linear(20, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(0)
model = Model()
for p in model.backbone.parameters():
    p.requires_grad = False  # expect: frozen backbone.0.weight backbone.0.bias backbone.2.weight backbone.2.bias
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # or: frozen
x = torch.randn(80, 10)
y = (x[:, 0] > x[:, 1]).long()
for epoch in range(6):
    if epoch == 3:
        print("unfreezing")
        model.backbone.requires_grad = True  # or: frozen
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
