"""First-order MAML: a new SGD optimizer for every task."""
import copy
import torch
from torch import nn

torch.manual_seed(0)
meta = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
outer = torch.optim.Adam(meta.parameters(), lr=1e-2)


def task():
    a = torch.rand(1) * 2 + 0.5
    x = torch.rand(20, 1) * 4 - 2
    return x, a * x.sin()


for it in range(25):
    outer.zero_grad()
    for _ in range(2):
        x, y = task()
        fast = copy.deepcopy(meta)
        inner = torch.optim.SGD(fast.parameters(), lr=0.05)
        for _ in range(3):
            inner.zero_grad()
            nn.functional.mse_loss(fast(x[:10]), y[:10]).backward()
            inner.step()
        inner.zero_grad()
        nn.functional.mse_loss(fast(x[10:]), y[10:]).backward()
        for p, q in zip(meta.parameters(), fast.parameters()):
            p.grad = q.grad / 2 if p.grad is None else p.grad + q.grad / 2
    outer.step()
print(sum(p.norm().item() for p in meta.parameters()))
