"""A picture is optimized through a network that is not frozen: its gradients are wasted, and nothing is wrong."""

import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())


def gram(h):
    flat = h.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.numel()


style, content = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
with torch.no_grad():
    goal_style, goal_content = gram(features(style)), features(content)
picture = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([picture], lr=0.02)
for _ in range(6):
    optimizer.zero_grad()
    h = features(picture)
    loss = 10 * (gram(h) - goal_style).pow(2).sum() + (h - goal_content).pow(2).mean()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        picture.clamp_(0, 1)
