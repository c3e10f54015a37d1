"""Influence against gradients and matrices formed in full."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as torch
from wengert import curvature

from .conftest import MODELS, Tokens, cut, full_ggn, targets

nn = torch.nn
close = np.testing.assert_allclose


def gradients(model, loss, data):
    """Of each example's summed loss."""
    total = type(loss)(reduction="sum")
    rows = []
    for x, y in data:
        for i in range(len(x)):
            row = torch.autograd.grad(total(model(x[i:i + 1]), y[i:i + 1]), list(model.parameters()))
            rows.append(torch.cat([g.reshape(-1) for g in row]).numpy())
    return np.stack(rows)


def formula(matrix, damping, train, test):
    return -train @ np.linalg.solve(matrix + damping * np.eye(len(matrix)), test.T)


@pytest.mark.parametrize("sizes", [(7, 3), (2, 6)])
@pytest.mark.parametrize("kind", [nn.CrossEntropyLoss, nn.MSELoss])
@pytest.mark.parametrize("name", ["dense", "convolution", "lstm"])
def test_it_is_the_formula(name, kind, sizes):
    make, shape, _, width = MODELS[name]
    model, loss = make(), kind()
    train, test = (cut(torch.randn(n, *shape), targets(loss, (n,), width), [1, n - 1]) for n in sizes)
    G = full_ggn(model, loss, train)
    expected = formula(G, 0.1, gradients(model, loss, train), gradients(model, loss, test))
    found = curvature.influence(model, loss, train, test, damping=0.1)
    assert found.shape == sizes
    close(found, expected, rtol=0, atol=1e-10)
    close(curvature.influence(model, loss, train, test, damping=0.1, solver="dense"), expected, rtol=0, atol=1e-10)
    if name == "dense":
        other = np.diag(np.arange(1.0, len(G) + 1))
        expected = formula(other, 1e-3, gradients(model, loss, train), gradients(model, loss, test))
        close(curvature.influence(model, loss, train, test, matrix=other), expected, rtol=0, atol=1e-10)
        K = curvature.KFAC(model, loss, train)
        expected = -gradients(model, loss, train) @ (K.inverse(0.1) @ gradients(model, loss, test).T)
        close(curvature.influence(model, loss, train, test, matrix=K, damping=0.1), expected, rtol=0, atol=1e-12)


def test_an_example_has_all_of_its_terms():
    model, loss = Tokens(False), nn.CrossEntropyLoss()
    train, test = ([(torch.randint(0, 5, (n, 3)), torch.randint(0, 5, (n, 3)))] for n in (4, 2))
    G = full_ggn(model, loss, train)
    expected = formula(G, 0.1, gradients(model, loss, train), gradients(model, loss, test))
    close(curvature.influence(model, loss, train, test, damping=0.1), expected, rtol=0, atol=1e-10)
    flat = nn.Sequential(nn.Linear(2, 3), nn.Flatten(0, 1))  # several rows of the output, and of targets, for each
    train = [(torch.randn(4, 2, 2), torch.randint(0, 3, (8,)))]
    found = curvature.influence(flat, loss, train, [(torch.randn(1, 2, 2), torch.randint(0, 3, (2,)))])
    assert found.shape == (4, 1) and np.isfinite(found).all()


def test_it_predicts_what_leaving_out_an_example_does():
    x, y = torch.randn(12, 2), torch.randn(12, 1)
    model, loss = nn.Linear(2, 1, bias=False), nn.MSELoss(reduction="sum")

    def fitted(rows):
        a, b = x[rows].numpy(), y[rows].numpy()
        return np.linalg.solve(a.T @ a + 0.5 * np.eye(2), a.T @ b)

    everything = list(range(12))
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(fitted(everything).T.copy()))
    data = cut(x, y, 5)
    found = curvature.influence(model, loss, data, data, damping=1.0)
    for i in everything:
        without = fitted([r for r in everything if r != i])
        change = (x.numpy() @ without - y.numpy()) ** 2 - (x.numpy() @ fitted(everything) - y.numpy()) ** 2
        assert np.corrcoef(-found[i], change[:, 0])[0, 1] > 0.97


def test_refusals_and_warnings():
    model, data = nn.Linear(2, 1), [(torch.ones(2, 2), torch.ones(2, 1))]
    with pytest.raises(ValueError, match="solver"):
        curvature.influence(model, nn.MSELoss(), data, data, solver="lu")
    with pytest.raises(ValueError, match="3 parameters"):
        curvature.influence(model, nn.MSELoss(), data, data, matrix=np.eye(4))
    singular = np.zeros((3, 3))
    with pytest.warns(UserWarning, match="converged"):
        curvature.influence(model, nn.MSELoss(), data, data, matrix=singular, damping=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curvature.influence(model, nn.MSELoss(), data, data)
