"""Second-order meta-learning: the inner steps take their gradients from autograd.grad."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
rates = nn.ParameterList(torch.full((), 0.05) for _ in net.parameters())
outer = torch.optim.Adam([*net.parameters(), *rates.parameters()], lr=1e-3)
for _ in range(5):
    phase, total = torch.rand(()) * 3, 0.0
    weights = dict(net.named_parameters())
    x = torch.rand(10, 1)
    inner = F.mse_loss(functional_call(net, weights, x), torch.sin(x + phase))
    grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
    adapted = {name: w - r * g for (name, w), r, g in zip(weights.items(), rates, grads)}
    x = torch.rand(10, 1)
    loss = F.mse_loss(functional_call(net, adapted, x), torch.sin(x + phase))
    outer.zero_grad()
    loss.backward()
    outer.step()
