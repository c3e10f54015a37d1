"""Bayesian regression by a variational fit and by a Hamiltonian chain."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoDiagonalNormal

pyro.set_rng_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.randn(50, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(50)


def model(x, y):
    weight = pyro.sample("weight", dist.Normal(torch.zeros(3), 1.0).to_event(1))
    noise = pyro.sample("noise", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(x @ weight, noise), obs=y)


guide = AutoDiagonalNormal(model)
fit = SVI(model, guide, pyro.optim.Adam({"lr": 0.03}), Trace_ELBO())
for _ in range(30):
    print(fit.step(x, y))
print({name: value.tolist() for name, value in guide.median(x, y).items()})
chain = MCMC(NUTS(model), num_samples=5, warmup_steps=5, disable_progbar=True)
chain.run(x, y)
print({name: value.mean(0).tolist() for name, value in chain.get_samples().items()})
