"""A physics-informed network: second derivatives by autograd.grad, Adam first, LBFGS after."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def grad(u, x):
    return torch.autograd.grad(u, x, grad_outputs=torch.ones_like(u), create_graph=True)[0]


def heat_loss(model):
    x = torch.rand(64, 1, requires_grad=True)
    t = torch.rand(64, 1, requires_grad=True)
    u = model(x, t)
    residual = grad(u, t) - 0.1 * grad(grad(u, x), x)
    x0 = torch.rand(32, 1)
    initial = model(x0, torch.zeros_like(x0)) - torch.sin(torch.pi * x0)
    return residual.pow(2).mean() + initial.pow(2).mean()


torch.manual_seed(0)
model = Model()
adam = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(15):
    adam.zero_grad()
    loss = heat_loss(model)
    loss.backward()
    adam.step()
lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=5, line_search_fn="strong_wolfe")


def closure():
    torch.manual_seed(1)
    lbfgs.zero_grad()
    loss = heat_loss(model)
    loss.backward()
    return loss


print(loss.item(), lbfgs.step(closure).item())
