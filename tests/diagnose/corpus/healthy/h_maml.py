"""MAML over sinusoids with functional parameters, and a first-order variant that copies the model."""

import copy
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def net(params, x):
    w1, b1, w2, b2 = params
    return F.linear(torch.relu(F.linear(x, w1, b1)), w2, b2)


params = [
    nn.Parameter(torch.randn(20, 1) * 0.5),
    nn.Parameter(torch.zeros(20)),
    nn.Parameter(torch.randn(1, 20) * 0.2),
    nn.Parameter(torch.zeros(1)),
]
meta_opt = torch.optim.Adam(params, lr=1e-3)


def task():
    a, p = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3
    x = torch.rand(20, 1) * 10 - 5
    return x, a * torch.sin(x + p)


for it in range(10):
    meta_loss = 0.0
    for _ in range(4):
        x, y = task()
        fast = list(params)
        for _ in range(2):
            inner = F.mse_loss(net(fast, x[:10]), y[:10])
            grads = torch.autograd.grad(inner, fast, create_graph=True)
            fast = [p - 0.01 * g for p, g in zip(fast, grads)]
        meta_loss = meta_loss + F.mse_loss(net(fast, x[10:]), y[10:])
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    print(meta_loss.item() / 4)

model = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 1))
for it in range(10):  # Reptile
    before = copy.deepcopy(model.state_dict())
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    x, y = task()
    for _ in range(5):
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    after = model.state_dict()
    model.load_state_dict({n: before[n] + (after[n] - before[n]) * 0.1 for n in before})
