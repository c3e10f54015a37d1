"""Repulsion of embeddings: the distance of a point to itself is 0, where sqrt has an infinite slope."""
import torch

torch.manual_seed(0)
points = torch.randn(12, 2, requires_grad=True)
optimizer = torch.optim.SGD([points], lr=0.05)


def energy(p):
    diff = p[:, None] - p[None]
    dist = torch.sqrt((diff ** 2).sum(-1))  # expect: nonfinite-backward
    repulsion = torch.exp(-dist).sum()
    return repulsion + 0.1 * (p ** 2).sum()


for step in range(5):
    optimizer.zero_grad()
    e = energy(points)
    e.backward()
    optimizer.step()
    print(step, e.item())
