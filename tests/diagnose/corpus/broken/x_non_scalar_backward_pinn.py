"""A physics-informed network for u' = -u: the derivative is asked for by backward() of a vector."""
import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, t):
        return self.net(t)


def residual(model, t):
    u = model(t)
    u.backward(create_graph=True)  # expect: non-scalar-backward
    return t.grad + u


def main():
    torch.manual_seed(0)
    model = PINN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for it in range(10):
        t = torch.rand(30, 1, requires_grad=True)
        loss = residual(model, t).pow(2).mean() + (model(torch.zeros(1, 1)) - 1).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(it, loss.item())


main()
