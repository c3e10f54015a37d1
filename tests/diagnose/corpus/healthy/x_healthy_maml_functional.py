"""MAML with torch.func.functional_call: inner steps with create_graph, an outer optimizer."""
import math

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
meta = torch.optim.Adam(net.parameters(), lr=2e-3)


def task():
    amp, phase = torch.rand(()) * 2 + 0.5, torch.rand(()) * math.pi

    def sample(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, amp * torch.sin(x + phase)
    return sample


for it in range(8):
    outer = 0.0
    for _ in range(3):
        sample = task()
        fast = dict(net.named_parameters())
        for _ in range(2):
            x, y = sample(10)
            inner = (functional_call(net, fast, (x,)) - y).pow(2).mean()
            grads = torch.autograd.grad(inner, tuple(fast.values()), create_graph=True)
            fast = {n: p - 0.05 * g for (n, p), g in zip(fast.items(), grads)}
        x, y = sample(10)
        outer = outer + (functional_call(net, fast, (x,)) - y).pow(2).mean()
    outer = outer / 3
    meta.zero_grad()
    outer.backward()
    meta.step()
    print(it, outer.item())
