"""Chains of products, cross and Kronecker products, covariance, LDL; functions of matrices: pseudoinverse and least
squares, rank, exponential and powers, decompositions of low rank.

The rules are the classical ones: Golub and Pereyra 1973 (pseudoinverse), Higham 2008 (functions of matrices).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays import linalg as kernels
from ..arrays.array_likes import as_array, new_filled
from ..arrays.errors import LinAlgError, warn
from ..arrays.layouts import lay
from .linalg_solve import check_alike, check_matrix, check_sides, check_square, mH, vector_case
from .linalg_spectral import eigh, singular_values, svd
from .matmul import mT
from .operator import Array, family
from .pointwise import no_derivative
from .refusals import inexact, same_width
from .steps import Steps, taken
from .views import axis

operator, composite = family("linalg")
_, legacy = family("torch", "Tensor")


# -- chains -----------------------------------------------------------------------------------------------------------


@composite
def linalg_matmul(F, input, other):
    """``torch.matmul``."""
    return F.matmul(input, other)


def _chain(shapes: Any) -> Steps:
    """The steps to the product of several matrices, of which the first and the last may be vectors."""
    steps: list[Any] = []
    places, n = list(range(len(shapes))), len(shapes)
    for i in (0, n - 1):
        if len(shapes[i]) == 1:
            steps.append(("unsqueeze", i, -1 if i else 0))
            places[i] = n + len(steps) - 1
    sizes = [1 if len(shapes[0]) == 1 else shapes[0][0], *(shape[0] for shape in shapes[1:])]
    split = _order([*sizes, 1 if len(shapes[-1]) == 1 else shapes[-1][1]])

    def product(i: int, j: int) -> int:
        if i == j:
            return places[i]
        k = split[i][j]
        steps.append(("matmul", (product(i, k), product(k + 1, j))))
        return n + len(steps) - 1

    whole = product(0, n - 1)
    return (*steps, ("view", whole, (*shapes[0][:-1], *shapes[-1][1:])))


def _chain_plan(shapes: Any) -> Steps | None:
    ends = len(shapes) > 1 and all(len(shapes[i]) in (1, 2) for i in (0, -1))
    return _chain(shapes) if ends and all(len(shape) == 2 for shape in shapes[1:-1]) else None


@composite(plan=(("matmul", "unsqueeze", "view"), _chain_plan))
def linalg_multi_dot(F, tensors):
    """The product of several matrices, in the cheapest order; the first and the last may be vectors.

    >>> torch.linalg.multi_dot([torch.ones(2), torch.ones(2, 3), torch.ones(3)])
    tensor(6.)
    """
    row = list(tensors)
    n = len(row)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    d = F.dtype_of(row[0])
    for i, x in enumerate(row):
        if i in (0, n - 1):
            if x.ndim not in (1, 2):
                raise RuntimeError(f"multi_dot(): the {'last' if i else 'first'} tensor must be 1D or 2D but got "
                    f"{x.ndim}D")
        elif x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
        if F.dtype_of(x) != d:
            raise RuntimeError("multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{dt.scalar_name(d)} and tensor {i} {dt.scalar_name(F.dtype_of(x))}")
    for i, (x, y) in enumerate(pairwise(row)):
        if x.shape[-1] != y.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(x.shape)} and {list(y.shape)} "
                "cannot be multiplied")
    return taken(F, _chain([tuple(x.shape) for x in row]), row)


def _order(sizes: list[int]) -> list[list[int]]:
    """Where to split each chain ``i..j`` of matrices for the fewest multiplications (dynamic programming)."""
    n = len(sizes) - 1
    late = -1 if n == 3 else 1  # of equal ways through three matrices PyTorch takes the first product first
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k * late) for k in range(i, j))
            split[i][j] *= late
    return split


# -- vectors ----------------------------------------------------------------------------------------------------------


@operator(grad=dict(input=lambda F, g, other, dim: F.linalg_cross(other, g, dim=dim),
        other=lambda F, g, input, dim: F.linalg_cross(g, input, dim=dim)), layout="rows")
def linalg_cross(input: Array, other: Array, *, dim=-1):
    """The cross product along ``dim``, of length 3; broadcast over the other dimensions.

    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = axis(dim, input.ndim)
    if input.ndim == 0 or input.shape[d] != 3 or other.shape[d] != 3:
        sizes = (1, 1) if input.ndim == 0 else (input.shape[d], other.shape[d])
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    same_width(input.dtype, other.dtype)
    if input.shape != other.shape:
        input, other = np.broadcast_arrays(input, other)
    return K.cross(input, other, d)


@legacy
def cross(F, input, other, dim=None):
    """The cross product along ``dim``, by default the first dimension of length 3."""
    if dim is None and 3 not in input.shape:
        raise RuntimeError("no dimension of size 3 in input")
    return F.linalg_cross(input, other, dim=tuple(input.shape).index(3) if dim is None else dim)


@composite
def linalg_vecdot(F, x, y, *, dim=-1):
    """Inner products along ``dim``, with ``x`` conjugated; batches broadcast."""
    for v in (x, y):
        inexact("linalg.vecdot", F.dtype_of(v))
    check_alike("linalg.vecdot: ", x=F.dtype_of(x), y=F.dtype_of(y))
    if x.ndim == y.ndim == 1:
        return F.vdot(x, y)
    return F.sum((F.conj(x) if F.is_complex(x) else x) * y, dim)


@composite
def linalg_vander(F, x, *, N=None):
    """The powers ``x ** 0, ..., x ** (N - 1)`` along a new last dimension."""
    x = x if x.ndim else F.unsqueeze(x, 0)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x if F.dtype_of(x).kind in "fcVW" else F.cast(x, dt.I64)
    rest = F.cumprod(F.expand(F.unsqueeze(x, -1), (*x.shape, n - 1)), -1)
    return F.cat([F.new_zeros(rest, (*x.shape, 1)) + 1, rest], -1)


@composite(places=("torch",))
def vander(F, x, N=None, increasing=False):
    """The Vandermonde matrix of a vector; the powers go down unless ``increasing``."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    d = F.dtype_of(x) if F.dtype_of(x).kind in "fcVW" else dt.I64
    if n < 2:
        return F.new_zeros(x, (x.shape[0], n), d) + 1
    out = F.linalg_vander(x, N=n)
    return out if increasing else F.flip(out, (-1,))


@composite
def linalg_diagonal(F, A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonal of matrices, by default in the last two dimensions."""
    return F.diagonal(A, offset, dim1, dim2)


# -- Kronecker products, covariance -----------------------------------------------------------------------------------


def _kron(a: tuple[int, ...], b: tuple[int, ...]) -> Steps:
    n = max(len(a), len(b))
    a, b = ((1,) * (n - len(x)) + tuple(x) for x in (a, b))
    return (("unsafe_view", 0, tuple(k for size in a for k in (size, 1))),
        ("unsafe_view", 1, tuple(k for size in b for k in (1, size))), ("mul", (2, 3)),
        ("unsafe_view", 4, tuple(i * j for i, j in zip(a, b))))


@legacy(plan=(("mul", "unsafe_view"), _kron, False, 1))
def kron(F, input, other):
    """The Kronecker product: a block ``input[i, j] * other`` for every element of ``input``.

    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    return taken(F, _kron(input.shape, other.shape), (input, other))


def _weights(F: Any, w: Any, n: int, name: str, kinds: str, kind: str) -> None:
    if w.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} "
            "dimensions")
    if F.dtype_of(w).kind not in kinds:
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{dt.scalar_name(F.dtype_of(w))} dtype")
    count = w.shape[0] if w.ndim else 1
    if count != n:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but "
            f"got {count} != {n}")
    if not F.every(w >= 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@legacy
def cov(F, input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables (rows) over observations (columns), which may be repeated or weighted."""
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} "
            "dimensions")
    if F.dtype_of(input).kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else F.reshape(input, (1, -1))
    n, w = x.shape[1], fweights
    if fweights is not None:
        _weights(F, fweights, n, "fweights", "iu", "integral")
    if aweights is not None:
        _weights(F, aweights, n, "aweights", "fV", "floating point")
        w = aweights if w is None else w * aweights
    if n == 0:
        return (F.sum(x * float("nan")) * float("nan") if x.shape[0] == 1
            else F.constant(np.full((x.shape[0],) * 2, np.nan, F.dtype_of(x))))
    total = n if w is None else F.sum(w)
    if w is not None and F.every(total == 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = F.sum(x if w is None else x * w, 1) / total
    scale: Any = total
    if correction != 0:
        scale = total - (correction if aweights is None else correction * F.sum(w * aweights) / total)
    if scale <= 0 if w is None else F.every(scale <= 0):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        scale = 0 if w is None else F.clamp(scale, 0)
    x = x - F.unsqueeze(mean, 1)
    right = mH(F, x if w is None else x * w)
    c = F.matmul(x if F.dtype_of(x) == F.dtype_of(right) else F.cast(x, F.dtype_of(right)), right)
    if F.is_complex(c) and c.shape[0] == 1:  # a variance is real
        c = F.complex(F.real(c), F.constant(np.zeros((1, 1), F.dtype_of(F.real(c)))))
    return F.squeeze(c / (scale if w is not None else F.constant(as_array(scale))))


@legacy
def corrcoef(F, input):
    """The correlation matrix of variables (rows) over observations (columns)."""
    if input.ndim > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions")
    c = F.cov(input)
    if c.ndim == 0:
        return c / c
    d = F.diagonal(c)
    size = F.sqrt(F.real(d) if F.is_complex(d) else d)
    c = c / F.reshape(size, (-1, 1)) / F.reshape(size, (1, -1))
    if F.is_complex(c):
        return F.complex(F.clamp(F.real(c), -1, 1), F.clamp(F.imag(c), -1, 1))
    return F.clamp(c, -1, 1)


# -- LDL --------------------------------------------------------------------------------------------------------------


def _ldl(name: str, A: Any, hermitian: bool, check: bool) -> tuple[Any, Any, Any]:
    check_square(name, A)
    LD, pivots, info = kernels.ldl_factor(A, hermitian)
    if check and info.any():
        raise LinAlgError(f"{name}: the factorization found a zero on the diagonal of D: solving with it would divide "
            "by zero")
    return LD, pivots, info


@operator(grad=dict(A=no_derivative("linalg_ldl_factor_ex")), outputs=("LD", "pivots"), nondifferentiable=("pivots",),
    layout=("columns",), node="NotImplemented")
def linalg_ldl_factor(A: Array, *, hermitian=False):
    """``(LD, pivots)`` with ``A = L @ D @ L.T`` (``L.mH`` if ``hermitian``), packed as by LAPACK, for ``ldl_solve``."""
    return _ldl("torch.linalg.ldl_factor_ex", A, hermitian, True)[:2]


@operator(grad=dict(A=no_derivative("linalg_ldl_factor_ex")), outputs=("LD", "pivots", "info"),
    nondifferentiable=("pivots", "info"), layout=("columns",), node="NotImplemented")
def linalg_ldl_factor_ex(A: Array, *, hermitian=False, check_errors=False):
    """``(LD, pivots, info)``; ``info`` is not zero where ``D`` has a zero, instead of an error."""
    return _ldl("torch.linalg.ldl_factor_ex", A, hermitian, check_errors)


@operator(grad=dict(LD=no_derivative("linalg_ldl_solve"), B=no_derivative("linalg_ldl_solve")), layout="columns",
    node="NotImplemented")
def linalg_ldl_solve(LD: Array, pivots: Array, B: Array, *, hermitian=False):
    """``X`` with ``A @ X = B`` from the packed factors of ``ldl_factor``."""
    check_square("torch.linalg.ldl_solve", LD)
    check_matrix("torch.linalg.ldl_solve", B, "B")
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(f"torch.linalg.ldl_solve: Incompatible shapes of LD and B ({LD.shape[-2]}x{LD.shape[-1]} "
            f"and {B.shape[-2]}x{B.shape[-1]})")
    check_alike("", ".", b=B.dtype, A=LD.dtype)
    return kernels.ldl_solve(LD, pivots, B, hermitian)


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


@operator(grad=dict(A=lambda F, g, result, A: pinv_back(F, g, result, A)), wirtinger=True, node="LinalgPinvBackward0",
    places=())
def pinv_within(A: Array, atol: Array | None = None, rtol: Array | None = None, hermitian=False):
    """``linalg.pinv`` with tensors (or nothing) as thresholds."""
    if A.ndim < 2:
        raise RuntimeError(f"linalg.pinv({dt.scalar_name(A.dtype)}{{{list(A.shape)}}}): expected a tensor with 2 or "
            "more dimensions of float, double, cfloat or cdouble types")
    if not A.size:
        return new_filled(A, np.zeros, (*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    atol, rtol = tolerance(A, atol, rtol)
    if hermitian:
        check_square("linalg.pinv", A)
        s, u = eigh(A, "L", True)
        vh = u.conj().mT
    else:
        u, s, vh = svd(A, False)
    size = np.abs(s)
    limit = np.maximum(atol[..., None], rtol[..., None] * size.max(-1, keepdims=True))
    small = ~(size > limit)
    inverse = np.where(small, 0, 1 / np.where(small, 1, s)).astype(s.dtype)
    return np.matmul(vh.conj().mT * inverse[..., None, :], u.conj().mT)


@composite(node="LinalgPinvBackward0", whole=("A",), fixed=("atol", "rtol"))
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
    vector = vector_case(A.shape, B.shape)
    b = B[..., None] if vector else B
    m, n = A.shape[-2:]
    if b.shape[-2] != m:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({'-1' if vector else '-2'})")
    if A.dtype != B.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype")
    rcond = max(m, n) * np.finfo(A.dtype).eps if rcond is None else float(rcond)
    batch = np.broadcast_shapes(A.shape[:-2], b.shape[:-2])
    nothing = np.zeros(0, A.real.dtype)
    found = K.least_squares(*kernels.together(A, b), rcond) if A.size and b.size and driver == "gelsy" else None
    if found is not None:
        s, (x, rank) = nothing, found
    elif A.size and b.size:
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


def _power_steps(shape: tuple[int, ...], n: Any) -> Any:
    """Those of ``linalg_matrix_power`` for everyday powers."""
    if type(n) is not int or not 1 < n < 1024 or len(shape) < 2 or shape[-1] != shape[-2]:
        return None
    if n <= 3:
        return (("matmul", (0, 0)), ("matmul", (1, 0)))[: n - 1]
    steps: list[Any] = []
    out, square = None, 0
    while True:
        if n & 1:
            steps += [("matmul", (out, square))] if out is not None else []
            out = square if out is None else len(steps)
        n >>= 1
        if not n:
            return tuple(steps)
        steps.append(("matmul", (square, square)))
        square = len(steps)


@composite(plan=(("matmul",), _power_steps))
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


@legacy(plan=(("matmul",), _power_steps))
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
