"""A step of Bayesian optimisation: a Gaussian process, an acquisition function, its best point, and quasi-random
samples.
"""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_normal_samples, draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.rand(10, 2)
y = 1 - (x - 0.5).norm(dim=-1, keepdim=True) + 0.1 * torch.rand(10, 1)
model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
better = LogExpectedImprovement(model, best_f=y.max())
bounds = torch.stack([torch.zeros(2), torch.ones(2)])
print(better(torch.tensor([[[0.5, 0.5]]])).item())
best, value = optimize_acqf(better, bounds=bounds, q=1, num_restarts=3, raw_samples=16)
print([round(c, 3) for c in best.flatten().tolist()], value.item())
print(draw_sobol_samples(bounds, 3, 2, seed=1).tolist(), draw_sobol_normal_samples(4, 3, seed=2).sum().item())
