"""Inverses, determinants, linear systems, and the factorisations that serve them: LU, Cholesky.

The rules are the classical ones (Giles 2008, "Collected matrix derivative results"; Murray 2016, "Differentiation of
the Cholesky decomposition"), written with matrix products and solves, so that they can be differentiated again.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays import linalg as kernels
from ..arrays.array_likes import new_filled
from ..arrays.errors import LinAlgError
from ..arrays.kernels import cast
from ..arrays.plain.lapack import permuter
from .matmul import mT
from .operator import Array, family
from .reduce import products_but_one
from .refusals import inexact

operator, composite = family("linalg")
_, legacy = family("torch", "Tensor")


def mH(F: Any, x: Any) -> Any:
    """The conjugate transpose."""
    return F.conj(mT(x)) if F.is_complex(x) else mT(x)


# -- what all of them refuse ------------------------------------------------------------------------------------------


def check_matrix(name: str, a: Any, what: str = "A") -> None:
    """At least two dimensions and a type that can be divided."""
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")
    check_type(name, a)


def check_type(name: str, a: Any) -> None:
    if a.dtype.char in "fdFD":
        return
    inexact(name, a.dtype)
    if a.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {dt.scalar_name(a.dtype)}")


def check_alike(head: str, end: str = "", **dtypes: Any) -> None:
    """Refuse two arguments, given by their names, of different data types."""
    (a, one), (b, other) = dtypes.items()
    if one != other:
        raise RuntimeError(f"{head}Expected {a} and {b} to have the same dtype, but found {a} of type "
            f"{dt.scalar_name(one)} and {b} of type {dt.scalar_name(other)} instead{end}")


def check_square(name: str, a: Any, what: str = "A") -> None:
    check_matrix(name, a, what)
    check_sides(name, a, what)


def check_sides(name: str, a: Any, what: str = "A") -> None:
    """The last two dimensions alike; works for tensors too."""
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"{name}: {what} must be batches of square matrices, but they are {a.shape[-2]} by "
            f"{a.shape[-1]} matrices")


def element(info: Any) -> tuple[str, int]:
    """How a message names the first failure: ``"(Batch element 1): "`` and its ``info``."""
    if info.ndim == 0:
        return "", int(info)
    at = int(np.argmax(info.reshape(-1) != 0))
    return f"(Batch element {at}): ", int(info.reshape(-1)[at])


def _singular(name: str, info: Any) -> None:
    where, k = element(info)
    if name.endswith(("solve", "solve_ex")):
        raise LinAlgError(f"torch.{name}: {where}The solver failed because the input matrix is singular.")
    raise LinAlgError(f"{name}: {where}The diagonal element {k} is zero, the inversion could not be completed because "
        "the input matrix is singular.")


# -- inverse ----------------------------------------------------------------------------------------------------------


def _inv_back(F: Any, g: Any, result: Any) -> Any:
    return -F.matmul(mT(result), F.matmul(g, mT(result)))


def _push_inv(F: Any, t: Any, result: Any) -> Any:
    return -F.matmul(result, F.matmul(t, result))


def _inv(name: str, A: Any, check: bool) -> tuple[Any, Any]:
    check_square("linalg.inv", A)
    inverse, info = K.inverse(A)
    if check and info.any():
        _singular(name, info)
    return inverse, info


@operator(grad=dict(A=_inv_back), push=lambda F, t, result: _push_inv(F, t, result), node="LinalgInvExBackward0",
    layout="columns")
def linalg_inv(A: Array):
    """The inverse of square matrices, ``(..., n, n)``; ``LinAlgError`` for a singular one.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _inv("linalg.inv", A, True)[0]


@operator(grad=dict(A=lambda F, g, inverse: _inv_back(F, g, inverse)), outputs=("inverse", "info"),
    push=lambda F, t, inverse: _push_inv(F, t, inverse), nondifferentiable=("info",), layout=("columns",))
def linalg_inv_ex(A: Array, *, check_errors=False):
    """``(inverse, info)``; ``info`` is not zero where a matrix is singular, instead of an error."""
    return _inv("linalg.inv_ex", A, check_errors)


@legacy
def inverse(F, input):
    """The inverse of square matrices."""
    return F.linalg_inv(input)


# -- determinants -----------------------------------------------------------------------------------------------------


@composite(places=(), raw=kernels.cofactor)
def cofactor(F, A):
    """``det(A) * inv(A).T``: the derivative of the determinant; of singular matrices by their singular values."""
    det = F.linalg_det(A)
    if F.every(det != 0):
        return F.reshape(det, (*A.shape[:-2], 1, 1)) * mT(F.linalg_inv(A))
    U, S, Vh = F.linalg_svd(A)
    turn = F.linalg_det(U) * F.linalg_det(Vh)
    if F.is_complex(A):
        U, Vh = F.conj(U), F.conj(Vh)
    return F.reshape(turn, (*A.shape[:-2], 1, 1)) * F.matmul(U * F.unsqueeze(products_but_one(F, S, -1), -2), Vh)


@operator(grad=dict(A=lambda F, g, A: F.reshape(g, (*A.shape[:-2], 1, 1)) * F.cofactor(A)))
def linalg_det(A: Array):
    """The determinant of square matrices, ``(..., n, n) -> (...)``.

    >>> torch.linalg.det(torch.tensor([[2.0, 1.0], [4.0, 5.0]]))
    tensor(6.)
    """
    check_square("linalg.det", A)
    return K.determinants(A)[2]


def _slogdet_back(F: Any, g: Any, A: Any, sign: Any) -> Any:
    g_sign, g_log = g
    if F.is_complex(A):  # the sign turns with the imaginary part of tr(A^-1 dA)
        turn = F.imag(F.conj(g_sign) * sign)
        g_log = F.complex(g_log, -turn)
    if not F.raw and not F.is_complex(A):
        return F.linalg_solve_ex(mT(A), F.diag_embed(F.expand(F.unsqueeze(g_log, -1), tuple(A.shape[:-1]))))[0]
    return F.reshape(g_log, (*A.shape[:-2], 1, 1)) * mH(F, F.linalg_inv_ex(A)[0])


@operator(grad=dict(A=_slogdet_back), outputs=("sign", "logabsdet"), wirtinger=True)
def linalg_slogdet(A: Array):
    """``(sign, logabsdet)``: the determinant is ``sign * exp(logabsdet)``."""
    check_square("linalg.slogdet", A)
    return K.determinants(A)[:2]


@legacy
def det(F, input):
    """The determinant of square matrices."""
    return F.linalg_det(input)


@legacy
def logdet(F, input):
    """The logarithm of the determinant; NaN where a real one is negative."""
    sign, size = F.linalg_slogdet(input)
    if F.is_complex(input):
        return size + F.log(sign)
    return F.where(sign < 0, float("nan"), size)


# -- linear systems ---------------------------------------------------------------------------------------------------


def vector_case(a_shape: Any, b_shape: Any) -> bool:
    """Whether ``b`` is one vector for each matrix."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1]))


def _solve_back(F: Any, g: Any, needs: Any, A: Any, A_shape: Any, B_shape: Any, result: Any, left: Any, factors: Any,
        pivots: Any) -> Any:
    # with vectors the solution is a column (a row without `left`), and so is everything that follows from it
    vector = vector_case(A_shape, B_shape)
    if vector:
        g, result = F.unsqueeze(g, -1), F.unsqueeze(result, -1) if needs[0] else None
    if F.raw and factors.size:
        gb = K.lu_solve(factors, pivots, g if left else g.mT, True)
        gb = gb if left else gb.mT
    else:
        gb = F.linalg_solve(mT(A), g, left=left)
    return _matrix_back(F, gb, result, left) if needs[0] else None, F.squeeze(gb, -1) if vector else gb


def _push_solve(F: Any, t: Any, A: Any, B: Any, result: Any, left: Any) -> Any:
    vector, (turn, total) = vector_case(A.shape, B.shape), t
    if vector:
        result, total = F.unsqueeze(result, -1), None if total is None else F.unsqueeze(total, -1)
    if turn is not None:
        part = F.matmul(turn, result) if left else F.matmul(result, turn)
        total = -part if total is None else total - part
    found = F.linalg_solve(A, total, left=left)
    return F.squeeze(found, -1) if vector else found


def _matrix_back(F: Any, gb: Any, result: Any, left: bool) -> Any:
    """The gradient of the matrix of a system from that of the right-hand side."""
    return -(F.matmul(gb, mT(result)) if left else F.matmul(mT(result), gb))


def _check_system(name: str, a: Any, b: Any, left: bool) -> None:
    check_square(name, a)
    check_alike(f"{name}: ", A=a.dtype, B=b.dtype)
    if b.shape[-2 if left else -1] != a.shape[-1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")


def _solve(name: str, A: Any, B: Any, left: bool, check: bool) -> tuple[Any, Any, Any, Any]:
    """``(X, info, LU, pivots)``."""
    vector = vector_case(A.shape, B.shape)
    b = B[..., None] if vector else B
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
            "In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    _check_system("linalg.solve", A, b, left)
    x, factors, pivots, info = K.solve_once(*(kernels.together(A, b) if left else kernels.together(A.mT, b.mT)))
    if check and info.any():
        _singular(name, info)
    if not left:
        x = x.mT
    return (x[..., 0] if vector else x), info, factors, pivots


@operator(grad=_solve_back, wrt=("A", "B"), keeps={"result": ("A",)}, push=_push_solve, node="LinalgSolveExBackward0",
    aux=("factors", "pivots"), layout=("columns",))
def linalg_solve(A: Array, B: Array, *, left=True):
    """The solution of ``A @ X = B`` (``X @ A = B`` without ``left``); ``LinAlgError`` for a singular ``A``.

    Shapes: ``(..., n, n)`` with ``(..., n, k)``, or with ``(n,)`` or ``(..., n)`` for vectors; batches broadcast.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    x, _, factors, pivots = _solve("linalg.solve", A, B, left, True)
    return x, factors, pivots


@operator(grad=_solve_back, wrt=("A", "B"), keeps={"result": ("A",)}, push=_push_solve, outputs=("result", "info"),
    aux=("factors", "pivots"), nondifferentiable=("info",), layout=("columns",))
def linalg_solve_ex(A: Array, B: Array, *, left=True, check_errors=False):
    """``(result, info)``; ``info`` is not zero where a matrix is singular, instead of an error."""
    return _solve("linalg.solve_ex", A, B, left, check_errors)


def _triangular_back(F: Any, g: Any, needs: Any, A: Any, result: Any, upper: Any, left: Any, unitriangular: Any) -> Any:
    gb = F.linalg_solve_triangular(mT(A), g, upper=not upper, left=left, unitriangular=unitriangular)
    if not needs[0]:
        return None, gb
    ga, beside = _matrix_back(F, gb, result, left), int(unitriangular)
    return F.triu(ga, beside) if upper else F.tril(ga, -beside), gb


@operator(grad=_triangular_back, wrt=("A", "B"), keeps={"result": ("A",)}, layout="columns")
def linalg_solve_triangular(A: Array, B: Array, *, upper, left=True, unitriangular=False):
    """The solution of ``A @ X = B`` (``X @ A = B`` without ``left``) for triangular ``A``; batches broadcast.

    Only the triangle is read, and not its diagonal if ``unitriangular``. A zero on the diagonal gives inf or NaN.
    """
    name = "linalg.solve_triangular"
    check_matrix(name, A)
    check_matrix(name, B, "B")
    B = B if B.dtype is A.dtype else cast(B, A.dtype)
    _check_system(name, A, B, left)
    if left:
        return kernels.solve_triangular(A, B, upper, unitriangular)
    return kernels.solve_triangular(A.mT, B.mT, not upper, unitriangular).mT


# -- LU ---------------------------------------------------------------------------------------------------------------


def lu_back(F: Any, gL: Any, gU: Any, L: Any, U: Any) -> Any:
    """The gradient of ``P.T @ A`` where ``P.T @ A = L @ U``; ``L`` is (m, k), ``U`` is (k, n), ``k = min(m, n)``."""
    m, k, n = L.shape[-2], U.shape[-2], U.shape[-1]
    square = slice(None, k)
    head_l, head_u = F.basic_index(L, (..., square, slice(None))), F.basic_index(U, (..., square))

    def apart(middle: Any) -> Any:
        """``L1^-H @ middle @ U1^-H``."""
        middle = F.linalg_solve_triangular(mH(F, head_u), middle, upper=False, left=False)
        return F.linalg_solve_triangular(mH(F, head_l), middle, upper=True, unitriangular=True)

    if m == n:
        return apart(F.tril(F.matmul(mH(F, L), gL), -1) + F.triu(F.matmul(gU, mH(F, U))))
    if m < n:
        tail = slice(k, None)
        gU1, gU2 = F.basic_index(gU, (..., square)), F.basic_index(gU, (..., tail))
        phi = F.matmul(mH(F, L), gL) - F.matmul(gU2, mH(F, F.basic_index(U, (..., tail))))
        first = apart(F.tril(phi, -1) + F.triu(F.matmul(gU1, mH(F, head_u))))
        return F.cat([first, F.linalg_solve_triangular(mH(F, head_l), gU2, upper=True, unitriangular=True)], -1)
    below = (..., slice(k, None), slice(None))
    gL1, gL2 = F.basic_index(gL, (..., square, slice(None))), F.basic_index(gL, below)
    phi = F.matmul(gU, mH(F, U)) - F.matmul(mH(F, F.basic_index(L, below)), gL2)
    first = apart(F.tril(F.matmul(mH(F, head_l), gL1), -1) + F.triu(phi))
    return F.cat([first, F.linalg_solve_triangular(mH(F, head_u), gL2, upper=False, left=False)], -2)


def _lu_factor_back(F: Any, g: Any, LU: Any, pivots: Any) -> Any:
    first = slice(None, min(LU.shape[-2:]))
    P, L, U = F.lu_unpack(LU, pivots)
    gL, gU = F.basic_index(g, (..., first)), F.basic_index(g, (..., first, slice(None)))
    return F.matmul(P, lu_back(F, gL, gU, L, U))


def _factor(name: str, A: Any, pivot: bool, check: bool) -> tuple[Any, Any, Any]:
    check_type("torch." + name, A)
    if A.ndim < 2:
        raise RuntimeError(f"torch.{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} "
            "instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    lu, pivots, info = K.lu_factor(A)
    if check and info.any():
        where, k = element(info)
        raise RuntimeError(f"torch.{name}: {where}U[{k},{k}] is zero and using it on lu_solve would result in a "
            "division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)")
    return lu, pivots, info


@operator(grad=dict(A=_lu_factor_back), wirtinger=True, outputs=("LU", "pivots"), nondifferentiable=("pivots",),
    node="LinalgLuFactorExBackward0", layout=("columns",))
def linalg_lu_factor(A: Array, *, pivot=True):
    """``(LU, pivots)``: LU factors with row pivoting, packed into one matrix, for ``lu_solve`` and ``lu_unpack``."""
    return _factor("linalg.lu_factor", A, pivot, True)[:2]


@operator(grad=dict(A=_lu_factor_back), wirtinger=True, outputs=("LU", "pivots", "info"),
    nondifferentiable=("pivots", "info"), layout=("columns",))
def linalg_lu_factor_ex(A: Array, *, pivot=True, check_errors=False):
    """``(LU, pivots, info)``; ``info`` is not zero where a pivot is zero, instead of an error."""
    return _factor("linalg.lu_factor_ex", A, pivot, check_errors)


@operator(grad=dict(A=lambda F, g, P, L, U: F.matmul(P, lu_back(F, g[0], g[1], L, U))), wirtinger=True,
    outputs=("P", "L", "U"), nondifferentiable=("P",))
def linalg_lu(A: Array, *, pivot=True):
    """``(P, L, U)`` with ``A = P @ L @ U``: a permutation, a unit lower and an upper triangular matrix.

    Shapes: ``(..., m, n) -> (..., m, m), (..., m, k), (..., k, n)`` with ``k = min(m, n)``.
    """
    if A.ndim < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    lu, pivots, _ = _factor("linalg.lu", A, pivot, False)
    return K.lu_parts(lu, pivots)


def _unpack_back(F: Any, g: Any, LU_data_shape: Any, unpack_data: Any) -> Any:
    gL, gU = g
    m, n = LU_data_shape[-2:]
    if not unpack_data:
        return F.new_zeros(gL, LU_data_shape)
    gL, gU = F.tril(gL, -1), F.triu(gU)
    if m < n:  # gL has as many columns as there are rows
        gL = F.cat([gL, F.new_zeros(gL, (*LU_data_shape[:-1], n - m))], -1)
    elif m > n:
        gU = F.cat([gU, F.new_zeros(gU, (*LU_data_shape[:-2], m - n, n))], -2)
    return gL + gU


@operator(grad=dict(LU_data=_unpack_back), outputs=("P", "L", "U"), nondifferentiable=("P",), places=("torch",),
    layout="rows")
def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data=True, unpack_pivots=True):
    """``(P, L, U)`` from the packed form of ``lu_factor``."""
    if LU_pivots.dtype != np.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by torch.linalg.lu_factor")
    nothing = new_filled(LU_data, np.zeros, 0, LU_data.dtype)
    if not unpack_data:
        P = permuter(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else nothing
        return P, nothing, nothing.copy()
    P, L, U = K.lu_parts(LU_data, LU_pivots)
    return P if unpack_pivots else nothing, L, U


def _lu_solve_back(F: Any, g: Any, needs: Any, LU: Any, pivots: Any, result: Any, left: Any, adjoint: Any) -> Any:
    """With ``A = P @ L @ U`` and the gradient ``-V @ W.mH`` of ``A``."""
    gB = F.linalg_lu_solve(LU, pivots, g, left=left, adjoint=not adjoint)
    if not needs[0]:
        return None, gB
    V, W = (gB, result) if left else (mH(F, result), mH(F, gB))
    if adjoint:
        V, W = W, V
    P, L, U = F.lu_unpack(LU, pivots)
    V = F.matmul(mT(P), V)
    below = F.tril(F.matmul(V, mH(F, F.matmul(U, W))), -1)
    return -below - F.triu(F.matmul(F.matmul(mH(F, L), V), mH(F, W))), gB


@operator(grad=_lu_solve_back, wrt=("LU", "B"), keeps={"result": ("LU",)}, wirtinger=True, layout="columns")
def linalg_lu_solve(LU: Array, pivots: Array, B: Array, *, left=True, adjoint=False):
    """``A @ X = B`` from the packed LU factors of ``A``; ``adjoint``: ``A.mH``; ``left=False``: ``X @ A = B``."""
    check_sides("torch.linalg.lu_solve", LU)
    if pivots.shape[-1:] != LU.shape[-1:]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots "
            f"with shape {list(pivots.shape)} instead")
    check_alike("linalg.lu_solve: ", LU=LU.dtype, B=B.dtype)
    factors, X = kernels.together(LU, B if left else B.mT)
    pivots = np.broadcast_to(pivots, factors.shape[:-1]) if factors is not LU else pivots
    turned = adjoint == left  # X @ A = B is A.T @ X.T = B.T
    if adjoint and LU.dtype.kind == "c":
        return _lu_solved(factors, pivots, X.conj(), turned, left).conj()
    return _lu_solved(factors, pivots, X, turned, left)


def _lu_solved(LU: Any, pivots: Any, B: Any, turned: bool, left: bool) -> Any:
    X = K.lu_solve(LU, pivots, B, turned)
    return X if left else X.mT


@legacy
def lu_solve(F, b, LU_data, LU_pivots):
    """``X`` with ``A @ X = b`` from the packed LU factors of ``A``."""
    return F.linalg_lu_solve(LU_data, LU_pivots, b)


# -- Cholesky ---------------------------------------------------------------------------------------------------------


def cholesky_back(F: Any, g: Any, L: Any, upper: Any) -> Any:
    """Hermitian, as if the whole matrix had been read: half of ``L^-H P L^-1`` with ``P`` the triangle mirrored."""
    if upper:
        g, L = mH(F, g), mH(F, L)
    low = F.tril(F.matmul(mH(F, L), g))
    middle = (low + mH(F, F.tril(low, -1))) * 0.5
    middle = F.linalg_solve_triangular(mH(F, L), middle, upper=True)
    return F.linalg_solve_triangular(L, middle, upper=False, left=False)


def push_cholesky(F: Any, t: Any, L: Any, upper: Any) -> Any:
    """As if the whole matrix and tangent were read: ``L P``, ``P`` the lower half of ``L^-1 t L^-H``. Murray, 2016."""
    L = mH(F, L) if upper else L
    middle = F.linalg_solve_triangular(L, t, upper=False)
    middle = F.linalg_solve_triangular(mH(F, L), middle, upper=True, left=False)
    found = F.matmul(L, (F.tril(middle) + F.tril(middle, -1)) / 2)
    return mH(F, found) if upper else found


def _cholesky(name: str, A: Any, upper: bool, check: bool, kind: str = "linalg.cholesky") -> tuple[Any, Any]:
    check_square(kind, A)
    factor, info = K.cholesky(A, upper)
    if check and info.any():
        where, k = element(info)
        raise LinAlgError(f"{name}: {where}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {k} is not positive-definite).")
    return factor, info


@operator(grad=dict(A=lambda F, g, result, upper: cholesky_back(F, g, result, upper)), wirtinger=True,
    node="LinalgCholeskyExBackward0", push=lambda F, t, result, upper: push_cholesky(F, t, result, upper),
    layout="columns")
def linalg_cholesky(A: Array, *, upper=False):
    """``L`` with ``A = L @ L.mH`` (``upper``: ``A = U.mH @ U``); ``LinAlgError`` where ``A`` is not positive definite.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    return _cholesky("linalg.cholesky", A, upper, True)[0]


@operator(grad=dict(A=lambda F, g, L, upper: cholesky_back(F, g, L, upper)), wirtinger=True, outputs=("L", "info"),
    nondifferentiable=("info",), push=lambda F, t, L, upper: push_cholesky(F, t, L, upper), layout=("columns",))
def linalg_cholesky_ex(A: Array, *, upper=False, check_errors=False):
    """``(L, info)``; ``info`` is the order of the minor that is not positive, 0 if all are, instead of an error."""
    return _cholesky("linalg.cholesky_ex", A, upper, check_errors)


@operator(grad=dict(input=lambda F, g, result, upper: cholesky_back(F, g, result, upper)), wirtinger=True,
    places=("torch", "Tensor"), layout="columns")
def cholesky(input: Array, upper=False):
    """``linalg.cholesky`` under its old name."""
    if not input.size:
        return input.copy()  # of any shape
    return _cholesky("cholesky", input, upper, True, "cholesky")[0]


def _through_factor(F: Any, common: Any, L: Any, upper: Any) -> Any:
    """From the gradient of ``A = L @ L.mH`` to that of ``L``: of the whole matrix, as if both triangles were read."""
    common = common + mH(F, common)
    return -F.matmul(L, common) if upper else -F.matmul(common, L)


def _cholesky_solve_back(F: Any, g: Any, needs: Any, L: Any, result: Any, upper: Any) -> Any:
    gb = F.cholesky_solve(g, L, upper)
    return gb, _through_factor(F, F.matmul(gb, mH(F, result)), L, upper) if needs[1] else None


@operator(grad=_cholesky_solve_back, wrt=("input", "L"), keeps={"result": ("L",)}, wirtinger=True,
    places=("torch", "Tensor"), layout="columns")
def cholesky_solve(input: Array, L: Array, upper=False):
    """``X`` with ``A @ X = input`` from the Cholesky factor ``L`` of ``A``; batches broadcast."""
    if input.ndim < 2 or L.ndim < 2:
        name, x = ("b", input) if input.ndim < 2 else ("u", L)
        raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    if L.shape[-1] != L.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {L.shape[-2]} by {L.shape[-1]} "
            "matrices")
    if input.shape[-2] != L.shape[-1]:
        raise RuntimeError(f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by "
            f"{L.shape[-1]} but each b matrix is {input.shape[-2]} by {input.shape[-1]}")
    check_alike("", ".", b=input.dtype, A=L.dtype)
    back = L.conj().mT
    first, second = (back, L) if upper else (L, back)
    return kernels.solve_triangular(second, kernels.solve_triangular(first, input), True)


@operator(grad=dict(
        L=lambda F, g, L, result, upper: _through_factor(F, F.matmul(result, F.matmul(g, result)), L, upper)),
    wirtinger=True, places=("torch", "Tensor"), layout="columns")
def cholesky_inverse(L: Array, upper=False):
    """The inverse of ``A`` from its Cholesky factor ``L``."""
    check_square("cholesky_inverse", L)
    part = kernels.solve_triangular(L, np.broadcast_to(np.eye(L.shape[-1], dtype=L.dtype), L.shape), upper)
    return part @ part.conj().mT if upper else part.conj().mT @ part


# -- inverses of tensors ----------------------------------------------------------------------------------------------


@composite
def linalg_tensorinv(F, A, ind=2):
    """The inverse for ``tensordot(.., ind)``: ``A`` as a square matrix of its first ``ind`` dimensions by the rest."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    n, m = prod(first), prod(last)
    if n != m:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {m} != {n}")
    return F.reshape(F.linalg_inv(F.reshape(A, (n, m))), (*last, *first))


@composite
def linalg_tensorsolve(F, A, B, dims=None):
    """``X`` with ``tensordot(A, X, X.ndim) = B``; ``dims`` of ``A`` are moved to its end first."""
    if dims is not None:
        dims = (dims,) if isinstance(dims, int) else tuple(dims)
        A = F.movedim(A, dims, tuple(range(-len(dims), 0)))
    rest = tuple(A.shape[B.ndim :])
    n, m = prod(A.shape[: B.ndim]), prod(rest)
    if n != m:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {m} != {n}")
    return F.reshape(F.linalg_solve(F.reshape(A, (n, n)), F.reshape(B, (-1,))), rest)
