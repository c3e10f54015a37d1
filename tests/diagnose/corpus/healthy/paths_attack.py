"""Training with adversarial examples: the attack asks for the gradient of the input."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def attack(x, y, size=0.1):
    x = x.clone().detach().requires_grad_(True)
    gradient, = torch.autograd.grad(F.cross_entropy(model(x), y), x)
    return (x + size * gradient.sign()).detach()


for _ in range(6):
    x = torch.randn(16, 4)
    y = (x.sum(1) > 0).long()
    loss = F.cross_entropy(model(attack(x, y)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (model(x).argmax(1) == y).float().mean()
print(accuracy)
