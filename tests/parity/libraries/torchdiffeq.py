"""A neural differential equation, through the solver and by the adjoint method."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint

start, times = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 2.0, 15)
spiral = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
with torch.no_grad():
    target = odeint(lambda t, y: y**3 @ spiral, start, times)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 30), nn.Tanh(), nn.Linear(30, 2))

    def forward(self, t, y):
        return self.net(y**3)


for solve in (odeint, odeint_adjoint):
    torch.manual_seed(1)
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (solve(field, start, times) - target).abs().mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
