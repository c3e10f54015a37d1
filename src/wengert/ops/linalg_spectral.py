"""Decompositions by orthogonal matrices: SVD, eigenvalues, QR, Householder reflections.

The rules are the classical ones: Townsend 2016 (SVD), Giles 2008 (eigenvalues), Walter and Lehmann 2010 (QR). They
divide by differences of eigenvalues or singular values: where two are equal, the vectors have no derivative.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import new_filled
from ..arrays.errors import LinAlgError
from .linalg_solve import check_matrix, check_square, element, mH
from .operator import Array, family

operator, composite = family("linalg")
_, legacy = family("torch", "Tensor")


def nothing(F: Any, g: Any) -> bool:
    """Whether a gradient is constantly zero: of an unused output."""
    if g is None:
        return True
    return not g.any() if F.raw else not g.requires_grad and F.every(g == 0)


def _eye(F: Any, like: Any, plus: float = 0, times: float = 1) -> Any:
    """``plus`` and ``times`` the identity of as many columns as ``like`` has, in its real type."""
    d = F.dtype_of(like)
    return F.constant(_identity(like.shape[-1], d.char.lower() if d.kind == "c" else d.char, plus, times))


@lru_cache(64)
def _small_identity(n: int, d: str, plus: float, times: float) -> Any:
    one = np.eye(n, dtype=d)
    found = plus + one * one.dtype.type(times)
    found.flags.writeable = False
    return found


def _identity(n: int, d: str, plus: float, times: float) -> Any:
    return (_small_identity if n <= 64 else _small_identity.__wrapped__)(n, d, plus, times)


def _gaps(F: Any, x: Any, like: Any) -> Any:
    """The differences of the numbers ``x``, to divide by: one for that of a number and itself."""
    return F.unsqueeze(x, -2) - F.unsqueeze(x, -1) + _eye(F, like)


def _phase(F: Any, middle: Any, name: str, what: str) -> None:
    """Refuse a loss that depends on the phase of complex vectors, which a decomposition leaves open."""
    if not F.raw:
        return
    turn = np.diagonal(middle.imag, 0, -2, -1)
    if not np.allclose(turn, 0, rtol=1e-2, atol=1e-2):
        raise RuntimeError(f"{name}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. "
            "The specified loss function depends on this quantity, so it is ill-defined.")


# -- singular values --------------------------------------------------------------------------------------------------


def svd_back(F: Any, gU: Any, gS: Any, gVh: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient through the reduced decomposition; None for an unused output."""
    if gU is None and gVh is None:
        if U.shape[-2] >= Vh.shape[-1]:  # the smaller one of both is scaled
            return F.matmul(U, F.unsqueeze(gS, -1) * Vh)
        return F.matmul(U * F.unsqueeze(gS, -2), Vh)
    gU = F.new_zeros(U, tuple(U.shape)) if gU is None else gU
    gVh = F.new_zeros(Vh, tuple(Vh.shape)) if gVh is None else gVh
    turn_u, turn_v = F.matmul(mH(F, U), gU), F.matmul(Vh, mH(F, gVh))
    if F.is_complex(U):
        _phase(F, turn_u + turn_v, "svd_backward", "singular vectors")
    gap = _gaps(F, S * S, S)
    skew_u, skew_v = turn_u - mH(F, turn_u), turn_v - mH(F, turn_v)
    row, column = F.unsqueeze(S, -2), F.unsqueeze(S, -1)
    middle = (skew_u / gap) * row + column * (skew_v / gap)
    if gS is not None:
        middle = middle + F.diag_embed(gS)
    if F.is_complex(U):  # what is left of the phase: the imaginary diagonal
        phase = F.imag(F.diagonal(turn_u, 0, -2, -1)) / S
        middle = middle + F.diag_embed(F.complex(F.new_zeros(S, tuple(S.shape)), phase))
    out = F.matmul(U, F.matmul(middle, Vh))
    if U.shape[-2] > S.shape[-1]:  # the part of gU outside the range of U
        outside = gU / row
        out = out + F.matmul(outside - F.matmul(U, F.matmul(mH(F, U), outside)), Vh)
    if Vh.shape[-1] > S.shape[-1]:
        outside = gVh / column
        out = out + F.matmul(U, outside - F.matmul(F.matmul(outside, mH(F, Vh)), Vh))
    return out


def _svd_rule(F: Any, g: Any, U: Any, S: Any, Vh: Any) -> Any:
    gU, gS, gVh = (None if nothing(F, x) else x for x in g)
    k = S.shape[-1]
    if U.shape[-1] > k or Vh.shape[-2] > k:  # the vectors that complete the square ones are not unique
        columns, rows = (..., slice(None, k)), (..., slice(None, k), slice(None))
        U, Vh = F.basic_index(U, columns), F.basic_index(Vh, rows)
        gU, gVh = None if gU is None else F.basic_index(gU, columns), None if gVh is None else F.basic_index(gVh, rows)
    if gU is None and gS is None and gVh is None:
        gS = F.new_zeros(S, tuple(S.shape))
    return svd_back(F, gU, gS, gVh, U, S, Vh)


def svd(A: Any, full: bool, vectors: bool = True) -> Any:
    """``(U, S, Vh)``. PyTorch's LAPACK refuses NaN, and gives NaN for one with infinities; others may never end."""
    try:
        found = K.singular(A, 2 if full else int(vectors))
    except np.linalg.LinAlgError as e:
        raise LinAlgError("linalg.svd: The algorithm failed to converge because the input matrix is ill-conditioned or "
            "has too many repeated singular values.") from e
    if found is not None:
        S, U, Vh = found
        return U, S, Vh
    lost, bad = np.isnan(A).any((-2, -1)), np.isinf(A).any((-2, -1))
    if lost.any():
        where, _ = element(lost.astype(np.int32))
        raise LinAlgError(f"linalg.svd: {where}The algorithm failed to converge because the input matrix contained "
            "non-finite values.")
    found = svd(np.where(bad[..., None, None], 0, A), full)
    return tuple(np.where(bad.reshape(bad.shape + (1,) * (x.ndim - bad.ndim)), np.nan, x).astype(x.dtype)
        for x in found)


@operator(grad=dict(A=_svd_rule), wirtinger=True, undefined=True, outputs=("U", "S", "Vh"), shows=("full_matrices",),
    layout=("columns", None, "columns"))
def linalg_svd(A: Array, full_matrices=True, *, driver=None):
    """``(U, S, Vh)`` with ``A = U @ diag(S) @ Vh``, singular values in descending order.

    Shapes: ``(..., m, n) -> (..., m, m), (..., k), (..., n, n)``, ``k = min(m, n)``; without ``full_matrices`` the
    vectors are ``(..., m, k)`` and ``(..., k, n)``.

    >>> torch.linalg.svd(torch.tensor([[0.0, 2.0], [3.0, 0.0]])).S
    tensor([3., 2.])
    """
    check_matrix("linalg.svd", A)
    _no_driver(driver)
    return tuple(svd(A, full_matrices))


def _no_driver(driver: Any) -> None:
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend.")


def _svdvals_back(F: Any, g: Any, A: Any) -> Any:
    U, _, Vh = F.linalg_svd(A, False)
    return F.matmul(U * F.unsqueeze(g, -2), Vh)


@operator(grad=dict(A=_svdvals_back), wirtinger=True, node="LinalgSvdBackward0", places=())
def singular_values(A: Array):
    """Those of ``linalg_svdvals``, where no derivative is needed."""
    check_matrix("linalg.svd", A)
    return svd(A, False, False)[1]


@composite
def linalg_svdvals(F, A, *, driver=None):
    """The singular values in descending order, ``(..., m, n) -> (..., min(m, n))``."""
    _no_driver(driver)
    return F.linalg_svd(A, False)[1] if F.followed(A) else F.singular_values(A)


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def eigh(A: Any, UPLO: Any, vectors: bool) -> Any:
    check_square("linalg.eigh", A)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    upper, n = UPLO.upper() == "U", A.shape[-1]
    bad, lost = np.zeros(A.shape[:-2], bool), np.zeros(A.shape[:-2], np.int32)
    try:
        found = K.symmetric(A, upper, vectors)
        if found is None:
            read = np.triu(A) if upper else np.tril(A)
            bad = ~np.isfinite(read).all((-2, -1))
            if n > 2:  # then the iteration of PyTorch's LAPACK does not end, unless only the diagonal is infinite
                fatal = np.isnan(read) | (np.isinf(read) & ~np.eye(n, dtype=bool))
                lost = np.where(fatal.any((-2, -1)), n - 1 if vectors else n - 2, 0)
            if not lost.any():
                found = K.symmetric(np.where(bad[..., None, None], 0, read), upper, vectors)
    except np.linalg.LinAlgError:
        lost = np.full((), max(n - 1, 1))
    if lost.any():
        where, code = element(lost)
        raise LinAlgError(f"linalg.eigh: {where}The algorithm failed to converge because the input matrix is "
            f"ill-conditioned or has too many repeated eigenvalues (error code: {code}).")
    values, found_vectors = found
    if bad.any():
        values = np.where(bad[..., None], np.nan, values).astype(A.real.dtype)
    return (values, found_vectors) if vectors else values


def _eigh_rule(F: Any, g: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    gL, gV = g
    V = eigenvectors
    if gL is not None and nothing(F, gV):
        return F.matmul(V * F.unsqueeze(gL, -2), mH(F, V))
    turn = F.matmul(mH(F, V), gV)
    if F.is_complex(V):
        _phase(F, turn, "linalg_eigh_backward", "eigenvectors")
    middle = (turn - mH(F, turn)) / 2 / _gaps(F, eigenvalues, V)
    middle = middle if gL is None else middle + F.diag_embed(gL)
    return F.matmul(V, F.matmul(middle, mH(F, V)))


def _push_eigh(F: Any, t: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    """As if the whole tangent had been read, whatever its other triangle is."""
    V = eigenvectors
    turn = F.matmul(F.matmul(mH(F, V), t), V)
    moved = F.diagonal(turn, 0, -2, -1)
    turn = turn / _gaps(F, eigenvalues, V) * (1 - _eye(F, V))
    return F.real(moved) if F.is_complex(moved) else moved, F.matmul(V, turn)


@operator(grad=dict(A=_eigh_rule), push=_push_eigh, wirtinger=True, undefined=True,
    outputs=("eigenvalues", "eigenvectors"), layout=(None, "columns"))
def linalg_eigh(A: Array, UPLO="L"):
    """Eigenvalues in ascending order and eigenvectors (columns) of Hermitian matrices, of which one triangle is read.

    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return tuple(eigh(A, UPLO, True))


def _eigvalsh_back(F: Any, g: Any, A: Any, UPLO: Any) -> Any:
    V = F.linalg_eigh(A, UPLO)[1]
    return F.matmul(V * F.unsqueeze(g, -2), mH(F, V))


@operator(grad=dict(A=_eigvalsh_back), wirtinger=True, node="LinalgEighBackward0", places=())
def hermitian_values(A: Array, UPLO):
    """Those of ``linalg_eigvalsh``, where no derivative is needed."""
    return eigh(A, UPLO, False)


@composite
def linalg_eigvalsh(F, A, UPLO="L"):
    """The eigenvalues of Hermitian matrices in ascending order, ``(..., n, n) -> (..., n)``."""
    return F.linalg_eigh(A, UPLO)[0] if F.followed(A) else F.hermitian_values(A, UPLO)


def _eig_rule(F: Any, g: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    """With the normalisation of the vectors to length one taken into account."""
    gL, gV = g
    L, V = eigenvalues, eigenvectors
    back = mH(F, V)
    if nothing(F, gV):
        return F.linalg_solve(back, F.unsqueeze(gL, -1) * back)
    turn = F.matmul(back, gV)
    _phase(F, turn, "linalg_eig_backward", "eigenvectors")
    along = F.diag_embed(F.diagonal(F.real(turn), 0, -2, -1))
    middle = turn - F.matmul(F.matmul(back, V), F.complex(along, F.new_zeros(along, tuple(along.shape))))
    middle = middle / F.conj(_gaps(F, L, V)) * (1 - _eye(F, V)) + F.diag_embed(gL)
    return F.linalg_solve(back, F.matmul(middle, back))


def _eig(A: Any, vectors: bool) -> Any:
    check_square("linalg.eig", A)
    found = K.eigen(A, vectors)
    if found is None:
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return found if vectors else found[0]


@operator(grad=dict(A=_eig_rule), wirtinger=True, outputs=("eigenvalues", "eigenvectors"), layout=(None, "columns"))
def linalg_eig(A: Array):
    """Eigenvalues and eigenvectors (columns of length one) of square matrices, complex, in no particular order."""
    return _eig(A, True)


def _eigvals_back(F: Any, g: Any, A: Any) -> Any:
    back = mH(F, F.linalg_eig(A)[1])
    return F.linalg_solve(back, F.unsqueeze(g, -1) * back)


@operator(grad=dict(A=_eigvals_back), wirtinger=True, node="LinalgEigBackward0")
def linalg_eigvals(A: Array):
    """The eigenvalues of square matrices, always complex, in no particular order."""
    return _eig(A, False)


# -- QR ---------------------------------------------------------------------------------------------------------------


def _qr_rule(F: Any, g: Any, A: Any, Q: Any, R: Any, mode: Any) -> Any:
    gQ, gR = g
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.")
    m, n = A.shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if m >= n:
        return _qr_tall(F, gQ, gR, Q, R)
    # A = [A1 A2] = Q [R1 R2]: A1 = Q R1 is square, and A2 reaches R2 = Q^H A2 by itself and through Q
    head, tail = (..., slice(None, m)), (..., slice(m, None))
    gR2 = F.basic_index(gR, tail)
    gQ = gQ + F.matmul(F.basic_index(A, tail), mH(F, gR2))
    first = _qr_tall(F, gQ, F.basic_index(gR, head), Q, F.basic_index(R, head))
    return F.cat([first, F.matmul(Q, gR2)], -1)


def _qr_tall(F: Any, gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    high = F.triu(F.matmul(gR, mH(F, R)) - F.matmul(mH(F, Q), gQ))
    middle = (high + mH(F, high)) * _eye(F, R, 1, -0.5)
    return F.linalg_solve_triangular(mH(F, R), gQ + F.matmul(Q, middle), upper=False, left=False)


@operator(grad=dict(A=_qr_rule), wirtinger=True, outputs=("Q", "R"), layout="columns")
def linalg_qr(A: Array, mode="reduced"):
    """``(Q, R)`` with ``A = Q @ R``, orthonormal columns and an upper triangle.

    ``mode``: "reduced" ``(..., m, k), (..., k, n)``, "complete" ``(..., m, m), (..., m, n)``, "r" (an empty ``Q``).
    """
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
            "'complete'")
    if mode == "r":
        return new_filled(A, np.zeros, 0, A.dtype), np.triu(K.orthogonal(A, 2)[0][..., : min(A.shape[-2:]), :])
    return K.orthogonal(A, int(mode == "complete"))


def _no_packed_qr(F: Any, g: Any) -> Any:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


@operator(grad=dict(input=_no_packed_qr), outputs=("a", "tau"), places=(), node="GeqrfBackward0", layout=("columns",))
def packed_qr(input: Array):
    """``geqrf``: the upper triangle of R with the reflections below it, and their factors."""
    check_matrix("torch.geqrf", input, "input")
    return K.orthogonal(input, 2)


@composite(node="LinalgHouseholderProductBackward0", whole=("input", "tau"), layout="columns")
def linalg_householder_product(F, input, tau):
    """The first columns of the product of the reflections ``1 - tau[i] * v_i @ v_i.mH``, ``v_i`` below the diagonal of
    column i.

    Shapes: ``(..., m, n), (..., k) -> (..., m, n)`` with ``m >= n >= k``.
    """
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    m, n = input.shape[-2:]
    if m < n:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{tau.ndim} and input.ndim is equal to {input.ndim}")
    if tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])}")
    kinds = [dt.scalar_name(F.dtype_of(x)) for x in (tau, input)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(f"{name}: tau dtype {kinds[0]} does not match input dtype {kinds[1]}")
    # zeros with an edge to the input, so that the result of no reflections has a gradient, too
    zeros = F.masked_fill(input, F.constant(np.ones((), bool)), 0)
    start = zeros + F.constant(np.eye(m, n, dtype=F.dtype_of(input)))
    v = _directions(F, input, tau)
    return start - _taken_away(F, v, tau, F.narrow(mH(F, v), -1, 0, n), False)


def _directions(F: Any, input: Any, tau: Any) -> Any:
    """The columns ``v_i`` of the reflections: one on the diagonal, zero above it."""
    m, k = input.shape[-2], tau.shape[-1]
    return F.tril(F.narrow(input, -1, 0, k), -1) + F.constant(np.eye(m, k, dtype=F.dtype_of(input)))


def _taken_away(F: Any, v: Any, tau: Any, y: Any, adjoint: bool) -> Any:
    """``V T y``, where ``1 - V T V^H`` are all reflections in a row; or with ``T^H``. ``T`` is ``(1 + D S)^-1 D``;
    ``D`` has ``tau`` on its diagonal, ``S`` is ``V^H V`` above its own. Schreiber and Van Loan, 1989.
    """
    t = F.unsqueeze(tau, -1)
    inner = t * F.triu(F.matmul(mH(F, v), v), 1)
    if adjoint:
        y = F.conj(t) * F.linalg_solve_triangular(mH(F, inner), y, upper=False, unitriangular=True)
    else:
        y = F.linalg_solve_triangular(inner, t * y, upper=True, unitriangular=True)
    return F.matmul(v, y)


@legacy
def orgqr(F, input, input2):
    """``linalg.householder_product`` under its old name."""
    return F.linalg_householder_product(input, input2)


@legacy(node="OrmqrBackward0", whole=("input", "tau", "other"))
def ormqr(F, input, tau, other, left=True, transpose=False):
    """``other`` times the whole orthogonal matrix of ``householder_product`` (``transpose``: its adjoint)."""
    if input.ndim < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] < tau.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    kind, *others = (dt.scalar_name(F.dtype_of(x)) for x in (input, tau, other))
    for what, found in zip(("tau", "other"), others):
        if found != kind:
            raise RuntimeError(f"torch.ormqr: Expected input and {what} to have the same dtype, but input has "
                f"dtype{kind} and {what} has dtype {found}")
    adjoint = transpose == left  # X @ Q is (Q.mH @ X.mH).mH
    x, v = other if left else mH(F, other), _directions(F, input, tau)
    found = x - _taken_away(F, v, tau, F.matmul(mH(F, v), x), adjoint)
    return found if left else F.resolve_conj(mH(F, found))
