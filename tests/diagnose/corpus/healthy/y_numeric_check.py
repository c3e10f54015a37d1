"""A finite-difference check of one weight between forward and backward, undone before the backward."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)


def f(x):
    return (model(x) - x.sum(1, keepdim=True)).pow(2).mean()


def numeric(p, i, x, eps=1e-2):
    flat = p.data.view(-1)
    with torch.no_grad():
        flat[i] += eps
        up = f(x).item()
        flat[i] -= 2 * eps
        down = f(x).item()
        flat[i] += eps
    return (up - down) / (2 * eps)


worst = 0.0
for step in range(20):
    x = torch.randn(16, 3)
    loss = f(x)
    guess = numeric(model[2].weight, step % 8, x)
    opt.zero_grad()
    loss.backward()
    worst = max(worst, abs(guess - model[2].weight.grad.view(-1)[step % 8].item()))
    opt.step()
print(worst)
