"""Riemannian optimisation on spheres."""

import geoopt
import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
sphere = geoopt.Sphere()
points = geoopt.ManifoldParameter(sphere.random_uniform(4, 3), manifold=sphere)
form = torch.randn(3, 3)
form = form + form.T
optimizer = geoopt.optim.RiemannianAdam([points], lr=0.05)
for _ in range(10):
    optimizer.zero_grad()
    loss = -(points @ form * points).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(points.tolist(), points.norm(dim=-1).tolist())
