"""Random matrices of a kind: symmetric, positive definite, of some rank. ``common_utils`` has them all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import linalg
from ...arrays.dtypes import NAMES
from ...tensor import PLACES
from ..creation import make_tensor

if TYPE_CHECKING:
    from ...tensor.tensor import Tensor

__all__ = [
    "make_fullrank_matrices_with_distinct_singular_values", "make_symmetric_matrices", "make_symmetric_pd_matrices", "random_hermitian_matrix",
    "random_hermitian_pd_matrix", "random_hermitian_psd_matrix", "random_lowrank_matrix", "random_matrix", "random_square_matrix_of_rank",
    "random_symmetric_matrix", "random_symmetric_pd_matrix", "random_symmetric_psd_matrix", "random_well_conditioned_matrix",
]  # fmt: skip

T = PLACES["torch"]


def _randn(*shape: Any, dtype: Any = None, device: Any = None) -> Tensor:
    return T["randn"](*shape, dtype=NAMES["float64"] if dtype is None else dtype, device=device)


def random_symmetric_matrix(l: int, *batches: int, **kwargs: Any) -> Tensor:
    """``l`` by ``l``, equal to its transpose."""
    a = _randn(*batches, l, l, **kwargs)
    return (a + a.mT).div_(2)


def random_symmetric_psd_matrix(l: int, *batches: int, **kwargs: Any) -> Tensor:
    """Symmetric, without negative eigenvalues."""
    a = _randn(*batches, l, l, **kwargs)
    return a @ a.mT


def random_symmetric_pd_matrix(matrix_size: int, *batch_dims: int, **kwargs: Any) -> Tensor:
    """Symmetric, with positive eigenvalues only."""
    a = random_symmetric_psd_matrix(matrix_size, *batch_dims, **kwargs)
    return a + T["eye"](matrix_size, dtype=a.dtype) * 1e-5


def random_hermitian_matrix(l: int, *batches: int, **kwargs: Any) -> Tensor:
    """``l`` by ``l``, equal to its conjugate transpose."""
    a = _randn(*batches, l, l, **kwargs)
    return (a + a.mH).div_(2)


def random_hermitian_psd_matrix(l: int, *batches: int, **kwargs: Any) -> Tensor:
    """Hermitian, without negative eigenvalues."""
    a = _randn(*batches, l, l, **kwargs)
    return a @ a.mH


def random_hermitian_pd_matrix(matrix_size: int, *batch_dims: int, dtype: Any, device: Any = None) -> Tensor:
    """Hermitian, with positive eigenvalues only."""
    a = random_hermitian_psd_matrix(matrix_size, *batch_dims, dtype=dtype, device=device)
    return a + T["eye"](matrix_size, dtype=dtype)


def make_symmetric_matrices(*shape: int, device: Any = None, dtype: Any) -> Tensor:
    """Symmetric matrices of ``make_tensor``'s numbers."""
    a = make_tensor(shape, device=device, dtype=dtype)
    return (a + a.mT).div_(2)


def make_symmetric_pd_matrices(*shape: int, device: Any = None, dtype: Any) -> Tensor:
    """Symmetric matrices of ``make_tensor``'s numbers with positive eigenvalues only."""
    a = make_tensor(shape, device=device, dtype=dtype)
    return a @ a.mT + T["eye"](shape[-1], dtype=dtype) * 1e-5


def _with_values(u: Tensor, s: Any, vh: Tensor) -> Tensor:
    return (u * s.unsqueeze(-2).to(u.dtype)) @ vh


def make_fullrank_matrices_with_distinct_singular_values(*shape: int, device: Any = None, dtype: Any, requires_grad: bool = False) -> Tensor:
    """Matrices with the singular values 3/2, 2/3, 5/4, 4/5 and so on."""
    u, _, vh = linalg.svd(make_tensor(shape, device=device, dtype=dtype), full_matrices=False)
    k = min(shape[-2:])
    n = T["arange"](2, k + 2, dtype=NAMES["float64"])
    return _with_values(u, 1 + (1 - 2 * (n % 2)) / n, vh).contiguous().requires_grad_(requires_grad)


def random_well_conditioned_matrix(*shape: int, dtype: Any, device: Any = None, mean: float = 1.0, sigma: float = 0.001) -> Tensor:
    """Matrices whose singular values are all about ``mean``, ``sigma`` apart."""
    a = make_tensor(shape, dtype=dtype, device=device)
    u, _, vh = linalg.svd(a, full_matrices=False)
    s = _randn(*shape[:-2], min(shape[-2:]), dtype=u.abs().dtype) * sigma + mean
    return _with_values(u, s, vh)


def random_matrix(rows: int, columns: int, *batch_dims: int, **kwargs: Any) -> Tensor:
    """``rows`` by ``columns``; ``singular=True``: with determinant 0 (or short of full rank), else far from it."""
    dtype = kwargs.get("dtype", NAMES["float64"])
    a = _randn(*batch_dims, rows, columns, dtype=dtype, device=kwargs.get("device"))
    if a.numel() == 0:
        return a
    u, s, vh = linalg.svd(a, full_matrices=False)
    k = min(rows, columns)
    values = T["linspace"](1 / (k + 1), 1, k, dtype=s.dtype)
    if kwargs.get("singular", False):
        values[k - 1] = 0
        if k > 2:
            values[0] = 0
    return _with_values(u, values, vh)


def random_lowrank_matrix(rank: int, rows: int, columns: int, *batch_dims: int, **kwargs: Any) -> Tensor:
    """``rows`` by ``columns`` with this rank."""
    b = random_matrix(rows, rank, *batch_dims, **kwargs)
    return b @ random_matrix(rank, columns, *batch_dims, **kwargs)


def random_square_matrix_of_rank(l: int, rank: int, dtype: Any = None, device: Any = None) -> Tensor:
    """``l`` by ``l`` with this rank; its singular values are the numbers from 1 / sqrt(l) to 1, and zeros."""
    if not 0 <= rank <= l:
        raise AssertionError(f"expected rank <= l, got rank={rank}, l={l}")
    u, s, vh = linalg.svd(_randn(l, l, dtype=dtype, device=device))
    values = T["zeros"](l, dtype=s.dtype)
    values[:rank] = T["linspace"](1, 1 / math.sqrt(max(l, 1)), rank, dtype=s.dtype) if rank else 0
    return _with_values(u, values, vh)
