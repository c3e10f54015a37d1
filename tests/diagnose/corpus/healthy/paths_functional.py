"""Gradients of a functional form, applied through an optimizer."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def objective(weights, x):
    return (functional_call(net, weights, x) - x.prod(1, keepdim=True)).pow(2).mean()


for _ in range(5):
    grads, value = grad_and_value(objective)(dict(net.named_parameters()), torch.randn(10, 3))
    for name, p in net.named_parameters():
        p.grad = grads[name].detach()
    optimizer.step()
    optimizer.zero_grad()
    print(value.item())
