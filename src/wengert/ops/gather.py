"""Reading and writing at index tensors and masks."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, as_copy, in_rows, new_filled
from ..arrays.errors import alert, refuse_overflow
from ..arrays.reduce import add_to_each, in_each, wide_type
from .errors import common_shape
from .operator import Array, family
from .views import axis

operator, composite = family("torch", "Tensor", layout="rows")


# -- index arithmetic --------------------------------------------------------------------------------------------------


def whole(name: str, index: Any) -> Any:
    """``index`` as int64; ``RuntimeError`` for anything but whole numbers."""
    if index.dtype is dt.I64:
        return index
    if index.dtype.char not in "lqi":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {dt.scalar_name(index.dtype)}")
    return index.astype(dt.I64)


def inside(index: Any, size: int, dim: int) -> None:
    """Refuse places outside a dimension."""
    if not K.within(index, 0, size - 1):
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def grid(shape: tuple[int, ...], index: Any, dim: int) -> tuple[Any, ...]:
    """The key that reads ``index`` along ``dim`` and every other dimension at its own place."""
    n = len(shape)
    return tuple(index if i == dim else np.arange(m).reshape((1,) * i + (m,) + (1,) * (n - i - 1))
        for i, m in enumerate(shape))


def flat_places(index: Any, shape: tuple[int, ...], dim: int) -> Any:
    """For ``index`` along ``dim`` of an array of ``shape``: the places in that array's row-major order."""
    places, step = None, 1
    for i in reversed(range(len(shape))):
        row = index if i == dim else np.arange(index.shape[i]).reshape((-1,) + (1,) * (len(shape) - i - 1))
        row = row * step if step != 1 else row
        places = row if places is None else places + row
        step *= shape[i]
    return places


def add_flat(out: Any, places: Any, values: Any) -> Any:
    """Add ``values`` to the contiguous ``out`` at ``places`` of its row-major order, repeated ones too."""
    if out.dtype.kind in "fcVW":
        wide = wide_type(out.dtype)
        if wide is not None:
            total = K.add_at(K.cast(out.reshape(-1), wide), places.reshape(-1), K.cast(values.reshape(-1), wide))
            return K.cast(total, out.dtype).reshape(out.shape)
        K.add_at(out.reshape(-1), places.reshape(-1), in_rows(values).reshape(-1))
    elif out.dtype.kind == "b":
        np.logical_or.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))
    else:
        np.add.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))
    return out


def add_rows(out: Any, dim: int, index: Any, values: Any) -> Any:
    """Add the slices of ``values`` along ``dim`` to those of the contiguous ``out`` that ``index`` names."""
    if not values.size:
        return out
    if dim:
        lines, n, row = prod(out.shape[:dim]), out.shape[dim], out.shape[dim + 1 :]
        if out.dtype.char in "fd":
            inner = prod(row)
            add_to_each(out.reshape(lines, n, inner), index, in_rows(values).reshape(lines, index.size, inner))
            return out
        if dt.is_half(out.dtype):
            return K.cast(add_rows(K.cast(out, dt.F32), dim, index, K.cast(values, dt.F32)), out.dtype)
        index = in_each(index, lines, n)
        return add_rows(out.reshape(-1, *row), 0, index, values.reshape(-1, *row)).reshape(out.shape)
    if out.dtype.kind in "fcVW":
        wide = wide_type(out.dtype)
        if dt.is_half(out.dtype):
            return K.cast(K.add_at(K.cast(out, dt.F32), index, K.cast(in_rows(values), dt.F32)), out.dtype)
        if wide is not None:
            return K.add_at(out.astype(wide), index, values.astype(wide)).astype(out.dtype)
        return K.add_at(out, index, in_rows(values))
    (np.logical_or if out.dtype.kind == "b" else np.add).at(out, index, values)
    return out


def _of_slices(index: Any, shape: tuple[int, ...], dim: int) -> Any:
    """The places along ``dim`` where ``index`` was expanded from one line, which then names whole slices of an array of
    ``shape``; else None.
    """
    if type(index) is not np.ndarray or index.ndim < 2 or index.ndim != len(shape) or not index.size:
        return None
    for i, (n, step) in enumerate(zip(index.shape, index.strides)):
        if i != dim and (n != shape[i] or (step and n > 1)):
            return None
    return index[(0,) * dim + (slice(None),) + (0,) * (index.ndim - dim - 1)]


def match(name: str, input: Any, dim: int, index: Any, src: Any = None) -> None:
    """The conditions of gather and scatter on the shapes of their arguments."""
    if index.ndim and index.shape == input.shape and (src is None or src.shape == index.shape):
        return
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as "
            f"{'input' if src is None else 'self'} tensor")
    if src is not None and max(src.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    larger = [i for i, (n, m) in enumerate(zip(index.shape, input.shape)) if n > m and i != dim]
    if larger or (src is not None and any(n > m for n, m in zip(index.shape, src.shape))):
        if name == "gather":
            raise RuntimeError(f"Size does not match at dimension {larger[0]} expected index {list(index.shape)} to be "
                f"no larger than self {list(input.shape)} apart from dimension {dim}")
        tail = f" and to be no larger size than src {list(src.shape)}" if src is not None else ""
        raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart "
            f"from dimension {dim}{tail}")


# -- gather ------------------------------------------------------------------------------------------------------------


def _gather_back(F: Any, g: Any, dim: Any, index: Any, sparse_grad: bool, input_shape: Any) -> Any:
    if not (sparse_grad and F.raw):
        return F.scattered(g, dim, index, input_shape)
    from ..arrays.sparse import Coo

    depth = len(input_shape)
    places = np.indices(index.shape or (1,)).reshape(-1, index.size)[:depth]
    if depth:
        places[axis(dim, depth)] = index.reshape(-1)
    return Coo(places, g.reshape(-1), tuple(input_shape))


@operator(grad=dict(input=_gather_back), linear=True)
def gather(input: Array, dim, index: Array, *, sparse_grad=False):
    """``result[i][j] = input[index[i][j]][j]`` for ``dim=0``, and so on; the shape of the result is that of ``index``.

    ``index`` is int64 and, apart from ``dim``, no larger than ``input``. ``sparse_grad``: the gradient is sparse,
    unless it is recorded for another one (``create_graph``).

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    dim = axis(dim, input.ndim)
    if not index.size:
        return new_filled(input, np.empty, index.shape, input.dtype)
    index = whole("gather", index)
    match("gather", input, dim, index)
    line = _of_slices(index, input.shape, dim)
    if line is not None and type(input) is np.ndarray:
        inside(line, input.shape[dim], dim)
        return input.take(line, dim)
    if input.ndim and index.ndim:
        try:
            return K.take_along(input, dim, index)
        except IndexError:
            inside(index, input.shape[dim], dim)
            raise
    inside(index, input.shape[dim] if input.ndim else 1, dim)
    return as_array(input.reshape(-1)[index])


def _quick(out: Any, dim: int, index: Any) -> bool:
    """Whether sums and others along a dimension have a kernel: for floating point, if the index has all lines."""
    if out.dtype.kind not in "fV" or not out.ndim or out.ndim != index.ndim:
        return False
    return index.shape == out.shape or all(
        a == b or i == dim for i, (a, b) in enumerate(zip(index.shape, out.shape)))


def _add_along(out: Any, dim: int, index: Any, values: Any) -> Any:
    """``K.add_along``; sums of 16 bits are rounded once."""
    if not dt.is_half(out.dtype):
        return K.add_along(out, dim, index, values)
    return K.cast(K.add_along(K.cast(out, dt.F32), dim, index, K.cast(in_rows(values), dt.F32)), out.dtype)


@operator(grad=dict(input=lambda F, g, dim, index: F.gather(g, dim, index)), node="ScatterAddBackward0", places=())
def scattered(input: Array, dim, index: Array, size, exact=False):
    """The gradient of ``gather``: ``input`` added into zeros of shape ``size``. ``exact``: no place occurs twice."""
    out = new_filled(input, np.zeros, size, input.dtype)
    if not index.size:
        return out
    dim = axis(dim, len(size))
    if not size:
        out += input.reshape(-1).sum()
    elif exact:
        K.put_along(out, dim, index, input)
    elif (line := _of_slices(index, size, dim)) is not None:
        out = add_rows(out, dim, line, input)
    elif _quick(out, dim, index) and index.shape == input.shape:
        return _add_along(out, dim, index, input)
    else:
        out = add_flat(out, flat_places(index, size, dim), input)
    return out


# -- scatter -----------------------------------------------------------------------------------------------------------


def _ready(name: str, input: Any, dim: Any, index: Any, src: Any, places: bool = True) -> tuple[int, Any, Any]:
    """The checks of scatters: ``(dim, index, src cut to the index's shape)``; ``places``: whether those are inside."""
    d = axis(dim, input.ndim)
    if index.size:
        index = whole(name, index)
    if src is not None and src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    match(name, input, d, index, src)
    if places or not (input.ndim and index.ndim):
        inside(index, input.shape[d] if input.ndim else 1, d)
    if src is not None and src.shape != index.shape:
        src = src[tuple(slice(0, n) for n in index.shape)] if src.ndim == index.ndim else src.reshape(index.shape)
    return d, index, src


def _written(write: Any, out: Any, d: int, index: Any, values: Any) -> Any:
    """Write along a dimension; a place outside is reported in PyTorch's words, before anything is written."""
    try:
        return write(out, d, index, values)
    except IndexError:
        inside(index, out.shape[d], d)
        raise


def _to_write(input: Any, d: int, index: Any) -> Any:
    """What is written to along a dimension. Places in the memory of the user are looked at before the first write."""
    out = K.to_write(input, "C")
    if out is input and input.ndim:
        inside(index, input.shape[d], d)
    return out


def _put(input: Any, d: int, index: Any, value: Any) -> Any:
    out = _to_write(input, d, index)
    if index.size:
        rows, index = (out, index) if out.ndim else (out.reshape(1), index.reshape(-1))
        if value.ndim and value.shape != index.shape:
            value = value.reshape(index.shape)
        _written(K.put_along, rows, d, index, value)
    return out


def _to_src(F: Any, x: Any, shape: Any) -> Any:
    """The gradient of ``src``, of which the scatter read only as much as the index is large."""
    if tuple(x.shape) == tuple(shape):
        return x
    if len(x.shape) != len(shape):
        return F.reshape(x, shape)
    return F.basic_scatter(x, tuple(shape), tuple(slice(0, n) for n in x.shape))


@operator(grad=dict(input=lambda F, g, dim, index: F.scatter_value(g, dim, index, 0),
        src=lambda F, g, dim, index, src_shape: _to_src(F, F.gather(g, dim, index), src_shape)), inplace=True,
    places=(), linear=True)
def scatter(input: Array, dim, index: Array, src: Array):
    """``input`` with ``src`` written at ``index`` along ``dim``."""
    d, index, src = _ready("scatter", input, dim, index, src, False)
    return _put(input, d, index, src)


@operator(grad=dict(input=lambda F, g, dim, index: F.scatter_value(g, dim, index, 0)), inplace=True,
    node="ScatterBackward1", places=())
def scatter_value(input: Array, dim, index: Array, value):
    """``input`` with one number written at ``index`` along ``dim``."""
    d, index, _ = _ready("scatter", input, dim, index, None)
    if isinstance(value, (int, float, complex)):
        refuse_overflow(value, input.dtype)
    return _put(input, d, index, as_array(value).astype(input.dtype))


@operator(grad=dict(input=lambda F, g: g,
        src=lambda F, g, dim, index, src_shape: _to_src(F, F.gather(g, dim, index), src_shape)), inplace=True)
def scatter_add(input: Array, dim, index: Array, src: Array):
    """``input`` with ``src[i][j]`` added at ``[index[i][j]][j]`` (for ``dim=0``), and so on; repeated places add up.

    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    quick = _quick(input, axis(dim, input.ndim), index)
    line = _of_slices(index, input.shape, axis(dim, input.ndim))
    d, index, src = _ready("scatter_add", input, dim, index, src, not quick and line is None)
    out = _to_write(input, d, index)
    if line is not None:
        inside(line, input.shape[d], d)
        return add_rows(out, d, whole("scatter_add", line), src)
    if quick:
        return _written(_add_along, out, d, index, src)
    return add_flat(out, flat_places(index, input.shape, d) if input.ndim else index, src) if index.size else out


# -- scatter with a reduction ------------------------------------------------------------------------------------------

REDUCTIONS = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _start(reduce: str, d: Any) -> Any:
    """The value that a reduction starts from."""
    if reduce in ("sum", "mean", "prod"):
        return as_array(int(reduce == "prod")).astype(d)
    if d.kind == "b":
        return as_array(reduce == "amin")
    if d.kind in "iu":
        return as_array(np.iinfo(d).min if reduce == "amax" else np.iinfo(d).max, d)
    return as_array(-np.inf if reduce == "amax" else np.inf).astype(d)


def _reduced(input: Any, dim: Any, index: Any, src: Any, reduce: str, include_self: Any) -> Any:
    quick = _quick(input, axis(dim, input.ndim), index)
    dim, index, src = _ready("scatter", input, dim, index, src, not quick)
    wide = wide_type(input.dtype)
    out = _to_write(input, dim, index) if wide is None else as_copy(input, wide, order="C")
    if not index.size:
        return out.astype(input.dtype)
    if quick:
        if not dt.is_half(input.dtype):
            return _joined(out, dim, index, src, reduce, include_self)
        found = _joined(out, dim, index, K.cast(in_rows(src), out.dtype), reduce, include_self)
        return K.cast(found, input.dtype)
    places = (flat_places(index, input.shape, dim) if input.ndim else index).reshape(-1)
    flat = out.reshape(-1)
    if not include_self:
        flat[places] = _start(reduce, out.dtype)
    if reduce in ("sum", "mean"):
        add_flat(out, places, src.astype(out.dtype))
    else:
        REDUCTIONS[reduce].at(flat, places, src.reshape(-1).astype(out.dtype))
    if reduce == "mean":
        count = np.bincount(places, minlength=flat.size) + bool(include_self)
        count = np.maximum(count, 1).astype(out.dtype).reshape(out.shape)
        out = out / count if out.dtype.kind in "fc" else out // count
    return out.astype(input.dtype, copy=False)


def _joined(out: Any, dim: int, index: Any, src: Any, reduce: str, include_self: Any) -> Any:
    """A reduction along a dimension by kernels; a place outside is reported as elsewhere."""
    if not include_self:
        _written(K.put_along, out, dim, index, _start(reduce, out.dtype))
    if reduce != "mean":
        return _written(lambda *given: K.join_along(*given, reduce), out, dim, index, src)
    _written(K.add_along, out, dim, index, src)
    line = _of_slices(index, out.shape, dim)
    if line is not None:  # each slice has one count
        count = np.bincount(line, minlength=out.shape[dim]) + bool(include_self)
        count = count.astype(out.dtype).reshape((-1,) + (1,) * (out.ndim - dim - 1))
    else:
        count = new_filled(out, np.ones if include_self else np.zeros, out.shape, out.dtype)
        K.add_along(count, dim, index, new_filled(out, np.ones, index.shape, out.dtype))
    return K.divide(out, np.maximum(count, 1))


def _total_back(F: Any, g: Any, needs: Any, dim: Any, index: Any, src_shape: Any, reduce: str,
        include_self: Any) -> Any:
    """Sums and means: every element has the same part."""
    if reduce == "mean":
        kind = F.dtype_of(g)
        ones = F.constant(np.ones(index.shape, kind))
        n = F.scatter_add(F.constant(np.full(g.shape, bool(include_self), kind)), dim, index, ones)
        g = g / F.masked_fill(n, n == 0, 1)
    src = _to_src(F, F.gather(g, dim, index), src_shape) if needs[1] else None
    return (g if include_self else F.scatter_value(g, dim, index, 0)) if needs[0] else None, src


def _pick_rule(op: str) -> Any:
    def back(F: Any, g: Any, needs: Any, input: Any, dim: Any, index: Any, src: Any, result: Any, reduce: str,
            include_self: Any) -> Any:
        whole_src = tuple(src.shape)
        if whole_src != tuple(index.shape):
            src = F.basic_index(src, tuple(slice(0, n) for n in index.shape))
        kind = F.dtype_of(g)
        if reduce == "prod":
            own, others = _product_parts(F, g, input, dim, index, src, result, include_self, op)
        else:
            mine = F.cast(input == result, kind)  # counts even where ``input`` is left out, as in PyTorch
            theirs = F.cast(src == F.gather(result, dim, index), kind)
            n = F.scatter_add(mine, dim, index, theirs)
            part = g / F.masked_fill(n, n == 0, 1)
            own, others = mine * part, theirs * F.gather(part, dim, index)
        if not include_self:
            own = F.scatter_value(own, dim, index, 0)
        return own if needs[0] else None, _to_src(F, others, whole_src) if needs[1] else None

    return back


def _product_parts(F: Any, g: Any, input: Any, dim: Any, index: Any, src: Any, result: Any, include_self: Any,
        op: str) -> Any:
    """The gradients of a product: the product of the other factors, without dividing by zero."""
    mended = F.masked_fill(input, input == 0, 1)
    own = g * F.scatter_pick(mended, dim, index, src, "prod", include_self) / mended
    zero = src == 0
    counts = F.scatter_add(F.new_zeros(g, tuple(input.shape)), dim, index, F.cast(zero, F.dtype_of(g)))
    zeros = F.gather(counts, dim, index)
    single = zero & (zeros == 1)
    rest = F.scatter_pick(input, dim, index, F.masked_fill(src, single, 1), "prod", include_self)
    usual = F.gather(g * result, dim, index) / F.masked_fill(src, zero, 1)
    others = F.where(single, F.gather(g * rest, dim, index), usual)
    if not F.raw and bool((zeros > 1).any()):
        others = F.once_only(others, op)
    return own, others


def _not_twice(F: Any, g: Any, by: str) -> Any:
    what = "src" if by == "scatter" else "source"
    raise RuntimeError(f"{by}_reduce(): Double backward is unsupported for {what} when >1 zeros in {what} are "
        "scattered to the same position in self")


@operator(grad=dict(input=_not_twice), places=())
def once_only(input: Array, by):
    """A gradient that has none itself."""
    return input


# Twice, since PyTorch names the nodes of scatter_reduce and index_reduce differently.
for _name, _node in (("scatter", "ScatterReduceBackward0"), ("index", "IndexReduceBackward0")):

    @operator(grad=_total_back, wrt=("input", "src"), inplace=True, name=f"{_name}_total", node=_node, places=())
    def total(input: Array, dim, index: Array, src: Array, reduce, include_self=True):
        """``input`` with ``src`` added in at ``index`` along ``dim``: "sum" or "mean"."""
        return _reduced(input, dim, index, src, reduce, include_self)

    @operator(grad=_pick_rule(_name), wrt=("input", "src"), inplace=True, name=f"{_name}_pick", node=_node, places=())
    def pick(input: Array, dim, index: Array, src: Array, reduce, include_self=True):
        """``input`` with ``src`` joined in at ``index`` along ``dim``: "prod", "amax" or "amin"."""
        return _reduced(input, dim, index, src, reduce, include_self)


# -- places of the whole tensor ----------------------------------------------------------------------------------------


def _flat(name: str, input: Any, index: Any) -> Any:
    """Places in row-major order, negative ones from the end."""
    if index.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {dt.scalar_name(index.dtype)}")
    if not K.within(index, -input.size, input.size - 1):
        if name == "take" and not input.size:
            raise IndexError("take(): tried to take from an empty tensor")
        bad = index[(index < -input.size) | (index >= input.size)].flat[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {input.size} elements.")
    return index


@operator(grad=dict(input=lambda F, g, index, input_shape: F.put(F.new_zeros(g, input_shape), index, g, True)),
    linear=True)
def take(input: Array, index: Array):
    """The elements at places ``index`` of the row-major order; the shape of the result is that of ``index``.

    >>> torch.take(torch.tensor([[4, 3], [2, 1]]), torch.tensor([0, -1]))
    tensor([4, 1])
    """
    places = _flat("take", input, index)
    if type(input) is not np.ndarray or input.flags.c_contiguous or index.size * 4 > input.size:
        return input.reshape(-1)[places]
    return input[np.unravel_index(np.where(places < 0, places + input.size, places), input.shape)]  # no copy of all


@operator(grad=dict(
        input=lambda F, g, index, accumulate: g if accumulate else F.put(g, index, F.new_zeros(g, index.shape)),
        source=lambda F, g, index, source_shape: F.reshape(F.take(g, index), source_shape)), inplace=True,
    places=("Tensor",), layout="first", linear=True)
def put(input: Array, index: Array, source: Array, accumulate=False):
    """``input`` with ``source`` written (or added, if ``accumulate``) at places ``index`` of the row-major order."""
    if source.dtype != input.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dt.scalar_name(input.dtype)} and " f"source.dtype = {dt.scalar_name(source.dtype)}")
    if source.size != index.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}")
    if not accumulate:
        alert("put_")
    places = _flat("put", input, index).reshape(-1)
    out = K.to_write(input, "C")
    if accumulate:
        return add_flat(out, places, source.reshape(-1)) if places.size else out
    out.reshape(-1)[places] = source.reshape(-1)
    return out


@composite
def take_along_dim(F, input, indices, dim=None):
    """The elements at ``indices`` along ``dim``, other dimensions broadcast; without ``dim`` of the row-major order.

    >>> x = torch.tensor([[30, 10, 20]])
    >>> torch.take_along_dim(x, torch.argsort(x), dim=1)
    tensor([[10, 20, 30]])
    """
    if dim is None:
        return F.gather(F.view(input, (-1,)), 0, F.view(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
            f"got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    if F.dtype_of(indices) != np.int64:
        found = dt.scalar_name(F.dtype_of(indices))
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {found}")
    d = axis(dim, input.ndim)
    if not input.ndim:
        return F.gather(input, d, indices)
    have, asked = tuple(input.shape), tuple(indices.shape)
    places = F.remainder(indices, have[d])
    if have == asked:
        return F.gather(input, d, places)
    before, after = (common_shape(have[part], asked[part]) for part in (slice(d), slice(d + 1, None)))
    wide, named = (*before, have[d], *after), (*before, asked[d], *after)
    return F.gather(input if have == wide else F.expand(input, wide), d,
        places if asked == named else F.expand(places, named))
