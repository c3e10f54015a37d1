"""A neural ODE with its own adjoint Function."""

import torch
from torch import nn

torch.manual_seed(0)


def flatten(params):
    return torch.cat([p.reshape(-1) for p in params])


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z0, steps, func, *params):
        ctx.func, ctx.steps = func, steps
        with torch.no_grad():
            z = z0
            for _ in range(steps):
                z = z + func(z) / steps
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx, a):
        (z,) = ctx.saved_tensors
        func, steps = ctx.func, ctx.steps
        params = tuple(func.parameters())
        total = [torch.zeros_like(p) for p in params]
        for _ in range(steps):
            with torch.enable_grad():
                z_ = z.detach().requires_grad_(True)
                f = func(z_)
                g = torch.autograd.grad(f, (z_, *params), a, allow_unused=True)
            a = a + g[0] / steps
            total = [t + h / steps for t, h in zip(total, g[1:])]
            z = z - f.detach() / steps
        return (a, None, None, *total)


class Func(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, y):
        return self.net(y**3)


func = Func()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
best = float("inf")
for itr in range(20):
    optimizer.zero_grad()
    y0 = torch.randn(16, 2)
    target = y0 @ torch.tensor([[0.9, 0.2], [-0.2, 0.9]])
    loss = torch.mean(torch.abs(Adjoint.apply(y0, 8, func, *func.parameters()) - target))
    loss.backward()
    optimizer.step()
    if itr % 5 == 0:
        with torch.no_grad():
            z = Adjoint.apply(y0, 8, func, *func.parameters())
            best = min(best, torch.mean(torch.abs(z - target)).item())
            print(itr, best)
