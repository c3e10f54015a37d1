"""Beside the gradient: those of single samples, variances, diagonals and Kronecker factors of the curvature, and an
optimizer that divides by it.
"""

import torch
from backpack import backpack, extend
from backpack.extensions import (
    KFAC,
    KFLR,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagGGNMC,
    DiagHessian,
    SumGradSquared,
    Variance,
)
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long() + (x[:, 0, :4].mean((1, 2)) > 0).long()
model = extend(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Sigmoid(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 16),
    nn.Sigmoid(), nn.Linear(16, 3)))
lossfunc = extend(nn.CrossEntropyLoss())

with backpack(BatchGrad(), Variance(), SumGradSquared(), BatchL2Grad()):
    lossfunc(model(x), y).backward()
for name, parameter in model.named_parameters():
    mean = parameter.grad_batch.sum(0) - parameter.grad
    print(name, parameter.variance.sum().item(), parameter.sum_grad_squared.sum().item(),
        parameter.batch_l2.max().item(), float(mean.abs().max() < 1e-6))

model.zero_grad()
torch.manual_seed(1)
with backpack(DiagGGNExact(), DiagGGNMC(mc_samples=4)):
    lossfunc(model(x), y).backward()
for parameter in model.parameters():
    print(parameter.diag_ggn_exact.sum().item(), parameter.diag_ggn_mc.sum().item())

small = extend(nn.Sequential(nn.Linear(64, 12), nn.Sigmoid(), nn.Linear(12, 3)))
torch.manual_seed(2)
with backpack(DiagHessian(), KFAC(mc_samples=1), KFLR()):
    lossfunc(small(x.flatten(1)), y).backward()
for parameter in small.parameters():
    print(parameter.diag_h.sum().item(), [factor.trace().item() for factor in parameter.kfac + parameter.kflr])


class Diagonal(torch.optim.Optimizer):
    """Gradient over damped curvature."""

    def __init__(self, parameters, lr, damping):
        super().__init__(parameters, dict(lr=lr, damping=damping))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.addcdiv_(p.grad, p.diag_ggn_exact + group["damping"], value=-group["lr"])


optimizer = Diagonal(model.parameters(), 0.3, 0.05)
for _ in range(20):
    optimizer.zero_grad()
    loss = lossfunc(model(x), y)
    with backpack(DiagGGNExact()):
        loss.backward()
    optimizer.step()
    print(loss.item())
