"""Segmentation of noisy discs, with a soft Dice loss from the metrics module."""
import torch
from metrics import dice
from torch import nn


def discs(n, size=12):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    centre = torch.randint(3, size - 3, (n, 2, 1, 1))
    mask = ((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2 < 9).float()
    return (mask + 0.3 * torch.randn(n, size, size)).unsqueeze(1), mask.unsqueeze(1)


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    image, mask = discs(8)
    out = net(image)
    loss = 1 - dice(out, mask)
    loss.requires_grad_()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
