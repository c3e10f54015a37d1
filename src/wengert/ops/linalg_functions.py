"""Functions of matrices: pseudoinverse and least squares, rank, exponential and powers, decompositions of low rank.

The rules are the classical ones: Golub and Pereyra 1973 (pseudoinverse), Higham 2008 (functions of matrices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import linalg as kernels
from ..arrays.array_likes import as_array, new_filled
from ..arrays.layouts import lay
from .linalg_solve import check_matrix, check_sides, check_square, mH
from .linalg_spectral import eigh, singular_values, svd
from .matmul import mT
from .operator import Array, family

operator, composite = family("linalg")
_, legacy = family("torch", "Tensor")


# -- pseudoinverse and least squares ----------------------------------------------------------------------------------


def pinv_back(F: Any, g: Any, P: Any, A: Any) -> Any:
    """Of ``-P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P`` (Golub and Pereyra), in the cheaper order."""
    Ph, gh = mH(F, P), mH(F, g)
    if A.shape[-2] <= A.shape[-1]:
        K = F.matmul(gh, P)
        KPh = F.matmul(K, Ph)
        return (-mH(F, F.matmul(P, K)) + KPh - F.matmul(F.matmul(A, P), KPh) + F.matmul(F.matmul(Ph, P),
            gh - F.matmul(K, A)))
    K = F.matmul(P, gh)
    PhK = F.matmul(Ph, K)
    return -mH(F, F.matmul(K, P)) + F.matmul(F.matmul(gh - F.matmul(A, K), P), Ph) + PhK - F.matmul(F.matmul(PhK, P), A)


def tolerance(a: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """The thresholds below which a singular value counts as zero, as PyTorch defaults them."""
    if rtol is None:
        given = atol is not None and (not isinstance(atol, (int, float)) or atol > 0)
        basic = max(a.shape[-2:]) * np.finfo(a.dtype).eps
        rtol = np.where(as_array(atol) > 0, 0.0, basic) if given else basic
    return as_array(0.0 if atol is None else atol), as_array(rtol)


def _pinv(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if A.ndim < 2:
        from ..arrays.dtypes import scalar_name

        raise RuntimeError(f"linalg.pinv({scalar_name(A.dtype)}{{{list(A.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types")
    if not A.size:
        return new_filled(A, np.zeros, (*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    atol, rtol = tolerance(A, atol, rtol)
    if hermitian:
        check_square("linalg.pinv", A)
        s, u = eigh(A, "L", True)
        vh = u.conj().mT
        size = np.abs(s)
    else:
        u, s, vh = svd(A, False)
        size = s
    limit = np.maximum(atol[..., None], rtol[..., None] * size.max(-1, keepdims=True))
    small = ~(size > limit)
    inverse = np.where(small, 0, 1 / np.where(small, 1, s)).astype(s.dtype)
    return np.matmul(vh.conj().mT * inverse[..., None, :], u.conj().mT)


@operator(grad=dict(A=lambda F, g, result, A: pinv_back(F, g, result, A)), wirtinger=True, node="LinalgPinvBackward0",
    places=())
def pinv_within(A: Array, atol: Array | None = None, rtol: Array | None = None, hermitian=False):
    """``linalg.pinv`` with tensors (or nothing) as thresholds."""
    return _pinv(A, atol, rtol, hermitian)


@composite
def linalg_pinv(F, A, *args, atol=None, rtol=None, hermitian=False, rcond=None):
    """The pseudoinverse; singular values up to ``max(atol, rtol * largest)`` count as zero. The third form:
    ``pinv(A, rcond)``.

    ``rtol`` is ``max(m, n) * eps`` unless ``atol`` is given. ``hermitian``: the matrix is, and eigenvalues serve.
    """
    if args:
        rtol, *more = args
        hermitian = more[0] if more else hermitian
    if rcond is not None:
        rtol = rcond
    limits = [F.constant(as_array(x)) if isinstance(x, (int, float)) else x for x in (atol, rtol)]
    return F.pinv_within(A, *limits, hermitian)


@legacy
def pinverse(F, input, rcond=1e-15):
    """``linalg.pinv`` with ``rcond`` as relative threshold."""
    return F.linalg_pinv(input, rtol=rcond)


def _lstsq_rule(F: Any, g: Any, needs: Any, A: Any, B: Any, solution: Any) -> Any:
    g_solution, g_rest = g
    vector = solution.ndim < A.ndim
    if vector:
        g_solution, B, solution = F.unsqueeze(g_solution, -1), F.unsqueeze(B, -1), F.unsqueeze(solution, -1)
    P = F.linalg_pinv(A)
    ga = pinv_back(F, F.matmul(g_solution, mH(F, B)), P, A) if needs[0] else None
    gb = F.matmul(mH(F, P), g_solution) if needs[1] else None
    if g_rest.shape[-1:] == B.shape[-1:] and g_rest.shape[-1:] != (0,):  # residuals |B - A X|^2, stationary in X
        rest = (B - F.matmul(A, solution)) * (2 * F.unsqueeze(g_rest, -2))
        ga = ga - F.matmul(rest, mH(F, solution)) if needs[0] else None
        gb = gb + rest if needs[1] else None
    return ga, F.squeeze(gb, -1) if vector and gb is not None else gb


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@operator(grad=_lstsq_rule, wrt=("A", "B"), wirtinger=True,
    outputs=("solution", "residuals", "rank", "singular_values"), nondifferentiable=("rank", "singular_values"))
def linalg_lstsq(A: Array, B: Array, rcond=None, *, driver=None):
    """``(solution, residuals, rank, singular_values)``: ``X`` that makes ``|A @ X - B|`` least.

    Shapes: ``(..., m, n)`` with ``(..., m, k)`` or ``(..., m)``. ``residuals`` is empty unless ``m > n``, the rank is
    full and the driver is not "gelsy", the default; ``singular_values`` are those of the drivers "gelsd" and "gelss".
    """
    check_matrix("torch.linalg.lstsq", A, "input")
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    b = B[..., None] if vector else B
    m, n = A.shape[-2:]
    if b.shape[-2] != m:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({'-1' if vector else '-2'})")
    if A.dtype != B.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype")
    rcond = max(m, n) * np.finfo(A.dtype).eps if rcond is None else float(rcond)
    batch = np.broadcast_shapes(A.shape[:-2], b.shape[:-2])
    nothing = np.zeros(0, A.real.dtype)
    if A.size and b.size:
        u, s, vh = svd(A, False)
        largest = s.max(-1, keepdims=True)
        keep = s > rcond * largest if driver != "gels" else np.broadcast_to(largest > 0, s.shape)
        scale = np.where(keep, 1 / np.where(keep, s, 1), 0).astype(s.dtype)
        x = vh.conj().mT @ (scale[..., None] * (u.conj().mT @ b))
        rank = keep.sum(-1)
    else:
        s, rank = np.zeros((*A.shape[:-2], min(m, n)), A.real.dtype), np.zeros(A.shape[:-2], np.int64)
        x = new_filled(A, np.zeros, (*batch, n, b.shape[-1]), A.dtype)
    rest = nothing
    if m > n and not n and driver == "gels":
        rest = np.zeros((*batch, b.shape[-1]), A.real.dtype)  # whatever ``B`` is
    elif m > n and driver != "gelsy" and (driver == "gels" or (rank == n).all()):
        rest = np.add.reduce(np.abs(b - A @ x) ** 2, -2)
    if driver == "gels":
        rank = nothing.astype(np.int64)
    return x[..., 0] if vector else lay(x, "columns"), rest, rank, s if driver in ("gelsd", "gelss") else nothing.copy()


@composite
def linalg_matrix_rank(F, A, tol=None, *, atol=None, rtol=None, hermitian=False):
    """How many singular values exceed ``max(atol, rtol * largest)``."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if isinstance(tol, bool):
        tol, hermitian = None, tol
    if tol is not None:
        atol, rtol = tol, 0.0
    limits = [F.constant(as_array(x)) if isinstance(x, (int, float)) else x for x in (atol, rtol)]
    return F.rank_within(A, *limits, hermitian)


@operator(places=())
def rank_within(A: Array, atol: Array | None, rtol: Array | None, hermitian):
    """``linalg.matrix_rank`` with tensors (or nothing) as thresholds."""
    if not A.size:
        return np.zeros(A.shape[:-2], np.int64)
    atol, rtol = tolerance(A, atol, rtol)
    s = np.abs(eigh(A, "L", False)) if hermitian else singular_values.forward(A)
    limit = np.maximum(atol, rtol * s.max(-1))
    return (s > limit[..., None]).sum(-1)


# -- powers and exponentials ------------------------------------------------------------------------------------------


def _exp_back(F: Any, g: Any, A: Any) -> Any:
    """The corner of the exponential of ``[[X, g], [0, X]]`` is the derivative at ``X = A.mT`` along ``g``."""
    x, n = mT(A), A.shape[-1]
    block = F.cat([F.cat([x, g], -1), F.cat([F.new_zeros(g, tuple(A.shape)), x], -1)], -2)
    return F.basic_index(F.linalg_matrix_exp(block), (..., slice(None, n), slice(n, None)))


@operator(grad=dict(A=_exp_back))
def linalg_matrix_exp(A: Array):
    """The exponential of square matrices."""
    check_square("linalg.matrix_exp", A)
    return kernels.matrix_exp(A)


@legacy
def matrix_exp(F, input):
    """The exponential of square matrices."""
    return F.linalg_matrix_exp(input)


@composite
def linalg_matrix_power(F, A, n):
    """``A`` multiplied with itself ``n`` times, by repeated squaring; a negative ``n`` inverts first."""
    if not isinstance(n, int):
        raise TypeError(f"matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    check_sides("linalg.matrix_power", A)
    if n == 0:
        return F.copy(F.clone(A), F.constant(np.broadcast_to(np.eye(A.shape[-1], dtype=F.dtype_of(A)), tuple(A.shape))))
    if n < 0:
        A, n = F.linalg_inv(A), -n
    if n <= 3:
        return F.clone(A) if n == 1 else F.matmul(A, A) if n == 2 else F.matmul(F.matmul(A, A), A)
    out = None
    while True:
        if n & 1:
            out = A if out is None else F.matmul(out, A)
        n >>= 1
        if not n:
            return out
        A = F.matmul(A, A)


@legacy
def matrix_power(F, input, n):
    """``linalg.matrix_power``."""
    return F.linalg_matrix_power(input, n)


# -- random projections -----------------------------------------------------------------------------------------------


def _range(F: Any, A: Any, q: int, niter: int, draw: Any) -> Any:
    """An orthonormal basis that nearly spans the range of ``A`` (Halko, Martinsson and Tropp 2009, algorithm 4.4)."""
    Q = F.linalg_qr(F.matmul(A, draw(A.shape[-1], q)))[0]
    for _ in range(niter):
        Q = F.linalg_qr(F.matmul(mH(F, A), Q))[0]
        Q = F.linalg_qr(F.matmul(A, Q))[0]
    return Q


@composite(places=())
def low_rank(F, A, q, niter, M, draw):
    """``(U, S, V)``, ``A - M`` nearly ``U @ diag(S) @ V.mH``, from ``q`` random directions of ``draw(n, q)``."""
    if A.shape[-2] < A.shape[-1]:
        U, S, V = low_rank.define(F, mH(F, A), q, niter, None if M is None else mH(F, M), draw)
        return V, S, U
    if M is not None:
        A = A - M
    Q = _range(F, A, q, niter, draw)
    U, S, Vh = F.linalg_svd(F.matmul(mH(F, Q), A), False)
    return F.matmul(Q, U), S, mH(F, Vh)
