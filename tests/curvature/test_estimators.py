"""Trace and diagonal, of operators of any kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

import wengert as torch
from wengert import curvature

METHODS = [(curvature.trace, "hutchinson"), (curvature.trace, "hutch++"), (curvature.diagonal, "hutchinson")]


class Counting(LinearOperator):
    """Counts products with vectors."""

    def __init__(self, matrix):
        super().__init__(matrix.dtype, matrix.shape)
        self.matrix, self.products = matrix, 0

    def _matvec(self, x):
        self.products += 1
        return self.matrix @ x


def symmetric(n, decay=0.0):
    random = np.random.default_rng(0)
    vectors = np.linalg.qr(random.standard_normal((n, n)))[0]
    return vectors * np.exp(-decay * np.arange(n)) @ vectors.T


@pytest.mark.parametrize("samples", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("estimate, method", METHODS)
def test_products_are_at_most_the_samples(estimate, method, samples):
    A = Counting(symmetric(60))
    estimate(A, samples, method=method)
    assert A.products == samples
    small = Counting(symmetric(4))
    estimate(small, samples, method=method)
    assert small.products <= samples


@pytest.mark.parametrize("estimate, method", METHODS)
def test_estimates_are_within_their_errors(estimate, method):
    A = symmetric(80, 0.02)
    exact = np.trace(A) if estimate is curvature.trace else np.diag(A)
    scores = []
    for seed in range(40):
        found = estimate(A, 60, method=method, seed=seed)
        scores.append((found.value - exact) / found.stderr)
    assert abs(np.mean(scores)) < 0.5 and 0.7 < np.std(scores) < 1.4
    assert np.all(estimate(A, 60, method=method).value == estimate(A, 60, method=method, seed=0).value)


def test_hutch_plus_plus_is_better_where_few_eigenvalues_are_large():
    A = symmetric(200, 0.3)
    plain, better = (np.array([curvature.trace(A, 60, method=m, seed=s).value for s in range(20)]) - np.trace(A)
        for m in ("hutchinson", "hutch++"))
    assert np.sqrt(np.mean(better**2)) < 0.05 * np.sqrt(np.mean(plain**2))


def test_diagonal_matrices_are_exact_and_one_sample_has_no_error():
    A = np.diag(np.arange(1.0, 6.0))
    assert curvature.trace(A, 3) == curvature.trace(A, 9) and curvature.trace(A, 3).stderr == 0
    assert np.isnan(curvature.trace(A, 1).stderr) and np.isnan(curvature.diagonal(A, 1).stderr).all()
    found = curvature.diagonal(A, 3)
    assert (found.value == np.arange(1.0, 6.0)).all() and not found.stderr.any()


def test_the_exact_diagonal_takes_a_product_for_each_number():
    A = Counting(symmetric(50))
    found = curvature.diagonal(A, method="exact")
    np.testing.assert_allclose(found.value, np.diag(A.matrix), rtol=0, atol=1e-15)
    assert A.products == 50 and not found.stderr.any()


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, lambda a: a.astype(np.float32),
    lambda a: a * (1 + 1j)])
def test_of_anything_that_is_an_operator(wrap):
    A = wrap(symmetric(30))
    exact = A.diagonal()
    np.testing.assert_allclose(curvature.diagonal(A, method="exact").value, exact, rtol=1e-6)
    assert abs(curvature.trace(A, method="hutch++").value - exact.sum()) < 1e-3
    assert abs(curvature.diagonal(A, 2000).value - exact).max() < 0.1


def test_of_whole_numbers():
    assert curvature.trace(np.eye(3, dtype=np.int64), 2).value == 3
    assert curvature.eigenpairs(np.diag([1, 2, 3]), 1).values.round(12) == [3]


def test_of_a_model():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).float()
    G = curvature.GGN(model, torch.nn.MSELoss(), [(torch.randn(6, 3).float(), torch.randn(6, 2).float())])
    found = curvature.trace(G, 200)
    assert abs(found.value - np.trace(G.to_dense())) < 4 * found.stderr
    assert curvature.diagonal(G).value.dtype == np.float32


def test_refusals():
    A = np.eye(3)
    for call in (lambda: curvature.trace(A, 0), lambda: curvature.trace(A, method="exact"),
            lambda: curvature.diagonal(A, method="hutch++"), lambda: curvature.trace(np.ones((2, 3)))):
        with pytest.raises(ValueError):
            call()
