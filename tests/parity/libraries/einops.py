"""Layers and functions that rearrange, in a small network."""

import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.ReLU(), Reduce("b c (h a) (w b2) -> b c h w", "max", a=2, b2=2),
    Rearrange("b c h w -> b (c h w)"), nn.Linear(36, 5)
)
x = torch.randn(2, 1, 8, 8)
loss = net(x).square().sum()
loss.backward()
print(loss.item(), *[p.grad.norm().item() for p in net.parameters()])
print(reduce(x, "b c (h a) w -> b h", "mean", a=2).tolist(), repeat(x, "b c h w -> b c h (w k)", k=2).sum().item())
print(rearrange(x, "b c (h a) (w d) -> (b h w) (c a d)", a=2, d=2).std(0).tolist())
