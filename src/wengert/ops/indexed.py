"""Whole slices at index vectors, elements under masks, reductions of runs of slices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, as_copy, in_rows, new_filled
from ..arrays.errors import refuse_overflow
from ..arrays.reduce import add_slices
from ..arrays.strides import slices_at
from .errors import common_shape
from .gather import add_rows, whole
from .loss import Bits
from .operator import Array, family
from .refusals import unsupported
from .views import axis

operator, composite = family("torch", "Tensor")


# -- slices ------------------------------------------------------------------------------------------------------------


def _evenly(index: Any, count: int) -> bool:
    """Whether ``index`` is 0, 0, 1, 1, 2, 2 ...: every slice a few times, as in nearest-neighbour interpolation."""
    times, rest = divmod(index.size, count) if count else (0, 0)
    return 1 < times <= 8 and not rest and np.array_equal(index, np.arange(index.size) // times)


@operator(grad=dict(input=lambda F, g, dim, index, input_shape: F.index_added(g, dim, index, input_shape)), linear=True)
def index_select(input: Array, dim, index: Array):
    """The slices of ``input`` along ``dim`` that ``index`` (int32 or int64, one dimension) names.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    dim = axis(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.char not in "lqi":
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    n = input.shape[dim] if input.ndim else 1
    if not K.within(index, 0, n - 1):
        if input.ndim > 1 and not n:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        if dim == 1 or (input.ndim > 1 and not input.size):  # PyTorch's kernel of these has words of its own
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={index[(index < 0) | (index >= n)].flat[0]} "
                f"axis_dim={n}")
        raise IndexError("index out of range in self")
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return as_copy(input)
    index = index.reshape(-1)
    if type(input) is np.ndarray and not input.flags.c_contiguous and index.size * 4 < n:
        return in_rows(input[(*(slice(None),) * dim, index)])  # no copy of all
    return slices_at(input, dim, index) if type(input) is np.ndarray else input.take(index, dim)


@operator(grad=dict(input=lambda F, g, dim, index: F.index_select(g, dim, index)), node="IndexAddBackward0", places=())
def index_added(input: Array, dim, index: Array, size):
    """The gradient of ``index_select``: slices added into zeros of shape ``size``."""
    if not size:
        return input.reshape(())
    dim, index = axis(dim, len(size)), index.reshape(-1)
    if input.size and _evenly(index, size[dim]) and input.dtype.kind in "fc" and input.dtype.itemsize > 2:
        return add_slices(input.reshape((*size[: dim + 1], -1, *size[dim + 1 :])), dim + 1)
    return add_rows(new_filled(input, np.zeros, size, input.dtype), dim, index, input)


def _vector(name: str, input: Any, dim: Any, index: Any, negative: bool = False) -> tuple[int, Any]:
    """``(dim, index)`` of an operation on slices, checked."""
    d = axis(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    index, n = whole(name, index).reshape(-1), input.shape[d] if input.ndim else 1
    low = -n if negative else 0
    if not K.within(index, low, n - 1):
        bad = index[(index < low) | (index >= n)][0]
        raise IndexError(f"{name and name + '(): '}index {bad} is out of bounds for dimension {d} with size {n}")
    return d, index


def _but(a: Any, d: int) -> tuple[int, ...]:
    """The shape of ``a`` without dimension ``d``."""
    return a.shape[:d] + a.shape[d + 1 :]


@operator(grad=dict(input=lambda F, g: g, source=lambda F, g, dim, index, alpha: F.index_select(g, dim, index) * alpha),
    inplace=True)
def index_add(input: Array, dim, index: Array, source: Array, *, alpha=1):
    """``input`` with slices of ``source`` times ``alpha`` added to those that ``index`` names; repeated ones add up.

    >>> torch.zeros(3).index_add(0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    if source.dtype != input.dtype:
        raise RuntimeError(f"index_add_(): self ({dt.scalar_name(input.dtype)}) and source "
            f"({dt.scalar_name(source.dtype)}) must have the same scalar type")
    d = axis(dim, input.ndim)
    index = whole("index_add_", index)
    if index.ndim > 1:
        raise IndexError(f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: Long "
            f"and size: {list(index.shape)}")
    index = index if index.ndim else index.reshape(-1)
    n, slices = (input.shape[d], source.shape[d]) if input.ndim and source.ndim else (
        a.shape[d] if a.ndim else 1 for a in (input, source))
    if slices != index.size:
        raise RuntimeError(f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({slices}), for dim: {d}")
    if input.shape != source.shape and (input.ndim != source.ndim or _but(input, d) != _but(source, d)):
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(input.shape)} source.shape = {list(source.shape)}")
    if not input.size:
        return input.copy()  # places are not looked at
    if not K.within(index, 0, n - 1):
        if input.ndim < 2 or d not in (0, input.ndim - 1) or alpha != 1:
            raise IndexError("index out of range in self")
        raise RuntimeError(f"index {index[(index < 0) | (index >= n)][0]} is out of bounds for dimension {d} with size "
            f"{n}")
    source = source if alpha == 1 else source * dt.as_number(alpha).astype(source.dtype)
    out = K.to_write(input, "C")
    if input.ndim:
        return add_rows(out, d, index, source)
    return add_rows(out.reshape(1), d, index, source.reshape(1)).reshape(())


@operator(grad=dict(input=lambda F, g, dim, index: F.index_fill(g, dim, index, 0),
        source=lambda F, g, dim, index: F.index_select(g, dim, index)), inplace=True, layout="rows", linear=True)
def index_copy(input: Array, dim, index: Array, source: Array):
    """``input`` with the slices that ``index`` names replaced by those of ``source``."""
    d = axis(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if input.ndim != source.ndim and input.ndim and source.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            f"Source dimensionality ({source.ndim}), destination dimensionality ({input.ndim})")
    index = whole("index_copy_", index).reshape(-1)
    if source.dtype != input.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{dt.scalar_name(input.dtype)} and (source) {dt.scalar_name(source.dtype)}")
    rest, have = _but(input, d), _but(source, d)
    if rest != have:
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
            f"shape: {' '.join(map(str, rest))} at dimension {d} and source slice shape: {' '.join(map(str, have))} at "
            "dimension 0.")
    n = source.shape[d] if source.ndim else 1
    if n != index.size:
        raise IndexError(f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({n})")
    if 0 in rest:
        return input.copy()  # places are not looked at
    d, index = _vector("index_copy_", input, dim, index)
    return _slices_set(input, d, index, source if input.ndim else source.reshape(1))


def _slices_set(input: Any, d: int, index: Any, value: Any) -> Any:
    out = K.to_write(input, "K")
    key: Any = (*(slice(None),) * d, index)
    (out if out.ndim else out.reshape(1))[key] = value
    return out


def _filled(input: Any, dim: Any, index: Any, value: Any) -> Any:
    if index.dtype.char not in "lqi":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    value = as_array(value)
    if value.dtype.kind == "c" and input.dtype.kind not in "cW":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    refuse_overflow(value, input.dtype)
    d, index = _vector("", input, dim, index, negative=True)
    return _slices_set(input, d, index, value.astype(input.dtype))


@operator(grad=dict(input=lambda F, g, dim, index: F.index_fill(g, dim, index, 0)), inplace=True, places=())
def index_fill(input: Array, dim, index: Array, value):
    """``input`` with the slices that ``index`` names set to ``value``, a number or a 0-d tensor."""
    return _filled(as_array(input), dim, index, value)


@operator(grad=dict(input=lambda F, g, dim, index: F.index_fill(g, dim, index, 0),
        value=lambda F, g, dim, index: F.sum(F.index_select(g, dim, F.unique(index)[0]))), inplace=True,
    node="IndexFillBackward1", places=())
def index_fill_tensor(input: Array, dim, index: Array, value: Array):
    """``index_fill`` with a 0-d tensor, which may require a gradient."""
    if value.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
            "dimension(s).")
    return _filled(input, dim, index, value)


# -- masks -------------------------------------------------------------------------------------------------------------


_C_NAMES = {
    "uint8": "unsigned char", "float32": "float", "float64": "double", "int64": "long int", "int32": "int",
    "int16": "short int", "int8": "signed char",
}


@operator(grad=dict(input=lambda F, g, mask: F.masked_fill(g, mask, 0)), inplace=True, places=(), layout="rows")
def masked_fill(input: Array, mask: Array, value):
    """``input`` with ``value``, a number or a 0-d tensor, where ``mask`` (bool, broadcast with ``input``) holds.

    >>> torch.tensor([1.0, 2.0]).masked_fill(torch.tensor([True, False]), 0.0)
    tensor([0., 2.])
    """
    if mask.dtype != bool:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{_C_NAMES.get(mask.dtype.name, mask.dtype.name)}")
    if isinstance(value, str):
        raise TypeError("masked_fill() received an invalid combination of arguments - got (Tensor, "
            f"{type(value).__name__})")
    if isinstance(value, (int, float, complex, np.ndarray)):
        refuse_overflow(value, input.dtype)
    if (type(value) in (int, float) and input.dtype.char in "fd" and type(input) is type(mask) is np.ndarray
            and input.flags.c_contiguous):
        return K.where(mask, float(value), input)  # which does not branch on each
    out = as_copy(input if input.shape == mask.shape
        else np.broadcast_to(input, np.broadcast_shapes(input.shape, mask.shape)))
    np.copyto(out, dt.modulo(value, input.dtype), where=mask, casting="unsafe")
    return out


@operator(grad=dict(input=lambda F, g, mask: F.masked_fill(g, mask, 0), value=lambda F, g, mask: F.sum(g * mask)),
    promote=None, inplace=True, node="MaskedFillBackward1", places=(), layout="rows")
def masked_fill_tensor(input: Array, mask: Array, value: Array):
    """``masked_fill`` with a 0-d tensor, which may require a gradient."""
    if value.ndim:
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
            "dimension(s).")
    return masked_fill.forward(input, mask, value)


def _select_back(F: Any, g: Any, mask: Any, input_shape: Any) -> Any:
    return F.masked_scatter(F.new_zeros(g, common_shape(input_shape, mask.shape)), mask, g)


@operator(grad=dict(input=_select_back))
def masked_select(input: Array, mask: Array):
    """The elements of ``input`` where ``mask`` holds, in one dimension; the two broadcast.

    >>> x = torch.tensor([1.0, -2.0, 3.0])
    >>> torch.masked_select(x, x > 0)
    tensor([1., 3.])
    """
    if mask.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    input, mask = np.broadcast_arrays(input, mask)
    return input[mask]


def _source_back(F: Any, g: Any, mask: Any, source_shape: Any) -> Any:
    found = F.masked_select(g, mask)
    return F.reshape(F.cat([found, F.new_zeros(g, (prod(source_shape) - found.shape[0],))], 0), tuple(source_shape))


@operator(grad=dict(input=lambda F, g, mask: F.masked_fill(g, mask, 0), source=_source_back), inplace=True,
    layout="rows")
def masked_scatter(input: Array, mask: Array, source: Array):
    """``input`` with the elements of ``source``, in order, where ``mask`` holds; mask and input broadcast."""
    if source.dtype != input.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but "
            f"got{dt.scalar_name(input.dtype)} and {dt.scalar_name(source.dtype)}")
    if mask.dtype != bool:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype " + dt.scalar_name(mask.dtype))
    out, mask = (input, mask) if input.shape == mask.shape else np.broadcast_arrays(input, mask)
    n = int(np.count_nonzero(mask))
    if source.size < n:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out = as_copy(out)
    out[mask] = source.reshape(-1)[:n]
    return out


# -- runs of slices ----------------------------------------------------------------------------------------------------


#: What the runs begin with, and how ``fold_runs`` names the reduction.
_START: dict[str, tuple[str, float]] = {
    "sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0), "max": ("amax", -np.inf), "min": ("amin", np.inf),
}


def _fold(rows: np.ndarray, lengths: Any, how: str, start: float) -> np.ndarray:
    """``start`` joined with each run of rows; 16 bits are rounded once."""
    wide = K.cast(rows, dt.F32) if dt.is_half(rows.dtype) else rows
    found = K.fold_runs(in_rows(wide), lengths, how, np.asarray(start, wide.dtype))
    return found if wide is rows else K.cast(found, rows.dtype)


def _spread(F: Any, g: Any, data: Any, result: Any, runs: Any, reduce: str, initial: Any, data_shape: Any) -> Any:
    """Each element gets its share of what its segment gets."""
    if reduce == "prod" and not F.raw:
        raise RuntimeError("derivative for aten::_segment_reduce_backward is not implemented")
    if 0 in data_shape:
        return F.new_zeros(g, tuple(data_shape))
    n = runs.cell_contents
    ids = np.repeat(np.arange(n.size), n)
    wide = F.index_select(F.reshape(g, (n.size, -1)), 0, F.constant(ids))
    if reduce == "mean":
        wide = wide * F.constant((1 / n[ids])[:, None].astype(F.dtype_of(wide)))
    elif reduce != "sum":
        wide = wide * F.segment_shares(data, result, runs, reduce, initial)
    return F.reshape(wide, tuple(data_shape))


@operator(grad=dict(data=_spread), aux=("runs",), node="SegmentReduceBackward0", places=("torch",))
def segment_reduce(data: Array, reduce, *, lengths: Array | None = None, indices: Array | None = None,
        offsets: Array | None = None, axis=0, unsafe=False, initial=None):
    """Reduces runs of slices along ``axis``, after dimensions of batches: ``lengths`` of them, or between ``offsets``.

    ``reduce``: ``"sum"``, ``"mean"``, ``"prod"``, ``"max"`` or ``"min"``; ``initial`` is taken with each run. Elements
    that tie for an extreme share the gradient. ``RuntimeError`` if the lengths do not add up, unless ``unsafe``.

    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([2, 1]))
    tensor([3., 3.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in _START:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    param, given = ("lengths", lengths) if lengths is not None else ("offsets", as_array(offsets))
    if data.dtype.kind != "f" and dt.scalar_name(data.dtype) != "BFloat16":
        raise unsupported("_segment_reduce_cpu", data.dtype)
    if given.dtype.kind not in "iu":
        raise unsupported(f"_segment_reduce_{param}_cpu_kernel1", given.dtype)
    axis = axis % max(data.ndim, 1)
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {param} but got {axis}.")
    runs: Any = given if lengths is not None else np.diff(given, axis=-1)
    if not unsafe and param == "lengths":
        if (runs < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (runs.sum(-1) != data.shape[axis]).any():
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe.")
    count = runs.shape[-1]
    rows, rest = runs.reshape(-1, count), int(np.prod(data.shape[axis + 1 :]))
    flat = data.reshape(int(np.prod(data.shape[: axis + 1])), rest)
    lengths = np.ascontiguousarray(rows.reshape(-1), np.int64)
    combine, start = _START[reduce]
    out = _fold(flat, lengths, combine, start if initial is None else initial)
    if reduce == "mean":
        n = lengths[:, None]
        out = np.where(n > 0, out / np.maximum(n, 1).astype(data.dtype),
            out if initial is not None else data.dtype.type(np.nan))
    return (out.astype(data.dtype, copy=False).reshape(*data.shape[:axis], count, *data.shape[axis + 1 :]),
        Bits(lengths))


@operator(places=())
def segment_shares(data: Array, result: Array, lengths, reduce, initial=None):
    """What each element gets of the gradient of its run, ``lengths`` of them: 1 / ties or nothing of an extreme, the
    product of the others.
    """
    n = lengths.cell_contents
    ids, out = np.repeat(np.arange(n.size), n), result.reshape(n.size, -1)
    flat = data.reshape(ids.size, out.shape[1])
    nan = np.isnan(flat)
    if reduce in ("max", "min"):
        best = nan | (flat == out[ids])
        ties = _fold(best.astype(np.float64), n, "sum", 0.0)
        return np.where(best, 1 / np.maximum(ties, 1)[ids], 0).astype(flat.dtype)
    zero = flat == 0
    zeros, nans = (_fold(marked.astype(np.float64), n, "sum", 0.0) for marked in (zero, nan))
    rest = _fold(np.where(zero | nan, flat.dtype.type(1), flat), n, "prod", 1.0 if initial is None else initial)
    others = np.where(nans[ids] > nan, np.nan, np.where(zeros[ids] > zero, 0.0, 1.0)).astype(flat.dtype) * rest[ids]
    return np.where(zero | nan, others, out[ids] / flat)
