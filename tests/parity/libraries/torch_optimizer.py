"""Many optimizers on one valley and one small regression: where each is after some steps."""

import torch
import torch_optimizer as optim
from torch import nn

makers = {
    "AccSGD": dict(lr=1e-3), "AdaBelief": dict(lr=1e-2), "AdaBound": dict(lr=1e-2), "AdaMod": dict(lr=1e-2),
    "AdamP": dict(lr=1e-2), "AggMo": dict(lr=1e-3), "Apollo": dict(lr=1e-2), "DiffGrad": dict(lr=1e-2),
    "Lamb": dict(lr=1e-2), "MADGRAD": dict(lr=1e-2), "NovoGrad": dict(lr=1e-2), "PID": dict(lr=1e-3),
    "QHAdam": dict(lr=1e-2), "QHM": dict(lr=1e-3, momentum=0.9, nu=0.7), "RAdam": dict(lr=1e-2),
    "Ranger": dict(lr=1e-2), "RangerQH": dict(lr=1e-2), "SGDP": dict(lr=1e-3), "SGDW": dict(lr=1e-3),
    "SWATS": dict(lr=1e-2), "Shampoo": dict(lr=1e-2), "Yogi": dict(lr=1e-2),
}


def valley(point):
    """A long bent valley, with its floor at (1, 1)."""
    x, y = point
    return (1 - x) ** 2 + 5 * (y - x**2) ** 2


torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x @ torch.randn(5, 1)).sin()
for name, options in makers.items():
    point = nn.Parameter(torch.tensor([-0.8, 0.9]))
    optimizer = getattr(optim, name)([point], **options)
    for _ in range(30):
        optimizer.zero_grad()
        valley(point).backward(create_graph=False)
        optimizer.step()
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = getattr(optim, name)(model.parameters(), **options)
    for _ in range(15):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(name, point.tolist(), loss.item())

model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
ahead = optim.Lookahead(optim.Yogi(model.parameters(), lr=1e-2), k=5, alpha=0.5)
for _ in range(20):
    ahead.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    ahead.step()
print(loss.item())
