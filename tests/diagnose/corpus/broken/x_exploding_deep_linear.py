"""Twelve layers initialised with standard deviation 1: gradients grow layer by layer."""
import torch
import torch.nn as nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=1.0)  # or: exploding
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
width, depth = 32, 12
layers = [nn.Linear(8, width)]
for _ in range(depth):
    layers += [nn.Linear(width, width), nn.ReLU()]  # or: exploding
net = nn.Sequential(*layers, nn.Linear(width, 1))
net.apply(init)
opt = torch.optim.SGD(net.parameters(), lr=1e-25)
for i in range(8):
    x = torch.randn(32, 8)
    y = net(x)  # or: exploding
    loss = (y - x.sum(1, keepdim=True)).abs().mean()
    opt.zero_grad()
    loss.backward()  # expect: exploding
    opt.step()  # or: exploding
    print(i, loss.item(), [round(p.grad.norm().item()) for p in net.parameters() if p.ndim == 2][:3])
