"""Reordering, repeating, diagonals, triangles and blocks."""

from __future__ import annotations

from itertools import accumulate, combinations_with_replacement
from itertools import combinations as _combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, as_copy, in_rows, new_filled
from ..arrays.errors import check_countable
from ..arrays.layouts import gapless, inside_out, outside_in
from ..arrays.reduce import add_slices
from ..arrays.strides import expanded
from .errors import common_shape
from .operator import Array, Arrays, family
from .refusals import unsupported
from .shape import written
from .steps import Steps, taken
from .views import axis, dims_of, no_dimensions, unseen

if TYPE_CHECKING:
    from collections.abc import Sequence

operator, composite = family("torch", "Tensor")


# -- joining in given directions ---------------------------------------------------------------------------------------


#: The views that bring a tensor of so many dimensions (the place in a row) to as many as the key says: of three, a
#: vector lies along the second, a matrix in the first two. 0: to columns.
_GROWN: dict[int, tuple[tuple[Any, ...], ...]] = {1: ((("reshape", (1,)),),),
    2: ((("reshape", (1, 1)),), (("unsqueeze", 0),)),
    3: ((("reshape", (1, 1, 1)),), (("unsqueeze", 0), ("unsqueeze", -1)), (("unsqueeze", -1),)),
    0: ((("reshape", (-1, 1)),),) * 2}


def _views(n: int, ndim: int) -> tuple[Any, ...]:
    return _GROWN[n][ndim] if ndim < len(_GROWN[n]) else ()


def _joined(name: str, aliases: tuple[str, ...], least: int, dim_of: Any, text: str) -> None:
    def plan(shapes: Sequence[tuple[int, ...]]) -> Steps:
        steps: list[Any] = []
        places = list(range(len(shapes)))
        for i, shape in enumerate(shapes):
            for view, *how in _views(least, len(shape)):
                steps.append((view, places[i], *how))
                places[i] = len(shapes) + len(steps) - 1
        return (*steps, ("cat", places, dim_of(len(shapes[0]))))

    @composite(name=name, aliases=aliases, places=("torch",), plan=(("cat", "reshape", "unsqueeze"), plan))
    def join(F, tensors):
        if not isinstance(tensors, (list, tuple)):
            raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                f"{type(tensors).__name__}")
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        if not all(hasattr(x, "ndim") for x in tensors):
            return F.cat(tensors, 0)  # which refuses them
        if least:
            return F.cat(getattr(F, f"atleast_{least}d")(list(tensors)), dim_of(tensors[0].ndim))
        return taken(F, plan([x.shape for x in tensors]), tensors)

    join.doc = f"Tensors one after another {text}."


_joined("hstack", (), 1, lambda ndim: int(ndim > 1), "along columns (vectors end to end)")
_joined("vstack", ("row_stack",), 2, lambda ndim: 0, "along rows; vectors are rows")
_joined("dstack", (), 3, lambda ndim: 2, "along the third dimension")
_joined("column_stack", (), 0, lambda ndim: 1, "as columns")


def _at_least(n: int) -> None:
    def grow(F: Any, x: Any) -> Any:
        for view, how in _views(n, x.ndim):
            x = getattr(F, view)(x, how)
        return x

    @composite(name=f"atleast_{n}d", places=("torch",))
    def widen(F, *tensors):
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return grow(F, tensors[0])
        row = tensors[0] if len(tensors) == 1 else tensors
        return tuple(grow(F, x) for x in row)

    widen.doc = f"Each tensor with at least {n} dimension{'s' * (n > 1)}, as a view."


for _n in (1, 2, 3):
    _at_least(_n)


def _blocks(shapes: Any) -> list[tuple[slice, slice]]:
    """The keys of matrices (numbers, vectors) of ``shapes`` one after another along the diagonal."""
    sides = [(1,) * (2 - len(shape)) + tuple(shape) for shape in shapes]
    ends = [accumulate(side) for side in zip(*sides)]
    return [(slice(i - n, i), slice(j - m, j)) for (n, m), i, j in zip(sides, *ends)]


def _block_back(F: Any, g: Any, tensors_shape: Any) -> Any:
    return [F.reshape(F.basic_index(g, key), shape) for key, shape in zip(_blocks(tensors_shape), tensors_shape)]


@operator(grad=dict(tensors=_block_back), places=())
def block_diag(tensors: Arrays):
    """Matrices one after another along the diagonal, zero elsewhere."""
    for i, a in enumerate(tensors):
        if a.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{a.ndim} dimensions")
    places = _blocks([a.shape for a in tensors])
    out = new_filled(tensors[0], np.zeros, tuple(s.stop for s in places[-1]), dt.result(tensors))
    for key, a in zip(places, tensors):
        out[key] = a
    return out


# -- broadcasting together ---------------------------------------------------------------------------------------------


def several(tensors: Any) -> list[Any]:
    """``f(a, b)`` and ``f([a, b])`` alike."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


def _together(shapes: tuple[tuple[int, ...], ...]) -> Any:
    """The steps to views of their common shape."""
    shape = common_shape(*shapes)
    wider = [i for i, s in enumerate(shapes) if s != shape]
    places = [len(shapes) + wider.index(i) if i in wider else i for i in range(len(shapes))]
    return (*[("expand", i, shape) for i in wider], (None, tuple(places)))


@composite(places=("torch",), plan=(("expand",), _together))
def broadcast_tensors(F, *tensors):
    """Views of all tensors in their common shape.

    >>> a, b = torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(2))
    >>> a.shape, b.shape
    (torch.Size([3, 2]), torch.Size([3, 2]))
    """
    row = several(tensors)
    shape = common_shape(*(x.shape for x in row))
    return tuple(x if tuple(x.shape) == shape else F.expand(x, shape) for x in row)


def _meshes(shapes: tuple[tuple[int, ...], ...], indexing: Any, kinds: str) -> Any:
    """The steps to a grid's coordinates, of vectors of one type."""
    if indexing not in (None, "ij", "xy") or any(len(s) > 1 for s in shapes) or kinds != kinds[0] * len(kinds):
        return None
    n, steps, places = len(shapes), [], []
    turn = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else range(n)
    whole = tuple((shapes[i] or (1,))[0] for i in turn)
    for i, at in enumerate(turn):
        steps += [("reshape", i, tuple(whole[at] if k == at else 1 for k in range(n))),
            ("expand", n + 2 * i, whole)]
        places.append(n + 2 * i + 1)
    return (*steps, (None, tuple(places)))


def _combined(shapes: tuple[tuple[int, ...], ...], kinds: str) -> Any:
    if len(shapes) < 2 or any(len(s) != 1 for s in shapes):
        return None
    grid = _meshes(shapes, "ij", kinds)
    if grid is None:
        return None
    n = len(shapes)
    flat = [("reshape", place, (-1,)) for place in grid[-1][1]]
    return (*grid[:-1], *flat, ("stack", [3 * n + i for i in range(n)], 1))


@composite(places=("torch",), plan=(("expand", "reshape"), _meshes, "kind"))
def meshgrid(F, *tensors, indexing=None):
    """The coordinates of a grid: each vector spread over all the others' dimensions, as views.

    ``indexing="ij"`` (the default) lets the first vector run along the first dimension, ``"xy"`` along the second.

    >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
    row = several(tensors)
    if not row:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in row:
        if x.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}")
    if any(F.dtype_of(x) != F.dtype_of(row[0]) for x in row):
        raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(row) > 1
    if swap:
        row[0], row[1] = row[1], row[0]
    n = len(row)
    shape = tuple(x.shape[0] if x.ndim else 1 for x in row)
    grids = [F.expand(F.reshape(x, (1,) * i + (-1,) + (1,) * (n - i - 1)), shape) for i, x in enumerate(row)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite(places=("torch",), plan=(("expand", "reshape", "stack"), _combined, "kind"))
def cartesian_prod(F, *tensors):
    """All combinations of one element from each vector, a row each.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    row = several(tensors)
    for x in row:
        if x.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(row) == 1:
        return row[0]
    return F.stack([F.reshape(x, (-1,)) for x in F.meshgrid(*row, indexing="ij")], 1)


@composite
def combinations(F, input, r=2, with_replacement=False):
    """All subsets of ``r`` elements of a vector in order, a row each; ``with_replacement``: elements may repeat."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return F.constant(np.empty(0, F.dtype_of(input)))
    n = input.shape[0]
    if r == 2:
        places = K.triangle_places(n, 0 if with_replacement else 1, n, False)
    else:
        pick = combinations_with_replacement if with_replacement else _combinations
        places = np.array(list(pick(range(n), r)), np.int64).reshape(-1, r).T
    return F.stack([F.index_select(input, 0, F.constant(np.ascontiguousarray(row))) for row in places], 1)


# -- reordering --------------------------------------------------------------------------------------------------------


@operator(grad=dict(input=lambda F, g, dims: F.flip(g, dims)), variadic="dims", linear=True, layout="first")
def flip(input: Array, dims):
    """The elements in reverse order along ``dims``; a copy."""
    dims = (dims,) if isinstance(dims, int) else dims
    return _reversed(input, dims_of(dims, input.ndim) if len(dims) else ())


def _reversed(input: Any, axes: Any) -> Any:
    key = [slice(None)] * input.ndim
    for d in axes:
        key[d] = slice(None, None, -1)
    if type(input) is not np.ndarray or input.flags.c_contiguous or not gapless(input):
        return K.in_order(input[tuple(key)])
    out = np.empty_like(input)  # in the same order
    out[...] = input[tuple(key)]
    return out


@composite
def fliplr(F, input):
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return F.flip(input, (1,))


@composite
def flipud(F, input):
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return F.flip(input, (0,))


def _roll_back(F: Any, g: Any, shifts: Any, dims: Any) -> Any:
    return F.roll(g, -shifts if isinstance(shifts, int) else tuple(-s for s in shifts), dims)


_FEW_ROLLED = 1 << 12


@operator(grad=dict(input=_roll_back), linear=True)
def roll(input: Array, shifts, dims=()):
    """The elements moved on by ``shifts`` along ``dims``, the last to the front; without ``dims`` in row-major order.

    >>> torch.roll(torch.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return in_rows(np.roll(input, shifts[0]))
    if dims and not input.ndim:
        raise no_dimensions(dims[0])
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    dims = tuple([axis(d, input.ndim) for d in dims]) if input.ndim else ()
    if (moved := inside_out(input)) is not None:
        last = input.ndim - 1
        return outside_in(_rolled(moved, shifts, tuple([last if d == 1 else d - (d > 1) for d in dims])))
    return in_rows(_rolled(input, shifts, dims))


def _rolled(a: Array, shifts: Any, dims: tuple[int, ...]) -> Array:
    """``np.roll``; of few elements or one dimension, the two parts of each are joined, which takes fewer steps."""
    if type(a) is not np.ndarray or not a.size or not dims or (len(dims) > 1 and a.size > _FEW_ROLLED):
        return np.roll(a, shifts, dims)
    for shift, d in zip(shifts, dims):
        n = a.shape[d]
        at, before = n - shift % n, (slice(None),) * d
        parts = [a[(*before, slice(at, None))], a[(*before, slice(0, at))]]
        found = K.joined(parts, d, False)
        a = np.concatenate(parts, d) if found is None else found
    return a


@operator(grad=dict(input=lambda F, g, k, dims: F.rot90(g, -k, dims)), node="Rot90Backward0", linear=True)
def rot90(input: Array, k=1, dims=(0, 1)):
    """The elements turned by ``k`` quarters in the plane of ``dims``, from the first towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for i, d in enumerate(dims):
        if not -input.ndim <= d < input.ndim:
            raise RuntimeError(f"Rotation dim{i} out of range, dim{i} = {d}")
    k, axes = k % 4, (dims[0] % input.ndim, dims[1] % input.ndim)
    if not k or not input.flags.c_contiguous:
        return as_copy(np.rot90(input, k, axes), order="K" if k else "C")
    turned = _reversed(input, axes if k == 2 else axes[1:] if k == 1 else axes[:1])
    return turned if k == 2 else turned.swapaxes(*axes)


# -- repeating ---------------------------------------------------------------------------------------------------------


def _repeat_back(F: Any, g: Any, input_shape: Any, repeats: Any) -> Any:
    extra = len(repeats) - len(input_shape)
    sizes = [1] * extra + list(input_shape)
    apart: list[Any] = []
    added: list[int] = []
    for times, size in zip(repeats, sizes):
        if times != 1:
            added.append(len(apart))
            apart.append(times)
        apart.append(size)
    g = F.reshape(g, tuple(apart))
    if (F.raw and len(added) == 1 and 1 < apart[added[0]] <= 8 and g.dtype.kind in "fc" and g.dtype.itemsize > 2
            and g.size):
        return add_slices(g, added[0]).reshape(input_shape)
    g = F.sum(g, tuple(added)) if added else g
    return g if tuple(g.shape) == tuple(input_shape) else F.reshape(g, input_shape)


@operator(grad=dict(input=_repeat_back), variadic="repeats", places=("Tensor",), linear=True, layout="rows")
def repeat(input: Array, repeats):
    """The whole tensor ``repeats`` times along each dimension; more repeats than dimensions add some in front.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in repeats):
        shape = [n * m for n, m in zip((1,) * (len(repeats) - input.ndim) + input.shape, repeats)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    if type(input) is not np.ndarray or not len(repeats):
        return np.tile(input, tuple(repeats)) if len(repeats) else input.copy()
    sizes = (1,) * (len(repeats) - input.ndim) + input.shape
    out = np.empty([n for pair in zip(repeats, sizes) for n in pair], input.dtype)  # one copy, NumPy makes several
    out[...] = input.reshape([n for size in sizes for n in (1, size)])
    return out.reshape([n * m for n, m in zip(repeats, sizes)])


@composite
def tile(F, input, *dims):
    """``repeat`` where missing leading counts are one."""
    dims = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return F.repeat(input, (1,) * (input.ndim - len(dims)) + dims)


@operator(places=())
def repeat_places(repeats: Array, *, output_size=None):
    """``[0, 0, 1, ...]`` with each place as often as ``repeats`` says."""
    n = as_array(repeats)
    if n.dtype.name not in ("int64", "int32"):
        raise unsupported("repeat_interleave_cpu", n.dtype)
    if n.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if n.size and n.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(n.size), n)


@operator(grad=dict(input=lambda F, g, input_shape, repeats, dim: F.sum(F.reshape(g, (*input_shape[: dim + 1], repeats,
    *input_shape[dim + 1 :])), dim + 1)), places=(), linear=True)
def repeated_each(input: Array, repeats, dim):
    """Each slice along ``dim`` ``repeats`` times, one after the other: a step of what is no operator in PyTorch."""
    shape = input.shape
    if type(input) is np.ndarray and dim < input.ndim - 1:
        return np.repeat(input, repeats, dim)
    wide = expanded(input.reshape((*shape[: dim + 1], 1, *shape[dim + 1 :])), (*shape[: dim + 1], repeats,
        *shape[dim + 1 :]))
    return K.in_order(wide).reshape((*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))


@composite(places=())
def repeat_interleave_each(F, input, repeats, dim=None):
    """Each slice along ``dim`` repeated in place: ``repeats`` times, or as often as a tensor says for each."""
    if dim is None:
        input, dim = F.reshape(input, (-1,)), 0
    elif not input.ndim:
        axis(dim, 0)
        input, dim = F.reshape(input, (1,)), 0
    d, shape = axis(dim, input.ndim), tuple(input.shape)
    if not isinstance(repeats, int) and repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if not isinstance(repeats, int) and (not repeats.ndim or tuple(repeats.shape) == (1,)):
        repeats = int(repeats)
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        if unseen(F, input):
            return F.repeated_each(input, repeats, d)
        wide = F.expand(F.unsqueeze(input, d + 1), (*shape[: d + 1], repeats, *shape[d + 1 :]))
        return F.reshape(F.clone(wide, memory_format=True), (*shape[:d], shape[d] * repeats, *shape[d + 1 :]))
    if repeats.shape[0] != shape[d]:
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.shape[0]} and input.size({d}) = {shape[d]}")
    return F.index_select(input, d, F.repeat_places(repeats))


# -- diagonals and triangles -------------------------------------------------------------------------------------------


@operator(grad=dict(
        input=lambda F, g, input_shape, offset, dim1, dim2: F.diagonal_back(g, input_shape, offset, dim1, dim2)),
    view=True)
def diagonal(input: Array, offset=0, dim1=0, dim2=1):
    """The diagonal ``offset`` above the main one in the plane of two dimensions, as the last dimension of a view.

    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    a, b = axis(dim1, input.ndim), axis(dim2, input.ndim)
    if a == b or input.ndim < 2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    out = np.diagonal(input, offset, a, b)
    out.flags.writeable = input.flags.writeable  # NumPy gives it out read-only
    return out


@operator(grad=dict(input=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2)), places=(), linear=True,
    node="DiagonalBackwardBackward0")
def diagonal_back(input: Array, size, offset, dim1, dim2):
    """Zeros of shape ``size`` with ``input`` on a diagonal."""
    out = new_filled(input, np.zeros, size, input.dtype)
    diagonal.forward(out, offset, dim1, dim2)[...] = input
    return out


@operator(
    grad=dict(
        input=lambda F, g, src_shape, offset, dim1, dim2: F.diagonal_scatter(g, F.new_zeros(g, src_shape),
            offset, dim1, dim2),
        src=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2),
    )
)
def diagonal_scatter(input: Array, src: Array, offset=0, dim1=0, dim2=1):
    """A copy of ``input`` with ``src`` on a diagonal."""
    return written(input, src, lambda a: diagonal.forward(a, offset, dim1, dim2))


@operator(grad=dict(input=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2)), linear=True)
def diag_embed(input: Array, offset=0, dim1=-2, dim2=-1):
    """Matrices in the plane of two new dimensions with the last one of ``input`` on a diagonal, zero elsewhere."""
    n = input.ndim + 1
    a, b = axis(dim1, n), axis(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size, side = list(input.shape[:-1]), input.shape[-1] + abs(offset)
    for d in sorted((a, b)):
        size.insert(d, side)
    return diagonal_back.forward(input, tuple(size), offset, a, b)


_DIAGONALS: dict[int, Any] = {1: lambda offset: (("diag_embed", 0, offset),),
    2: lambda offset: (("diagonal", 0, offset), ("clone", 1, True))}


@composite(plan=(("clone", "diag_embed", "diagonal"),
    lambda shape, diagonal: _DIAGONALS[len(shape)](diagonal) if len(shape) in _DIAGONALS else None))
def diag(F, input, diagonal=0):
    """The diagonal of a matrix, or the matrix with this diagonal."""
    if input.ndim == 1:
        return F.diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return F.diagonal_copy(input, diagonal)


@composite
def diagflat(F, input, offset=0):
    """The matrix with all elements of ``input`` on a diagonal."""
    return F.diag_embed(F.reshape(input, (-1,)), offset)


def _triangle(name: str, text: str) -> None:
    @operator(grad=dict(input=lambda F, g, diagonal: getattr(F, name)(g, diagonal)), inplace=True, linear=True,
        name=name, layout="rows")
    def triangle(input: Array, diagonal=0):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return K.triangle(input, diagonal, name == "triu")

    triangle.doc = f"The elements {text} the diagonal ``diagonal`` of each matrix and on it, zero elsewhere."


_triangle("tril", "below")
_triangle("triu", "above")


@operator(grad=dict(input=lambda F, g, input_shape: F.spread_trace(g, input_shape)), linear=True)
def trace(input: Array):
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype == bool:
        raise unsupported("trace", input.dtype)
    d = dt.I64 if input.dtype.kind in "iu" else None
    return np.add.reduce(np.diagonal(input), None, d)


@composite(places=())
def spread_trace(F, input, size):
    """A diagonal that holds one value everywhere."""
    return F.diagonal_back(F.expand(input, (min(size),)), size, 0, 0, 1)


@operator(places=("functional",), layout="rows")
def one_hot(tensor: Array, num_classes=-1):
    """Rows with a one at the given class and zeros elsewhere: ``(*shape, num_classes)``, int64.

    >>> from wengert.nn import functional as F
    >>> F.one_hot(torch.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not tensor.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return np.zeros((*tensor.shape, num_classes), np.int64)
    if tensor.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(tensor.max()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif tensor.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    check_countable(*tensor.shape, num_classes)
    found = new_filled(tensor, np.zeros, (*tensor.shape, num_classes), np.int64)
    ones = new_filled(tensor, np.ones, (*tensor.shape, 1), np.int64)
    return K.put_along(found, tensor.ndim, tensor[..., None], ones)
