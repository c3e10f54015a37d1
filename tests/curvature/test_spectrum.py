"""Extreme eigenvalues, and the density of all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import wengert as torch
from wengert import curvature
from wengert.curvature.estimators import signs

from .test_estimators import Counting, symmetric


def rotated(values):
    vectors = np.linalg.qr(np.random.default_rng(1).standard_normal((len(values), len(values))))[0]
    return vectors * values @ vectors.T


@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("which", ["LA", "SA", "LM", "SM", "BE"])
def test_eigenpairs_are_those_of_the_matrix(which, n):
    values = np.linspace(-1, 1.3, n)
    A = rotated(values)
    k = 4
    magnitude = values[np.argsort(np.abs(values))]
    expected = {"LA": values[-k:], "SA": values[:k], "LM": magnitude[-k:], "SM": magnitude[:k],
        "BE": np.r_[values[:2], values[-2:]]}[which]
    found = curvature.eigenpairs(A, k, which=which)
    np.testing.assert_allclose(found.values, np.sort(expected)[::-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(A @ found.vectors, found.vectors * found.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), rtol=0, atol=1e-10)


def test_all_eigenvalues_and_too_many():
    A = rotated(np.arange(5.0))
    np.testing.assert_allclose(curvature.eigenpairs(A, 5).values, np.arange(5.0)[::-1], atol=1e-12)
    for k, which in ((6, "LA"), (0, "LA"), (2, "XX")):
        with pytest.raises(ValueError):
            curvature.eigenpairs(A, k, which=which)


def test_quadrature_is_the_mean_over_eigenvalues():
    values = np.r_[np.full(90, 0.01), np.linspace(1, 2, 10)]
    A = rotated(values)
    found = curvature.spectral_density(A, 40, 40)
    assert abs(found.weights.sum() - 1) < 1e-12 and (np.diff(found.nodes) >= 0).all()
    assert abs(found.nodes[0] - 0.01) < 1e-9 and abs(found.nodes[-1] - 2) < 1e-9
    z = signs(np.random.default_rng(0), 100, 40, np.float64)  # of which the first are the same, few or many at a time
    for f in (np.exp, np.square, np.sqrt):
        full = rotated(f(values))
        assert found.weights @ f(found.nodes) == pytest.approx(np.einsum("ij,ij", z, full @ z) / 4000, rel=1e-10)


@pytest.mark.parametrize("probes, steps", [(1, 100), (3, 100), (3, 7)])
def test_steps_stay_orthogonal(probes, steps):
    values = 10.0 ** -np.linspace(0, 12, 100)  # where plain Lanczos loses it after a few steps
    found = curvature.spectral_density(rotated(values), steps, probes)
    if steps == 100:  # all eigenvalues, and each only once
        assert (found.nodes > 0.5e-3).sum() == probes * (values > 0.5e-3).sum()
        np.testing.assert_allclose(np.sort(found.nodes)[-probes:], 1, rtol=1e-10)
    assert len(found.nodes) == probes * steps


def test_it_ends_where_the_space_is_exhausted():
    A = Counting(np.diag([1.0, 1.0, 1.0, 4.0]))
    found = curvature.spectral_density(A, 50, 2)
    assert A.products == 4
    np.testing.assert_allclose(found.nodes, [1, 1, 4, 4], atol=1e-12)
    np.testing.assert_allclose(found.weights, [3 / 8, 3 / 8, 1 / 8, 1 / 8], atol=1e-12)
    zero = curvature.spectral_density(np.zeros((5, 5)), 3, 1)
    assert zero.nodes.tolist() == [0] and np.isfinite(zero.density).all()


@pytest.mark.parametrize("grid, width", [(None, None), (300, None), (np.linspace(-2, 4, 500), 0.1)])
def test_the_density_integrates_to_one(grid, width):
    found = curvature.spectral_density(symmetric(50, 0.1), 20, 5, grid=grid, width=width)
    assert abs(np.trapezoid(found.density, found.grid) - 1) < 1e-3
    if grid is not None:
        assert len(found.grid) == (grid if np.ndim(grid) == 0 else len(grid))
    wide = width or (found.nodes[-1] - found.nodes[0]) / 100
    bells = np.exp(-((found.grid[:, None] - found.nodes) ** 2) / (2 * wide**2)) / np.sqrt(2 * np.pi * wide**2)
    np.testing.assert_allclose(found.density, bells @ found.weights, rtol=1e-10)


def test_of_a_model_in_single_precision():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)).float()
    data = [(torch.randn(20, 4).float(), torch.randint(0, 3, (20,)))]
    H = curvature.Hessian(model, torch.nn.CrossEntropyLoss(), data)
    values = np.linalg.eigvalsh(H.to_dense())
    np.testing.assert_allclose(curvature.eigenpairs(H, 3).values, values[::-1][:3], rtol=1e-4)
    found = curvature.spectral_density(H, 20, 4)
    assert abs(found.nodes[-1] - values[-1]) < 1e-4 and found.grid.dtype == np.float64
    again = curvature.spectral_density(aslinearoperator(H.to_dense()), 20, 4)
    np.testing.assert_allclose(found.weights @ found.nodes, again.weights @ again.nodes, rtol=1e-4)


def test_refusals():
    for named in (dict(steps=0), dict(probes=0), dict(width=0.0)):
        with pytest.raises(ValueError):
            curvature.spectral_density(np.eye(3), **named)
