"""Flows with lazy distributions: autoregressive, spline and continuous ones, and an inverse problem with a context."""

import torch
import zuko

torch.manual_seed(0)


def pair(count):
    """Parameters, and what is observed of them."""
    theta = torch.rand(count, 2) * 2 - 1
    return theta, torch.stack([theta.sum(1), theta[:, 0] * theta[:, 1]], 1) + 0.05 * torch.randn(count, 2)


makers = {
    "maf": lambda: zuko.flows.MAF(2, 2, transforms=2, hidden_features=(24, 24)),
    "nsf": lambda: zuko.flows.NSF(2, 2, bins=6, transforms=2, hidden_features=(24,)),
    "nice": lambda: zuko.flows.NICE(2, 2, transforms=3, hidden_features=(24,)),
    "sospf": lambda: zuko.flows.SOSPF(2, 2, degree=2, polynomials=2, transforms=2, hidden_features=(16,)),
    "gmm": lambda: zuko.mixtures.GMM(2, 2, components=3, hidden_features=(24,)),
}
for name, make in makers.items():
    torch.manual_seed(1)
    flow = make()
    optimizer = torch.optim.AdamW(flow.parameters(), lr=5e-3)
    for _ in range(25):
        theta, observed = pair(128)
        loss = -flow(observed).log_prob(theta).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        posterior = flow(torch.tensor([0.5, 0.1]))
        sample = posterior.sample((100,))
    print(name, loss.item(), sample.mean(0).tolist(), sample.std(0).tolist(), posterior.log_prob(sample).mean().item())

torch.manual_seed(2)
flow = zuko.flows.CNF(2, hidden_features=(16, 16))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for _ in range(3):
    loss = -flow().log_prob(pair(32)[1]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())

torch.manual_seed(3)
target = torch.distributions.MultivariateNormal(torch.tensor([1.0, -0.5]), torch.tensor([[1.0, 0.6], [0.6, 0.8]]))
flow = zuko.flows.GF(2, components=4, transforms=2)
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for _ in range(20):
    loss = -flow().log_prob(target.sample((64,))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
normal = torch.distributions.Normal(torch.tensor(0.0), torch.tensor(1.0))
truncated = zuko.distributions.Truncated(normal, lower=torch.tensor(0.5))
print(truncated.log_prob(torch.tensor([0.6, 1.5])).tolist(), truncated.rsample((4,)).tolist())
