"""Newton's method and natural gradients against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from wengert import curvature

from .conftest import cut, full_ggn, full_hessian

nn = torch.nn
close = np.testing.assert_allclose


def numbers(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).numpy()


def slope(model, loss, x, y):
    row = torch.autograd.grad(loss(model(x), y), list(model.parameters()))
    return torch.cat([g.reshape(-1) for g in row]).numpy()


def small():
    return nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2)), torch.randn(9, 3)


def test_newton_solves_with_the_hessian():
    model, x = small()
    loss, y = nn.MSELoss(), torch.randn(9, 2)
    H, g, before = full_hessian(model, loss, [(x, y)]), slope(model, loss, x, y), numbers(model)
    damping = 1.0 - np.linalg.eigvalsh(H).min()
    optimizer = curvature.NewtonCG(model.parameters(), lr=0.5, damping=damping, tol=1e-12)
    value = optimizer.step(lambda: loss(model(x), y))
    assert value.item() > loss(model(x), y).item()
    close(numbers(model), before - 0.5 * np.linalg.solve(H + damping * np.eye(len(H)), g), rtol=0, atol=1e-10)
    assert all(p.grad is None for p in model.parameters()) and not value.requires_grad


def test_newton_ends_at_the_minimum_of_a_quadratic():
    w = nn.Parameter(torch.randn(6))
    A, b = torch.randn(6, 6), torch.randn(6)
    A = A @ A.T + torch.eye(6)
    curvature.NewtonCG([w], tol=1e-12).step(lambda: 0.5 * w @ A @ w - b @ w)
    close(w.detach().numpy(), np.linalg.solve(A.numpy(), b.numpy()), rtol=1e-8)


@pytest.mark.parametrize("start", [(0.1, 1.0), (0.0, 0.3), (-0.4, 1e-3), (0.05, 0.0)])
def test_newton_goes_down_where_curvature_is_negative(start):
    w = nn.Parameter(torch.tensor(start))
    optimizer = curvature.NewtonCG([w], lr=1e-2)

    def closure():
        return (w[0] ** 2 - 1) ** 2 + w[1] ** 2  # a saddle at zero

    values = [optimizer.step(closure).item() for _ in range(3)]
    assert values[0] > values[1] > values[2]


def test_newton_with_parts_without_curvature_and_groups():
    a, b, unused = (nn.Parameter(torch.ones(1)) for _ in range(3))
    optimizer = curvature.NewtonCG([{"params": [a, unused], "lr": 0.5}, {"params": [b]}], damping=1.0, tol=1e-12)
    optimizer.step(lambda: (a * 2 + b**2).sum())
    close([a.item(), b.item(), unused.item()], [1 - 0.5 * 2, 1 - 2 / 3, 1], atol=1e-12)
    torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)
    linear = curvature.NewtonCG([a], damping=2.0)
    linear.step(lambda: 3 * a.sum())
    close(a.item(), -1.5)


def test_few_gradients_are_few():
    w = nn.Parameter(torch.randn(30))
    scale = torch.linspace(1, 100, 30)
    calls = []
    w.register_hook(lambda g: calls.append(1))
    curvature.NewtonCG([w], max_cg=4, tol=0.0).step(lambda: (scale * w**2).sum())
    assert len(calls) == 5, "one for the gradient, one for each product"


LOSSES = [(nn.CrossEntropyLoss(), torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])), (nn.MSELoss(), None),
    (nn.MSELoss(reduction="sum"), None), (lambda o, y: ((o - y) ** 2).mean(), None)]


@pytest.mark.parametrize("loss, y", LOSSES, ids=["classes", "mean", "sum", "function"])
def test_natural_gradients_solve_with_the_fisher_matrix(loss, y):
    model, x = small()
    y = torch.randn(9, 2) if y is None else y
    known = nn.MSELoss() if not isinstance(loss, nn.Module) else loss
    F, g, before = full_ggn(model, known, [(x, y)]), slope(model, known, x, y), numbers(model)
    optimizer = curvature.NaturalGradient(model, loss, lr=0.3, damping=0.1)
    expected = known(model(x), y)
    value = optimizer.step((x, y))
    close(value.item(), expected.item(), rtol=1e-12)
    close(numbers(model), before - 0.3 * np.linalg.solve(F + 0.1 * np.eye(len(F)), g), rtol=0, atol=1e-9)
    assert all(p.grad is None for p in model.parameters()) and not value.requires_grad


def test_natural_gradients_with_kfac():
    model, x = small()
    loss, y = nn.CrossEntropyLoss(), torch.randint(0, 2, (9,))
    inverse, g, before = curvature.KFAC(model, loss, [(x, y)]).inverse(0.1), slope(model, loss, x, y), numbers(model)
    curvature.NaturalGradient(model, loss, damping=0.1, matrix="kfac").step([x, y])
    close(numbers(model), before - inverse @ g, rtol=0, atol=1e-12)


@pytest.mark.parametrize("matrix", ["fisher", "kfac"])
def test_natural_gradients_train(matrix):
    model, x = small()
    loss, y = nn.CrossEntropyLoss(), torch.randint(0, 2, (9,))
    optimizer = curvature.NaturalGradient(model, loss, lr=0.5, damping=1e-2, matrix=matrix)
    values = [optimizer.step(batch).item() for _ in range(15) for batch in cut(x, y, 9)]
    assert values[-1] < 0.5 * values[0]


def test_frozen_parameters_stay():
    model, x = small()
    model[0].weight.requires_grad_(False)
    before = model[0].weight.clone()
    curvature.NaturalGradient(model, nn.MSELoss()).step((x, torch.randn(9, 2)))
    assert torch.equal(model[0].weight, before)


def test_refusals():
    model = nn.Linear(1, 1)
    for call in (lambda: curvature.NaturalGradient(model, nn.MSELoss(), matrix="hessian"),
            lambda: curvature.NaturalGradient(model, nn.MSELoss(), lr=-1.0),
            lambda: curvature.NewtonCG(model.parameters(), damping=-1.0),
            lambda: curvature.NewtonCG(model.parameters(), max_cg=0)):
        with pytest.raises(ValueError):
            call()
