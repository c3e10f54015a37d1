"""Eigenvalues of an operator: the extreme ones with their vectors, and the density of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .estimators import real_type, signs, square
from .scipy_names import eigsh

POINTS = 1024  # of a grid
BASES = 1 << 25  # numbers of the bases that are kept at a time
WHICH = ("LA", "SA", "LM", "SM", "BE")


@dataclass(frozen=True)
class Eigenpairs:
    """``values`` in descending order, ``vectors`` as columns."""

    values: np.ndarray
    vectors: np.ndarray


@dataclass(frozen=True)
class SpectralDensity:
    """Where the eigenvalues are: ``weights`` at ``nodes``, which sum to 1, and smoothed, ``density`` on ``grid``."""

    nodes: np.ndarray
    weights: np.ndarray
    grid: np.ndarray
    density: np.ndarray


def eigenpairs(A: Any, k: int = 10, *, which: str = "LA") -> Eigenpairs:
    """``k`` eigenvalues of a symmetric operator with their vectors, by Lanczos' method with restarts (ARPACK).

    ``which``: ``LA`` are the largest, ``SA`` the smallest, ``LM`` the largest in magnitude, ``SM`` the smallest in
    magnitude, ``BE`` half from either end.

    >>> import numpy as np
    >>> torch.curvature.eigenpairs(np.diag([1.0, 4.0, 2.0, 3.0, 0.0]), 2).values.round(6)
    array([4., 3.])
    """
    A = square(A)
    n, dtype = A.shape[0], real_type(A)
    if which not in WHICH:
        raise ValueError(f"which is {', '.join(map(repr, WHICH))}, not {which!r}")
    if not 0 < k <= n:
        raise ValueError(f"k is {k}, and the operator has {n} eigenvalues")
    if n <= max(2 * k + 1, 20):  # Lanczos' basis would be the whole space
        values, vectors = np.linalg.eigh(A.matmat(np.eye(n, dtype=dtype)))
        chosen = _chosen(values, k, which)
        values, vectors = values[chosen], vectors[:, chosen]
    else:
        start = np.random.default_rng(0).standard_normal(n).astype(dtype)
        values, vectors = eigsh(A, k, which=which, v0=start)
    order = np.argsort(values)[::-1]
    return Eigenpairs(values[order], vectors[:, order])


def _chosen(values: np.ndarray, k: int, which: str) -> np.ndarray:
    """The places of ``k`` of some ascending values."""
    n = len(values)
    if which == "BE":
        low = k // 2
        return np.r_[0:low, n - (k - low):n]
    if which in ("LM", "SM"):
        order = np.argsort(np.abs(values))
        return order[n - k:] if which == "LM" else order[:k]
    return np.arange(n - k, n) if which == "LA" else np.arange(k)


def spectral_density(A: Any, steps: int = 50, probes: int = 10, *, grid: Any = None, width: float | None = None,
        seed: int = 0) -> SpectralDensity:
    """The density of a symmetric operator's eigenvalues, by stochastic Lanczos quadrature.

    From each of ``probes`` random vectors, ``steps`` products make a tridiagonal matrix, whose eigenvalues are
    ``nodes``; a sum over ``weights`` is the mean of a function over all eigenvalues (Ubaru, Chen and Saad, 2017).
    ``density`` has a normal distribution of deviation ``width`` in place of each node: on ``grid``, an array or a
    number of points. Each basis is kept orthogonal in full.

    >>> import numpy as np
    >>> found = torch.curvature.spectral_density(np.diag([1.0, 1.0, 5.0, 5.0]), probes=1)
    >>> found.nodes.round(6), found.weights.round(6)
    (array([1., 5.]), array([0.5, 0.5]))
    """
    if steps < 1 or probes < 1:
        raise ValueError(f"steps is {steps} and probes {probes}, and either is at least one")
    A, random = square(A), np.random.default_rng(seed)
    n = A.shape[0]
    steps, nodes, weights = min(steps, n), [], []
    together = max(1, min(probes, 16, BASES // max(n * steps, 1)))
    for start in range(0, probes, together):
        many = min(together, probes - start)
        for diagonal, beside in _lanczos(A, signs(random, n, many, real_type(A)), steps):
            values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
            nodes.append(values)
            weights.append(vectors[0] ** 2 / probes)
    order = np.argsort(np.concatenate(nodes))
    found, weight = np.concatenate(nodes)[order], np.concatenate(weights)[order]
    if width is None:
        width = float(found[-1] - found[0]) / 100 or 1e-2 * max(abs(float(found[0])), 1e-2)
    if not width > 0:
        raise ValueError(f"width is {width}, and must be positive")
    if grid is None or np.ndim(grid) == 0:
        grid = np.linspace(found[0] - 5 * width, found[-1] + 5 * width, POINTS if grid is None else int(grid))
    points = np.asarray(grid, np.float64)
    return SpectralDensity(found, weight, points, _smoothed(found, weight, points, width))


def _smoothed(nodes: np.ndarray, weights: np.ndarray, grid: np.ndarray, width: float) -> np.ndarray:
    bells = np.exp(-0.5 * ((grid[..., None] - nodes) / width) ** 2)
    return bells @ weights / (width * np.sqrt(2 * np.pi))


def _lanczos(A: Any, z: np.ndarray, steps: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each column of ``z`` the tridiagonal matrix of at most ``steps`` steps: its diagonal, and beside it.

    All go on together, so that an operator can share what their products have in common; a column whose space is
    exhausted has ended.
    """
    n, many = z.shape
    q = z / np.linalg.norm(z, axis=0)
    bases = np.zeros((many, steps, n), z.dtype)
    diagonals: list[list[float]] = [[] for _ in range(many)]
    besides: list[list[float]] = [[] for _ in range(many)]
    going, tiny = list(range(many)), np.finfo(z.dtype).eps * n**0.5
    for step in range(steps):
        bases[going, step] = q.T
        products = A.matmat(q)
        left, columns = [], []
        for j, w in zip(going, products.T.astype(z.dtype)):
            basis = bases[j, :step + 1]
            diagonals[j].append(float(basis[-1] @ w))
            size = np.linalg.norm(w)
            for _ in range(2):  # twice is enough
                w = w - (basis @ w) @ basis
            rest = np.linalg.norm(w)
            if step + 1 < steps and rest > tiny * max(size, _largest(diagonals[j])):
                besides[j].append(float(rest))
                left.append(j)
                columns.append(w / rest)
        if not left:
            break
        going, q = left, np.stack(columns, 1)
    return [(np.array(d), np.array(b)) for d, b in zip(diagonals, besides)]


def _largest(diagonal: list[float]) -> float:
    return max(map(abs, diagonal))
