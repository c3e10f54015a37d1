"""Distances of all pairs by broadcasting: the squares keep one difference for every pair."""

import torch


def spread(points):
    difference = points[:, None, :] - points[None, :, :]
    squares = difference ** 2  # expect: memory-hotspot
    return squares.sum(-1).add(1e-3).log().mean()


def train(steps):
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(200, 16, generator=generator).requires_grad_()
    optimizer = torch.optim.SGD([points], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = points.square().mean() - 0.1 * spread(points)
        loss.backward()
        optimizer.step()
    return points


print(train(5).shape)
