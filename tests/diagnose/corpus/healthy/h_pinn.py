"""A physics-informed network for u'' = -sin(x), first Adam, then L-BFGS."""

import torch
from torch import nn
from torch.autograd import grad

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, x):
        return self.net(x)


u = MLP()


def residual(x):
    x = x.requires_grad_(True)
    y = u(x)
    dy = grad(y, x, torch.ones_like(y), create_graph=True)[0]
    d2y = grad(dy, x, torch.ones_like(dy), create_graph=True)[0]
    return d2y + torch.sin(x)


def losses():
    x = torch.rand(64, 1) * 3.14
    boundary = torch.tensor([[0.0], [3.14159]])
    return (residual(x) ** 2).mean(), (u(boundary) ** 2).mean()


adam = torch.optim.Adam(u.parameters(), lr=1e-3)
for it in range(30):
    adam.zero_grad()
    r, b = losses()
    loss = r + 10 * b
    loss.backward()
    adam.step()
lbfgs = torch.optim.LBFGS(u.parameters(), max_iter=10, line_search_fn="strong_wolfe")
x = torch.linspace(0, 3.14, 50)[:, None]


def closure():
    lbfgs.zero_grad()
    loss = (residual(x.clone()) ** 2).mean() + 10 * (u(torch.tensor([[0.0], [3.14159]])) ** 2).mean()
    loss.backward()
    return loss


for _ in range(3):
    print(lbfgs.step(closure).item())
