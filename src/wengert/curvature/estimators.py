"""Trace and diagonal of an operator, from its products with random vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .scipy_names import aslinearoperator

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = 1 << 22  # of a block of vectors that an operator is given at a time
BLOCK = 32  # vectors


@dataclass(frozen=True)
class Trace:
    """An estimate and its standard error, which is NaN where a single sample gives none."""

    value: float
    stderr: float


@dataclass(frozen=True)
class Diagonal:
    """The same for each number of a diagonal."""

    value: np.ndarray
    stderr: np.ndarray


def square(A: Any) -> Any:
    """``A`` as an operator: an operator, an array or a sparse matrix, as long as it is square."""
    operator = aslinearoperator(A)
    if operator.shape[0] != operator.shape[1]:
        raise ValueError(f"the operator is not square: its shape is {operator.shape}")
    return operator


def blocks(n: int, many: int) -> Iterator[int]:
    """How many vectors of ``n`` numbers to take at a time, so that there are ``many`` in all."""
    size = max(1, min(BLOCK, NUMBERS // max(n, 1)))
    while many > 0:
        yield min(size, many)
        many -= size


def real_type(A: Any) -> np.dtype:
    """What to draw vectors in: the type of the operator, if that is a floating one that NumPy computes with."""
    d = np.dtype(A.dtype) if A.dtype is not None else np.dtype(np.float64)
    d = np.zeros(0, d).real.dtype
    return d if d in (np.float32, np.float64) else np.dtype(np.float32 if d.itemsize <= 2 and d.kind != "i"
        and d.kind != "u" and d.kind != "b" else np.float64)


def signs(random: np.random.Generator, n: int, many: int, dtype: Any) -> np.ndarray:
    """Vectors of 1 and -1, as columns; each is the same however many are drawn at a time."""
    return (random.integers(0, 2, (many, n), np.int8).T * 2 - 1).astype(dtype)


def trace(A: Any, samples: int = 100, *, method: str = "hutchinson", seed: int = 0) -> Trace:
    """The trace of ``A`` from at most ``samples`` products.

    ``hutchinson`` is the mean of ``zᵀ A z`` over random signs (Hutchinson, 1990). ``hutch++`` spends a third of the
    products on finding where ``A`` is large and a third on its exact trace there, and estimates the rest (Meyer,
    Musco, Musco and Woodruff, 2021): better where few eigenvalues are large.

    >>> import numpy as np
    >>> torch.curvature.trace(np.diag([1.0, 2.0, 3.0]), 4)
    Trace(value=6.0, stderr=0.0)
    """
    _check(samples, method, ("hutchinson", "hutch++"))
    A, random = square(A), np.random.default_rng(seed)
    n, dtype, third = A.shape[0], real_type(A), samples // 3
    if method == "hutchinson" or not third:
        drawn = (signs(random, n, many, dtype) for many in blocks(n, samples))
        return _trace_estimate(np.concatenate([_forms(A, z) for z in drawn]))
    basis = np.linalg.qr(np.concatenate([A.matmat(signs(random, n, many, dtype)) for many in blocks(n, third)], 1))[0]
    exact = sum(_forms(A, basis[:, i:i + BLOCK]).sum() for i in range(0, basis.shape[1], BLOCK))
    rest = []
    for many in blocks(n, samples - third - basis.shape[1]):
        z = signs(random, n, many, dtype)
        rest.append(_forms(A, z - basis @ (basis.conj().T @ z)))
    return _trace_estimate(np.concatenate(rest), exact)


def _forms(A: Any, columns: np.ndarray) -> np.ndarray:
    """``zᴴ A z`` of each column, summed in double precision."""
    wide = np.result_type(columns, A.dtype, np.float64)
    return np.einsum("ij,ij->j", columns.conj(), A.matmat(columns), dtype=wide)


def _trace_estimate(found: np.ndarray, exact: Any = 0.0) -> Trace:
    value = exact + found.mean()
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("nan")
    return Trace(value.item(), error)


def diagonal(A: Any, samples: int = 100, *, method: str = "hutchinson", seed: int = 0) -> Diagonal:
    """The diagonal of ``A``: the mean of ``z ⊙ A z`` over ``samples`` random signs (Bekas, Kokiopoulou and Saad, 2007),
    or ``exact``, from a product with each unit vector.

    >>> import numpy as np
    >>> torch.curvature.diagonal(np.array([[1.0, 5.0], [5.0, 2.0]]), method="exact").value
    array([1., 2.])
    """
    _check(samples, method, ("hutchinson", "exact"))
    A, random = square(A), np.random.default_rng(seed)
    n, dtype = A.shape[0], real_type(A)
    if method == "exact":
        return _exact_diagonal(A, dtype)
    mean = np.zeros(n, np.result_type(A.dtype, np.float64))
    squares, seen = np.zeros(n), 0
    for many in blocks(n, samples):
        z = signs(random, n, many, dtype)
        for column in (z * A.matmat(z)).T:  # Welford's sums
            seen += 1
            change = column - mean
            mean += change / seen
            squares += (change * (column - mean).conj()).real
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(squares / np.float64(seen - 1) / seen)
    return Diagonal(mean.astype(np.result_type(A.dtype, dtype), copy=False), error.astype(dtype, copy=False))


def _exact_diagonal(A: Any, dtype: np.dtype) -> Diagonal:
    n, start = A.shape[0], 0
    found = np.zeros(n, np.result_type(A.dtype, dtype))
    for many in blocks(n, n):
        at = np.arange(start, start + many)
        units = np.zeros((n, many), dtype)
        units[at, at - start] = 1
        found[at] = A.matmat(units)[at, at - start]
        start += many
    return Diagonal(found, np.zeros(n, dtype))


def _check(samples: int, method: str, methods: tuple[str, ...]) -> None:
    if method not in methods:
        raise ValueError(f"method is {' or '.join(map(repr, methods))}, not {method!r}")
    if samples < 1:
        raise ValueError(f"samples is {samples}, and at least one is needed")
