"""What a network does not know: Gaussians around its weights, of all or the last layer, by several curvatures."""

import torch
from laplace import Laplace
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(64, 1) * 6
y = x.sin() + 0.2 * torch.randn(64, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=32)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
for _ in range(60):
    for a, b in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(a), b)
        loss.backward()
        optimizer.step()
print(loss.item())

points = torch.linspace(-1, 8, 7)[:, None]
for part in ("all", "last_layer"):
    for structure in ("full", "kron", "diag"):
        found = Laplace(model, "regression", subset_of_weights=part, hessian_structure=structure)
        found.fit(loader)
        mean, variance = found(points)
        print(part, structure, mean.flatten().tolist()[:2], variance.flatten().tolist(),
            found.log_marginal_likelihood().item())

found = Laplace(model, "regression", subset_of_weights="all", hessian_structure="full")
found.fit(loader)
prior, noise = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
optimizer = torch.optim.Adam([prior, noise], lr=0.1)
for _ in range(15):
    optimizer.zero_grad()
    evidence = -found.log_marginal_likelihood(prior.exp(), noise.exp())
    evidence.backward()
    optimizer.step()
print(evidence.item(), prior.exp().item(), noise.exp().item())

torch.manual_seed(1)
x = torch.randn(90, 2)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()
loader = DataLoader(TensorDataset(x, y), batch_size=30)
model = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
for _ in range(20):
    for a, b in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(a), b).backward()
        optimizer.step()
found = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure="kron")
found.fit(loader)
found.optimize_prior_precision(method="marglik", n_steps=10)
print(found.prior_precision.tolist(), found(x[:3] * 3, link_approx="probit").tolist())
