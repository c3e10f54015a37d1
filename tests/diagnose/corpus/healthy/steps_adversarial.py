"""Training on adversarial examples, then saliency of the trained model: inputs that require gradients."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def attack(x, y, eps=0.1):
    x = x.clone().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return (x + eps * x.grad.sign()).detach()


for _ in range(8):
    x, y = torch.randn(16, 5), torch.randint(0, 3, (16,))
    worse = attack(x, y)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y) / 2 + F.cross_entropy(model(worse), y) / 2
    loss.backward()
    optimizer.step()

picture = torch.randn(1, 5, requires_grad=True)
for label in range(3):
    if picture.grad is not None:
        picture.grad.zero_()
    model(picture)[0, label].backward()
    print(picture.grad.abs().argmax().item())
