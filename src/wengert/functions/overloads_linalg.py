"""Linear algebra under old names: several forms of one function, results as named tuples of other fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..tensor.functions import function
from ..tensor.results import return_type
from ..tensor.tensor import wrap
from .composites.call import _write
from .overloads import overload
from .places import PLACES

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor


def _result(name: str, values: Any, out: Any) -> Any:
    """The results of ``name`` as its named tuple, or in ``out``."""
    return return_type(name)(values) if out is None else _write(values, out, name)


@overload("torch", "Tensor")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
        out: Any = None) -> Tensor:
    """The ``p``-norm of all elements or over ``dim``: a number, ``"fro"`` (2 of all) or ``"nuc"`` (sum of singular
    values).

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = dim if dim is None or isinstance(dim, int) else tuple(dim)
    if p is None:
        p = 2.0
    elif p == "fro" and (dims is None or isinstance(dims, int) or len(dims) <= 2):
        p = 2
    if isinstance(p, str):
        plane = (-2, -1) if dims is None else (dims,) if isinstance(dims, int) else dims
        answer = function("linalg_matrix_norm")(input, p, plane, keepdim, dtype=dtype)
    else:
        answer = function("linalg_vector_norm")(input, p, dims, keepdim, dtype=dtype)
    return answer if out is None else _write(answer, out, "norm")


@overload("torch", "Tensor")
def slogdet(input: Any, *, out: Any = None) -> Any:
    """``(sign, logabsdet)``: the determinant is ``sign * exp(logabsdet)``."""
    return _result("slogdet", function("linalg_slogdet")(input), out)


@overload("torch", "Tensor")
def svd(input: Any, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """``(U, S, V)`` with ``input = U @ diag(S) @ V.mH``; ``some``: the reduced form. See ``linalg.svd``."""
    if compute_uv:
        U, S, Vh = function("linalg_svd")(input, not some)
        V = Vh.mH
    else:
        S = function("linalg_svdvals")(input)
        m, n = input.shape[-2:]
        U, V = (wrap(np.zeros((*input.shape[:-2], k, k), input._wg_data.dtype)) for k in (m, n))
    return _result("svd", (U, S, V), out)


@overload("torch", "Tensor")
def qr(input: Any, some: bool = True, *, out: Any = None) -> Any:
    """``(Q, R)``; ``some``: the reduced form. See ``linalg.qr``."""
    return _result("qr", function("linalg_qr")(input, "reduced" if some else "complete"), out)


@overload("torch", "Tensor")
def geqrf(input: Any, *, out: Any = None) -> Any:
    """``(a, tau)``: LAPACK's reflections of a QR decomposition, for ``ormqr`` and ``householder_product``."""
    return _result("geqrf", function("packed_qr")(input), out)


@overload("torch", "Tensor")
def triangular_solve(b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *,
        out: Any = None) -> Any:
    """``(solution, cloned_coefficient)`` of ``A @ X = b`` for triangular ``A`` (``transpose``: for ``A.T``)."""
    if A.dim() < 2 or b.dim() < 2:
        name, x = ("b", b) if b.dim() < 2 else ("A", A)
        raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
            f"{x.dim()} dimensions instead")

    matrix = A.mT if transpose else A
    x = function("linalg_solve_triangular")(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return _result("triangular_solve", (x, A.clone()), out)


@overload("torch", "Tensor")
def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """``(LU, pivots)``, and ``infos`` on request. See ``linalg.lu_factor_ex``."""
    found = function("linalg_lu_factor_ex")(A, pivot=pivot, check_errors=not get_infos)
    if out is not None:
        return _write(tuple(found)[: 2 + get_infos], out, "lu")
    return return_type("_lu_with_info")(found) if get_infos else tuple(found)[:2]


@overload("torch")
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """``(U, S, V)``: approximately the ``q`` largest singular values of ``A`` (less ``M``) and their vectors.

    By random projection (Halko, Martinsson and Tropp 2009) with ``niter`` power iterations.
    """
    q = 6 if q is None else q
    if M is not None:
        M = M.broadcast_to(A.size())
    return function("low_rank")(A, q, 2 if niter is None else niter, M,
        lambda n, k: PLACES["torch"]["randn"](n, k, dtype=dt.of(A._wg_data.dtype)))


@overload("torch")
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """``(U, S, V)`` of ``svd_lowrank`` with the columns of ``A`` centred first."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


@overload("torch")
def lobpcg(A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None,
        niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None,
        tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
        ortho_bparams: Any = None) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) eigenvalues of symmetric ``A``, or of ``A x = B x w``, and their vectors.

    Shapes: ``(..., m, m) -> (..., k), (..., m, k)``. ``k``: by default as many as ``X`` has columns, or 1. They come
    from a whole decomposition and are exact: what steers PyTorch's iteration (``X``, ``iK``, ``niter``, ``tol``, ...)
    is accepted and changes nothing. Of ``A``, the symmetric part counts. Raises ``ValueError`` for more than ``m / 3``.

    >>> torch.lobpcg(torch.diag(torch.tensor([1.0, 3.0, 2.0])))[0]
    tensor([3.])
    """
    m = A.shape[-1]
    if A.shape[-2] != m:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    count = (1 if X is None else X.shape[-1]) if k is None else k
    if m < 3 * count:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the "
            f"number of requested eigenpairs (={count})")
    if count < 1:
        raise ValueError(f"lobpcg: k must be positive, but got {count}")
    solve = function("linalg_solve_triangular")
    A, L = A.to_dense(), None
    A = (A + A.mT) / 2
    if B is not None:  # B = L L^T: the eigenvalues are those of L^-1 A L^-T
        L = function("linalg_cholesky")(B.to_dense())
        A = solve(L, solve(L, A, upper=False).mT, upper=False)
        A = (A + A.mT) / 2
    values, vectors = function("linalg_eigh")(A)
    if largest is False:
        values, vectors = values[..., :count], vectors[..., :count]
    else:
        values, vectors = values[..., -count:].flip(-1), vectors[..., -count:].flip(-1)
    return values, vectors if L is None else solve(L.mT, vectors, upper=True)
