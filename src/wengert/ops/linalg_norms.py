"""Norms of vectors and matrices, distances between them."""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, in_rows
from ..arrays.plain.distances import ABSOLUTE, LARGEST, POWER, SQUARE, UNEQUAL
from ..arrays.reduce import add_up, in_doubles, wide_type
from .errors import common_shape
from .linalg_solve import check_sides
from .matmul import product
from .operator import Array, family
from .pointwise import sub
from .reduce import restored
from .refusals import inexact, same_width
from .views import axis, dims_of

if TYPE_CHECKING:
    from .steps import Steps

operator, composite = family("linalg")


# -- vectors ----------------------------------------------------------------------------------------------------------


def _kept(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape with the dimensions ``dim`` reduced to one."""
    dims = dims_of(dim, len(shape))
    return tuple(1 if i in dims else n for i, n in enumerate(shape))


def vector_norm_back(F: Any, g: Any, input: Any, result: Any, ord: Any, dim: Any) -> Any:
    """At a zero vector the gradient is zero, as in PyTorch; there is no second derivative (NaN)."""
    if F.raw:
        shape = _kept(input.shape, dim)
        g, norm = F.reshape(g, shape), F.reshape(result, shape)
    else:
        shape = tuple(input.shape)
        g, norm = (restored(F, x, shape, dim, x.ndim == len(shape)) for x in (g, result))
    if ord == 0:
        return None
    if ord == 1:
        return F.sgn(input) * g
    if abs(ord) == inf:
        size = F.abs(input)
        top = (size == norm) | (size != size)
        return F.sgn(input) * (g / F.sum(top, dim, True) * top)
    if ord == 2:
        if F.raw:  # one pass over what is large
            return F.mul(input, F.masked_fill(F.div(g, norm), F.eq(norm, 0), 0))
        return g * F.masked_fill(input / norm, norm == 0, 0)
    nothing = norm == 0
    size = F.abs(input)
    if ord > 2:
        slope = input * F.pow(size, ord - 2)
    else:
        slope = F.sgn(input) * F.pow(size, ord - 1)
        if ord < 1:
            slope = F.masked_fill(slope, size == 0, 0)
    some = F.masked_fill(norm, nothing, 1)  # so that no infinity meets a zero in the derivatives of this
    return slope * F.masked_fill(g / F.pow(some, ord - 1), nothing, 0)


@operator(grad=dict(input=vector_norm_back), wirtinger=True, shows=("keepdim",))
def linalg_vector_norm(input: Array, ord=2, dim=None, keepdim=False, *, dtype=None):
    """``sum(abs(input) ** ord) ** (1 / ord)`` of all elements or over ``dim`` (an int or several).

    ``ord`` inf and -inf give the largest and the smallest magnitude, 0 the count of nonzeros. Complex input has a real
    norm. At a zero vector the gradient is zero.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, -4.0]))
    tensor(5.)
    """
    if isinstance(ord, str) or ord is None:
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    inexact("linalg.vector_norm", input.dtype)
    if dtype is not None and dtype != input.dtype:
        _check_dtype(input.dtype, dtype)
        input = input.astype(dtype)
    axes = dims_of(dim, input.ndim)
    if not input.size and (ord < 0 or ord == inf):
        _check_identity(input, ord, dim, axes)
    wide = wide_type(input.dtype)
    if wide is not None:
        return K.cast(as_array(_norm(K.cast(input, wide), ord, axes, keepdim)), input.dtype)
    return _norm(input, ord, axes, keepdim)


def _norm(x: Any, ord: Any, axes: Any, keepdim: Any) -> Any:
    if ord == 2:
        if in_doubles(x):
            return K.norm(x, axes, keepdim)
        square = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else K.square(x)
        return K.sqrt(as_array(add_up(square, axes, keepdim)))
    size = np.absolute(x)
    if abs(ord) == inf:
        return (np.maximum if ord > 0 else np.minimum).reduce(size, axes, keepdims=keepdim)
    if ord in (0, 1):
        return np.add.reduce(size if ord else size != 0, axes, size.dtype, keepdims=keepdim)
    return np.add.reduce(size ** size.dtype.type(ord), axes, keepdims=keepdim) ** size.dtype.type(1 / ord)


def _check_dtype(d: np.dtype, wanted: np.dtype) -> None:
    if wanted.kind not in "fcVW":
        raise RuntimeError("linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{dt.scalar_name(wanted)}")
    if (d.kind == "c") != (wanted.kind == "c"):
        kind = "complex" if d.kind == "c" else "real"
        raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got "
            f"{dt.scalar_name(wanted)}")
    if dt.promote(d, wanted) != wanted:
        raise RuntimeError(f"linalg.vector_norm: the dtype of the input ({dt.scalar_name(d)}) should be convertible "
            f"without narrowing to the specified dtype ({dt.scalar_name(wanted)})")


def _check_identity(x: Any, ord: Any, dim: Any, axes: tuple[int, ...]) -> None:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the "
            "operation does not have an identity")
    for d in axes:
        if x.shape[d] == 0:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {d}because this "
                "dimension is empty and the operation does not have an identity")


# -- matrices ---------------------------------------------------------------------------------------------------------


def _matrix_plan(shape: Any, ord: Any, dim: Any, keepdim: bool) -> Steps | None:
    n = len(shape)
    if n < 2 or ord != "fro" or dim != (-2, -1):
        return None
    return (("linalg_vector_norm", 0, 2, (n - 2, n - 1), keepdim),)


@composite(plan=(("linalg_vector_norm",), _matrix_plan))
def linalg_matrix_norm(F, A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of the matrices in the plane ``dim``: ``"fro"``, ``"nuc"``, or 1, 2, inf and their negatives.

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not isinstance(dim, (tuple, list)):
        raise TypeError("linalg_matrix_norm() received an invalid combination of arguments: dim is a tuple of ints, "
            f"not {type(dim).__name__}")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = (axis(d, A.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ((isinstance(ord, str) and ord not in ("fro", "nuc"))
            or (not isinstance(ord, str) and abs(ord) not in (1, 2, inf))):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord if isinstance(ord, str) else f'{ord:g}'} not supported.")
    if ord == "fro":
        return F.linalg_vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if ord == "nuc" or abs(ord) == 2:
        x = F.movedim(A, (rows, columns), (-2, -1))
        if dtype is not None:
            x = F.cast(x, dtype)
        s = F.linalg_svdvals(x)
        norm = (F.sum(s, -1) if ord == "nuc" or (ord > 0 and not s.shape[-1]) else F.amax(s, -1) if ord > 0
            else F.amin(s, -1))
        return F.reshape(norm, _kept(A.shape, (rows, columns))) if keepdim else norm
    along, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = F.linalg_vector_norm(A, 1, along, True, dtype=dtype)
    if ord > 0 and not sums.shape[other]:
        norm = F.sum(sums, other, True)  # the largest of no sums is zero
    else:
        norm = F.amax(sums, other, True) if ord > 0 else F.amin(sums, other, True)
    return norm if keepdim else F.squeeze(norm, (rows, columns))


def _norm_plan(shape: Any, ord: Any, dim: Any, keepdim: bool) -> Steps | None:
    dims = (dim,) if isinstance(dim, int) else dim
    of_matrix = ord is not None and (isinstance(ord, str) or (dims is None and len(shape) != 1))
    if of_matrix or (dims is not None and len(dims) != 1 and (ord is not None or len(dims) != 2)):
        return None
    return (("linalg_vector_norm", 0, 2 if ord is None else ord, dims, keepdim),)


@composite(plan=(("linalg_vector_norm",), _norm_plan))
def linalg_norm(F, A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm or a matrix norm, by the number of dimensions in ``dim`` (or of ``A``, where ``ord`` is given).

    >>> torch.linalg.norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    dims = None if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and A.ndim not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.ndim}D.")
    if ord is not None and (isinstance(ord, str) or (2 if dims is None and A.ndim == 2 else len(dims or (0,))) == 2):
        return F.linalg_matrix_norm(A, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)
    return F.linalg_vector_norm(A, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


@composite
def linalg_cond(F, A, p=None):
    """The condition number ``norm(A) * norm(inv(A))`` in the norm ``p`` (None and 2: by singular values)."""
    if A.ndim < 2:
        raise RuntimeError(f"linalg.cond: The input tensor A must have at least 2 dimensions. Got {A.ndim}")
    if p is not None and p not in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if 0 in A.shape and (p not in ("fro", "nuc") or A.shape[-1] == A.shape[-2]):
        return F.new_zeros(A, tuple(A.shape[:-2]), np.empty(0, F.dtype_of(A)).real.dtype)
    if p is None or p in (2, -2):
        s = F.linalg_svdvals(A)
        top, bottom = F.narrow(s, -1, 0, 1), F.narrow(s, -1, s.shape[-1] - 1, 1)
        return F.squeeze(bottom / top if p == -2 else top / bottom, -1)
    check_sides(f"linalg.cond(ord={p})", A)
    inverse, info = F.linalg_inv_ex(A)
    found = F.linalg_matrix_norm(A, p) * F.linalg_matrix_norm(inverse, p)
    return F.masked_fill(found, (info > 0) | (found != found) if p != "nuc" else info > 0, inf)


# -- distances --------------------------------------------------------------------------------------------------------


def _dist_back(F: Any, g: Any, needs: Any, input: Any, other: Any, result: Any, p: Any) -> Any:
    first = vector_norm_back(F, g, input - other, result, p, None)
    return first, None if first is None or not needs[1] else -first


@operator(grad=_dist_back, wrt=("input", "other"), wirtinger=True, places=("torch", "Tensor"), layout="rows")
def dist(input: Array, other: Array, p=2):
    """The ``p``-norm of ``input - other``, which broadcast."""
    away = sub.forward(input, other, alpha=1)
    if away.dtype.kind in "iu":
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
            f"{dt.scalar_name(away.dtype)} instead.")
    return linalg_vector_norm.forward(away, p)


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@composite(places=("torch",), node="CdistBackward0", whole=("x1", "x2"), layout="channels")
def cdist(F, x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The ``p``-norm distance of every row of ``x1`` to every row of ``x2``.

    Shapes: ``(..., P, M), (..., R, M) -> (..., P, R)``, batches broadcast.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5., 10.]])
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
        if F.dtype_of(x).kind not in "fV":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: "
                f"{dt.scalar_name(F.dtype_of(x))}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode is not None and compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if not x1.shape[-1]:  # points without coordinates, of whatever type
        return F.unequal(F.unsqueeze(x1, -2) - F.unsqueeze(F.cast(x2, F.dtype_of(x1)), -3))
    same_width(F.dtype_of(x1), F.dtype_of(x2))
    if p == 2:
        many = x1.shape[-2] > 25 or x2.shape[-2] > 25
        return F.euclidean_cdist(x1, x2, compute_mode == _MODES[1] or (compute_mode != _MODES[2] and many))
    if F.dtype_of(x1).char in "fd":
        return F.row_distances(x1, x2, float(p))
    return _length(F, F.unsqueeze(x1, -2) - F.unsqueeze(x2, -3), p)


_FEW = 1 << 13  # of so many numbers the gradient's powers are native; of more those of arrays, by vectors, are faster
_KINDS = {0: UNEQUAL, 1: ABSOLUTE, 2: SQUARE, inf: LARGEST}


def _shared_batch(x1: Any, x2: Any) -> Any:
    """Two stacks of matrices, broadcast to a common batch."""
    if x1.shape[:-2] == x2.shape[:-2]:
        return x1, x2
    batch = common_shape(x1.shape[:-2], x2.shape[:-2])
    return tuple(in_rows(np.broadcast_to(x, (*batch, *x.shape[-2:]))) for x in (x1, x2))


def _divided(F: Any, g: Any, result: Any, kind: int, p: float) -> Any:
    """The incoming gradient of distances by what all numbers of two rows share of the derivative."""
    if kind not in (SQUARE, POWER):
        return g
    nothing = result == 0
    some = F.masked_fill(result, nothing, 1)
    return F.masked_fill(g / (some if kind == SQUARE else F.pow(some, p - 1)), nothing, 0)


def _shares(F: Any, g: Any, gap: Any, result: Any, p: Any) -> Any:
    """The gradient of distances in the gaps between rows; of each number that is farthest all of it."""
    kind = _KINDS.get(p, POWER)
    if kind == POWER:
        return vector_norm_back(F, g, gap, result, p, -1)
    g = F.unsqueeze(_divided(F, g, result, kind, p), -1)
    if kind != SQUARE:
        gap = F.sgn(gap) * (F.abs(gap) == F.unsqueeze(result, -1)) if kind == LARGEST else F.sgn(gap)
    return gap * g


def _row_distances_back(F: Any, g: Any, needs: Any, x1: Any, x2: Any, result: Any, p: Any) -> Any:
    kind = _KINDS.get(p, POWER)
    if kind == UNEQUAL:
        return F.new_zeros(g, x1.shape), F.new_zeros(g, x2.shape)
    if F.raw and (kind != POWER or result.size * x1.shape[-1] <= _FEW):
        g = in_rows(_divided(F, g, result, kind, p))
        x1, x2 = _shared_batch(in_rows(x1), in_rows(x2))
        return (K.distances_grad(x1, x2, g, result, kind, False, p) if needs[0] else None,
            K.distances_grad(x2, x1, g, result, kind, True, p) if needs[1] else None)
    share = _shares(F, g, F.unsqueeze(x1, -2) - F.unsqueeze(x2, -3), result, p)
    return F.sum(share, -2), F.neg(F.sum(share, -3))


@operator(grad=_row_distances_back, wrt=("x1", "x2"), node="CdistBackward0", places=(), layout="rows")
def row_distances(x1: Array, x2: Array, p):
    """Distances of rows of float32 or float64 without products of them."""
    return K.distances(*_shared_batch(in_rows(x1), in_rows(x2)), _KINDS.get(p, POWER), p)


def _row_pairs_back(F: Any, g: Any, input: Any, result: Any, p: Any) -> Any:
    kind = _KINDS.get(p, POWER)
    if kind == UNEQUAL:
        return F.new_zeros(g, input.shape)
    if F.raw and (kind != POWER or result.size * input.shape[-1] <= _FEW):
        return K.pair_distances_grad(in_rows(input), in_rows(_divided(F, g, result, kind, p)), result, kind, p)
    first, second = _pairs(F, input)
    share = _shares(F, g, F.index_select(input, -2, first) - F.index_select(input, -2, second), result, p)
    nothing = F.new_zeros(share, input.shape)
    return F.index_add(F.index_add(nothing, -2, first, share), -2, second, -share)


@operator(grad=dict(input=_row_pairs_back), node="PdistBackward0", places=(), layout="rows")
def row_pairs(input: Array, p):
    """Distances of each row of float32 or float64 to those after it."""
    return K.pair_distances(in_rows(input), _KINDS.get(p, POWER), p)


def _pairs(F: Any, input: Any) -> Any:
    """The places of the first and of the second row of each pair."""
    n = input.shape[-2]
    return tuple(map(F.constant, K.triangle_places(n, 1, n, False)))


def _length(F: Any, gap: Any, p: Any) -> Any:
    if p == 0:
        return F.unequal(gap)
    return F.farthest(gap) if p == inf and gap.shape[-1] else F.linalg_vector_norm(gap, p, -1)


@operator(grad=dict(input=lambda F, g, input_shape: F.new_zeros(g, input_shape)), places=())
def unequal(input: Array):
    """The number of coordinates that differ."""
    return np.count_nonzero(input, -1).astype(input.dtype)


def _farthest_back(F: Any, g: Any, input: Any, result: Any) -> Any:
    """Unlike that of a norm, this gradient is not shared: every coordinate that is as far has all of it."""
    return F.sgn(input) * (F.abs(input) == F.unsqueeze(result, -1)) * F.unsqueeze(g, -1)


@operator(grad=dict(input=_farthest_back), places=())
def farthest(input: Array):
    """The largest distance of a coordinate."""
    return np.abs(input).max(-1)


def _euclidean_back(F: Any, g: Any, needs: Any, x1: Any, x2: Any, result: Any) -> Any:
    """``sum_j (x1_i - x2_j) * g_ij / d_ij``, with the sum over j as a matrix product."""
    nothing = result == 0
    weight = F.masked_fill(g / F.masked_fill(result, nothing, 1), nothing, 0)
    back = F.transpose(weight, -1, -2)
    return (x1 * F.sum(weight, -1, True) - F.matmul(weight, x2) if needs[0] else None,
        x2 * F.sum(back, -1, True) - F.matmul(back, x1) if needs[1] else None)


@operator(grad=_euclidean_back, wrt=("x1", "x2"), node="CdistBackward0", places=(), layout="rows")
def euclidean_cdist(x1: Array, x2: Array, products):
    """Euclidean distances of rows; ``products``: by ``|a|^2 - 2ab + |b|^2``, faster but less exact for close points."""
    if not products or x1.shape[-1] == 0:
        return K.distances(*_shared_batch(in_rows(x1), in_rows(x2)), SQUARE)
    # of one product: the coordinates' and with the squares
    left, right = K.beside_squares(in_rows(x1), -2, True), K.beside_squares(in_rows(x2), 1, False)
    return K.roots(product(left, right.swapaxes(-1, -2)))


@composite(places=("torch", "functional"), plan=(("row_pairs",),
    lambda shape, kind, p=2.0: (("row_pairs", 0, float(p)),) if len(shape) == 2 and kind in "fd" and p >= 0 else None,
    "kind"))
def pdist(F, input, p=2.0):
    """The ``p``-norm distances of all pairs of rows, ``(N, M) -> (N (N - 1) / 2,)``: a triangle of ``cdist``."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if F.dtype_of(input).kind not in "fV":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if F.dtype_of(input).char in "fd":
        return F.row_pairs(input, float(p))
    first, second = _pairs(F, input)
    return _length(F, F.index_select(input, 0, first) - F.index_select(input, 0, second), p)


def _trilinear_back(F: Any, g: Any, needs: Any, i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any,
        sumdim: Any) -> Any:
    """The product is linear in each: a gradient is such a product, summed over what the incoming gradient lacks."""
    return (F.trilinear(g, i2, i3, sumdim, expand2, expand3, expand1) if needs[0] else None,
        F.trilinear(i1, g, i3, expand1, sumdim, expand3, expand2) if needs[1] else None,
        F.trilinear(i1, i2, g, expand1, expand2, sumdim, expand3) if needs[2] else None)


@operator(grad=_trilinear_back, wrt=("i1", "i2", "i3"),
    keeps={"i1": ("i2", "i3"), "i2": ("i1", "i3"), "i3": ("i1", "i2")}, places=(), linear="each", opmath=True,
    layout="rows")
def trilinear(i1: Array, i2: Array, i3: Array, expand1, expand2, expand3, sumdim):
    """The product of three tensors, each of which broadcasts along dimensions ``expand``, summed over ``sumdim``."""
    row = [i1, i2, i3]
    lists = map(tuple, (expand1, expand2, expand3, sumdim))
    steps, order, shape = _three(i1.shape, i2.shape, i3.shape, *lists)
    for at, *sides, whole, gone in steps:
        left, right = (row[i].transpose(axes).reshape(size) for i, (axes, size) in zip(at, sides))
        found = product(left, right).reshape(whole)
        row.append(np.add.reduce(found, gone) if gone else found)
    return row[-1].transpose(order).reshape(shape)


@lru_cache(256)
def _three(shape1: Any, shape2: Any, shape3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any) -> Any:
    """Two products of matrices for one of three tensors, in the order that takes the fewest multiplications."""
    rank = len(shape1) + len(expand1)
    dims = [[d for d in range(rank) if d not in gone] for gone in (expand1, expand2, expand3)]
    kept = [d for d in range(rank) if d not in sumdim]
    length = {d: n for row, shape in zip(dims, (shape1, shape2, shape3)) for d, n in zip(row, shape)}

    def cost(last: int) -> int:
        both, third = {*dims[last - 2], *dims[last - 1]}, dims[last]
        return sum(prod([length[d] for d in row]) for row in (both, both.intersection([*kept, *third]).union(third)))

    last = min(range(3), key=cost)
    first, second = (last - 2) % 3, (last - 1) % 3
    one, left = _pair(dims[first], dims[second], [*kept, *dims[last]], length)
    two, left = _pair(left, dims[last], kept, length)
    order = [left.index(d) for d in kept if d in left]
    return (((first, second), *one), ((3, last), *two)), order, [length.get(d, 1) for d in kept]


def _pair(first: Any, second: Any, kept: Any, length: Any) -> Any:
    """How two arrays with dimensions of these numbers are matrices, their product's shape and what of it is summed."""
    batch = [d for d in first if d in second and d in kept]
    inner = [d for d in first if d in second and d not in kept]
    rows, columns = [d for d in first if d not in second], [d for d in second if d not in first]
    size = [prod([length[d] for d in row]) for row in (batch, rows, inner, columns)]
    dims, begin = batch + rows + columns, 0 if batch else 1
    left = [first.index(d) for d in batch + rows + inner], size[:3][begin:]
    right = [second.index(d) for d in batch + inner + columns], [size[0], *size[2:]][begin:]
    gone = tuple([i for i, d in enumerate(dims) if d not in kept])
    return (left, right, [length[d] for d in dims], gone), [d for d in dims if d in kept]


@composite(places=("torch", "functional"))
def bilinear(F, input1, input2, weight, bias=None):
    """``y[k] = input1 @ weight[k] @ input2 + bias[k]``.

    Shapes: ``(..., n), (..., m), (out, n, m), (out,) -> (..., out)``.
    """
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    kinds = [F.dtype_of(x) for x in (input1, input2, weight)]
    if len(set(kinds)) > 1:
        raise RuntimeError("All tensors must have the same dtype, got input1: {}, input2: {}, weight: {}".format(
            *map(dt.c_name, kinds)))
    for i, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {a} and {b}")
    for i, x in ((1, input1), (2, input2)):
        if x.shape[-1] != weight.shape[i]:
            raise RuntimeError(f"bilinear(): input{i} size does not match weight size: got {x.shape[-1]} but expected "
                f"{weight.shape[i]}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
            f"{weight.shape[0]}")
    out, n, m = weight.shape
    if not n or not m:
        raise RuntimeError("cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension "
            "size -1 can be any value")
    y = F.trilinear(F.reshape(input1, (-1, n)), weight, F.reshape(input2, (-1, m)), (1, 3), (0,), (1, 2), (2, 3))
    y = F.reshape(y, (*input1.shape[:-1], out))
    return y if bias is None else y + bias


# -- slices of limited norm --------------------------------------------------------------------------------------------


def _slices(ndim: int, dim: int) -> tuple[int, ...]:
    """The dimensions of a slice along ``dim``."""
    return tuple(i for i in range(ndim) if i != axis(dim, ndim))


def _renorm_back(F: Any, g: Any, input: Any, p: Any, dim: Any, maxnorm: Any) -> Any:
    """Where the norm is too large ``x * maxnorm / |x|``, and so the change of the norm counts too."""
    rest = _slices(input.ndim, dim)
    norm = F.linalg_vector_norm(input, p, rest, True)
    scale = F.reciprocal(norm + 1e-7)
    inner = F.sum((F.conj(input) if F.is_complex(input) else input) * g, rest, True)
    inner = F.real(inner) if F.is_complex(inner) else inner
    along = vector_norm_back(F, inner, input, norm, p, rest)
    return F.where(norm > maxnorm, scale * maxnorm * (g - scale * along), g)


@operator(grad=dict(input=_renorm_back), wirtinger=True, inplace=True, places=("torch", "Tensor"), layout="rows")
def renorm(input: Array, p, dim, maxnorm):
    """``input`` with every slice along ``dim`` whose ``p``-norm exceeds ``maxnorm`` scaled down to it."""
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    rest = _slices(input.ndim, dim)
    inexact("linalg.vector_norm", input.dtype)
    norm = _norm(input.astype(wide_type(input.dtype) or input.dtype, copy=False), p, rest, True)
    return K.multiply(input, np.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1)).astype(input.dtype, copy=False)
