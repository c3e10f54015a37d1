"""What jagged tensors do at an operator, by name: on their numbers, which lack the batch dimension."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.places import PLACES
from ..tensor import Tensor
from ..tensor.functions import function
from ..tensor.tensor import wrap
from ..tensor.types import contiguous_format
from ._base import (
    Nest,
    add_likes,
    as_single_node,
    dimension,
    each,
    entries,
    listed,
    nest,
    numbers,
    numbers_plan,
    viewed,
)
from ._internal.nested_int import NestedInt
from ._plans import Jagged, Rows, offsets_from

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE: dict[str, Callable[..., Any]] = {}
entry = entries(TABLE)


def shown(t: Any) -> str:
    return f"({', '.join(map(str, t._wg_data.shape))})"


def inner(t: Any, dim: int, op: str) -> int:
    """The dimension of the numbers that ``dim`` is; the batch's and the ragged one are refused."""
    d = dimension(t, dim)
    if d == 0:
        raise RuntimeError(f"{op}(): not supported for NestedTensor on dim=0")
    if d == numbers_plan(t).ragged:
        raise RuntimeError(f"{op}(): not supported for NestedTensor on ragged dim")
    return d - 1


def on_numbers(t: Any, make: Callable[[Tensor], Any], name: str | None = None, view: bool = False,
        ragged: int | None = None, others: tuple[Any, ...] = ()) -> Any:
    """``make`` of the numbers of ``t``, with the same parts. ``view``: of ``t``; ``others``: further arguments."""
    plan = numbers_plan(t) if ragged is None else numbers_plan(t).at(ragged)
    put = viewed if view else nest

    return as_single_node((t, *(x for x in others if isinstance(x, Tensor))),
        lambda: each(lambda x: put(x, plan), make(numbers(t))), name)


def need_plain(t: Any, what: str) -> None:
    """Refuse operators that need all numbers row by row, ragged in the first dimension of the parts."""
    if numbers_plan(t).ragged != 1 or numbers_plan(t).rows.lengths is not None:
        raise ValueError(f"NestedTensor {what}: expected self to be a contiguous jagged layout NestedTensor")


# -- parts -------------------------------------------------------------------------------------------------------------


def pieces(t: Any) -> list[Tensor]:
    """The parts, as views of the numbers."""
    plan = numbers_plan(t)
    rows, at, packed = plan.rows, plan.ragged - 1, numbers(t)
    starts, counts = rows.starts.tolist(), rows.counts.tolist()
    cuts, end = [], 0
    for start, count in zip(starts, counts):
        if start < end:  # parts that share rows
            return [packed.narrow(at, s, c) for s, c in zip(starts, counts)]
        cuts += [start - end, count]
        end = start + count
    cuts.append(packed.shape[at] - end)
    return list(packed.split_with_sizes(cuts, at)[1::2])


@entry()
def unbind(self: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts, as views."""
    if dimension(self, dim) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return tuple(as_single_node((self,), lambda: tuple(pieces(self)), "UnbindBackwardAutogradNestedTensor0"))


@entry()
def select(self: Any, dim: int, index: Any) -> Any:
    """One part, or one place of an inner dimension in all parts."""
    plan, d = numbers_plan(self), dimension(self, dim)
    if d == 0:
        count = plan.rows.count
        if not -count <= int(index) < count:
            raise IndexError("tuple index out of range")
        i = int(index) % count
        start, length = int(plan.rows.starts[i]), int(plan.rows.counts[i])
        return as_single_node((self,), lambda: numbers(self).narrow(plan.ragged - 1, start, length),
            "SelectBackwardAutogradNestedTensor0")
    at = inner(self, d, "select")
    return on_numbers(self, lambda v: v.select(at, index), "SelectBackwardAutogradNestedTensor0", True,
        plan.ragged - (d < plan.ragged))


@entry("__getitem__")
def getitem(self: Any, key: Any) -> Any:
    """A part (``t[0]``), places in it (``t[0, 1]``), or places of the inner dimensions of all (``t[..., 1:3]``)."""
    row = list(key) if isinstance(key, tuple) else [key]
    if any((isinstance(k, Tensor) and k.dim()) or isinstance(k, (list, np.ndarray)) for k in row):
        raise type(self)._refused("index")
    if row and isinstance(row[0], (int, np.integer, Tensor)) and not isinstance(row[0], bool):
        part = select(self, 0, int(row[0]))
        return part[tuple(row[1:])] if len(row) > 1 else part
    used = sum(k is not None and k is not Ellipsis for k in row)
    if used > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    if Ellipsis in row:
        at = row.index(Ellipsis)
        row[at : at + 1] = [slice(None)] * (self.dim() - used)
        skipped = range(at, at + self.dim() - used)
    else:
        skipped = range(0)
    found, d = self, 0
    for i, k in enumerate(row):
        if k is None:
            found = unsqueeze(found, d)
            d += 1
        elif isinstance(k, slice):
            if i not in skipped:
                at = inner(found, d, "slice")
                cut = (slice(None),) * at + (k,)
                found = on_numbers(found, lambda v, cut=cut: v[cut], "SliceBackward0", True)  # type: ignore[misc]
            d += 1
        else:
            found = select(found, d, k)
    return found


@entry("slice")
def slice_(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    at = inner(self, dim, "slice")
    return on_numbers(self, lambda v: v[(slice(None),) * at + (slice(start, end, step),)], "SliceBackward0", True)


@entry()
def narrow(self: Any, dim: int, start: Any, length: int) -> Any:
    at = inner(self, dim, "narrow")
    return on_numbers(self, lambda v: v.narrow(at, start, length), "SliceBackward0", True)


@entry("__setitem__")
def setitem(self: Any, key: Any, value: Any) -> None:
    """Write to the places that ``self[key]`` shows."""
    seen = getitem(self, key)
    target = numbers(seen) if isinstance(seen, Nest) else seen
    if not isinstance(value, Tensor):
        value = wrap(np.asarray(value, target._wg_data.dtype))
    target.copy_(numbers(value) if isinstance(value, Nest) else value)


# -- copies ------------------------------------------------------------------------------------------------------------


@entry()
def clone(self: Any, memory_format: Any = None, **_: Any) -> Any:
    """A copy; row by row and without gaps, if the format is ``contiguous_format``."""
    if memory_format is not contiguous_format:
        return on_numbers(self, lambda v: v.clone(), "CloneBackward0")
    plan = numbers_plan(self)
    if plan.rows.lengths is None:
        return on_numbers(self, lambda v: v.clone(memory_format=contiguous_format), "CloneBackward0")
    counts = plan.rows.counts
    rows = Rows(offsets_from(counts), None, plan.rows.least, plan.rows.most)

    def run() -> Any:
        return nest(numbers(self).index_select(plan.ragged - 1, wrap(plan.rows.rows())), Jagged(rows, plan.ragged))

    return as_single_node((self,), run, "CloneBackward0")


@entry("cast")
def cast(self: Any, dtype: Any, *_: Any) -> Any:
    return on_numbers(self, lambda v: function("cast")(v, dtype), "ToCopyBackward0")


add_likes(entry, numbers_plan)


def _new(name: str) -> Any:
    def new(self: Any, size: Any = (), *args: Any, **kwargs: Any) -> Tensor:
        if size != () and tuple(size if isinstance(size, (tuple, list)) else (size,)):
            raise RuntimeError(f"{'new_empty' if name != 'new_tensor' else name}() not supported for NJT with shape != "
                "()")
        return getattr(self._packed, name)(size, *args, **kwargs)  # type: ignore[no-any-return]

    return new


for _name in ("new_zeros", "new_ones", "new_empty", "new_full"):
    entry(_name)(_new(_name))


# -- shapes ------------------------------------------------------------------------------------------------------------


def permuted(self: Any, order: list[int], name: str, kind: str) -> Any:
    if order[0] != 0:
        raise ValueError(f"{kind} is not supported on the batch dimension for jagged NT")
    plan = numbers_plan(self)
    return on_numbers(self, lambda v: v.permute([d - 1 for d in order[1:]]), name, True, order.index(plan.ragged))


@entry("transpose", "swapaxes", "swapdims")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    a, b = dimension(self, dim0), dimension(self, dim1)
    order = list(range(self.dim()))
    order[a], order[b] = order[b], order[a]
    return permuted(self, order, "TransposeBackward0", "Transpose")


@entry()
def permute(self: Any, *dims: Any) -> Any:
    row = listed(dims)
    order = [dimension(self, d) for d in row]
    if sorted(order) != list(range(self.dim())):
        raise RuntimeError(f"permute(): {list(row)} is no order of the {self.dim()} dimensions")
    return permuted(self, order, "PermuteBackward0", "Permute")


@entry()
def unsqueeze(self: Any, dim: int) -> Any:
    d = dimension(self, dim, 1)
    if d == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    r = numbers_plan(self).ragged
    return on_numbers(self, lambda v: v.unsqueeze(d - 1), "UnsqueezeBackward0", True, r + (d <= r))


@entry()
def squeeze(self: Any, dim: Any = None) -> Any:
    if dim is None:
        raise type(self)._refused("squeeze")
    r, found = numbers_plan(self).ragged, self
    for d in sorted((dimension(self, x) for x in ((dim,) if isinstance(dim, int) else dim)), reverse=True):
        at, size = inner(found, d, "squeeze"), found._wg_data.shape[d]
        if size == 1:
            r -= d < r
            squeeze = lambda v, at=at: v.squeeze(at)  # noqa: E731
            found = on_numbers(found, squeeze, "SqueezeBackwardAutogradNestedTensor0", True, r)
    return found


def wanted_shape(self: Any, size: Any, op: str = "view") -> list[int]:
    """The sizes of the numbers for a new shape, which keeps the batch and ragged dimensions, as they are or as -1."""
    shape = listed(size)
    plan = numbers_plan(self)
    r, count, old = plan.ragged, plan.rows.count, self._wg_data.shape
    refused = RuntimeError(f"{op}(): cannot view shape {shown(self)} as {shape}")
    symbols = [i for i, n in enumerate(shape) if isinstance(n, NestedInt)]
    if len(shape) < r + 1 or len(symbols) > 1 or any(shape[i] != plan.rows.symbol for i in symbols):
        raise refused
    if shape[0] not in (-1, count) or isinstance(shape[0], NestedInt):
        raise refused
    if symbols:
        at = symbols[0]
    else:
        candidates = [i for i, n in enumerate(shape) if i and n == -1]
        at = r if r in candidates else candidates[0] if candidates else -1
        if at < 0:
            raise refused
    if at != r:  # ragged elsewhere: only where what stands before it says so
        before = list(shape[1:at])
        if -1 in before or int(np.prod(before, dtype=np.int64)) != int(np.prod(list(old[1:r]), dtype=np.int64)):
            raise refused
    packed = self._wg_data.packed.shape
    rest = [packed[r - 1] if i == at else n for i, n in enumerate(shape) if i]
    return [*_inherited(rest, at - 1, packed), at]


def _inherited(rest: list[int], at: int, packed: tuple[int, ...]) -> list[int]:
    """The sizes, where a -1 besides another one stands for what the dimension was."""
    open_ = [i for i, n in enumerate(rest) if n == -1]
    if len(open_) > 1:
        rest = [packed[i] if n == -1 and i < len(packed) else n for i, n in enumerate(rest)]
    return rest


@entry("view")
def view(self: Any, *size: Any, shape: Any = None) -> Any:
    return _viewed_as(self, size if shape is None else (shape,), "view")


@entry("reshape")
def reshape(self: Any, *size: Any, shape: Any = None) -> Any:
    return _viewed_as(self, size if shape is None else (shape,), "reshape")


def _viewed_as(self: Any, size: Any, how: str) -> Any:
    *shape, ragged = wanted_shape(self, size)
    return on_numbers(self, lambda v: getattr(v, how)(shape), "ViewBackwardAutogradNestedTensor0", True, ragged)


TABLE["view_as"] = lambda self, other: view(self, other.shape)
TABLE["reshape_as"] = lambda self, other: reshape(self, other.shape)


@entry()
def unflatten(self: Any, dim: int, sizes: Any) -> Any:
    d = dimension(self, dim)
    at, r = inner(self, d, "unflatten"), numbers_plan(self).ragged
    return on_numbers(self, lambda v: v.unflatten(at, sizes), "ViewBackwardAutogradNestedTensor0", True,
        r + (len(sizes) - 1 if d < r else 0))


@entry()
def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    a, b, r = dimension(self, start_dim), dimension(self, end_dim), numbers_plan(self).ragged
    for d in range(a, b + 1):
        inner(self, d, "flatten")
    return on_numbers(self, lambda v: v.flatten(a - 1, b - 1), "ViewBackwardAutogradNestedTensor0", True,
        r - (b - a if b < r else 0))


@entry()
def expand(self: Any, *size: Any, implicit: bool = False) -> Any:
    shape = listed(size)
    plan = numbers_plan(self)
    same = (len(shape) == self.dim() and shape[0] in (-1, plan.rows.count)
        and (shape[plan.ragged] == plan.rows.symbol or shape[plan.ragged] == -1))
    if not same:
        raise RuntimeError(f"expand(): cannot expand shape {shown(self)} -> {tuple(shape)}")
    shape[plan.ragged] = -1
    return on_numbers(self, lambda v: v.expand(shape[1:]), "ExpandBackward0", True)


TABLE["expand_as"] = lambda self, other: expand(self, other.shape)


@entry()
def broadcast_tensors(*tensors: Any) -> list[Any]:
    row = listed(tensors)
    first = next(t for t in row if isinstance(t, Nest))
    return [t if isinstance(t, Nest) else nest(x, numbers_plan(first))
        for t, x in zip(row, type(first)._operands("broadcast_tensors", first, row))]


# -- putting together and taking apart ---------------------------------------------------------------------------------


def _joined(name: str) -> Any:
    def join(tensors: Any, dim: int = 0, **_: Any) -> Any:
        row = list(tensors)
        if not row:
            raise RuntimeError(f"{name}(): expected a non-empty list of Tensors")
        first = next(t for t in row if isinstance(t, Nest))
        if any(not isinstance(t, Nest) for t in row):
            raise RuntimeError(f"{name}(): expected all tensors to be nested, but got a tensor that is not")
        extra = name == "stack"
        d = dimension(first, dim, extra)
        r = numbers_plan(first).ragged
        at = inner(first, d, name) if not extra or d < first.dim() else d - 1
        packed = type(first)._operands(name, first, row)
        return as_single_node(row,
            lambda: nest(function(name)(packed, at), numbers_plan(first).at(r + (extra and d <= r))))

    return join


for _name in ("cat", "stack"):
    entry(_name, *(("concat", "concatenate") if _name == "cat" else ()))(_joined(_name))


@entry("chunk", "unsafe_chunk")
def chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    if dimension(self, dim) != 0:
        at = inner(self, dim, "chunk")
        return on_numbers(  # type: ignore[no-any-return]
            self, lambda v: v.chunk(chunks, at), "ChunkBackwardAutogradNestedTensor0", True)
    plan = numbers_plan(self)
    if plan.rows.lengths is not None:
        raise RuntimeError("chunk(): not supported for NestedTensor with lengths on dim=0")
    offsets, count = plan.rows.offsets._wg_data, plan.rows.count
    step = -(-count // chunks)
    cuts = [*range(0, count, step), count]

    def run() -> tuple[Any, ...]:
        packed = numbers(self).split_with_sizes([int(offsets[b] - offsets[a]) for a, b in pairwise(cuts)],
            plan.ragged - 1)
        return tuple(viewed(v, Jagged(Rows(wrap(offsets[a : b + 1] - offsets[a])), plan.ragged)) for v, a,
            b in zip(packed, cuts, cuts[1:]))

    return as_single_node((self,), run, "ChunkBackwardAutogradNestedTensor0")  # type: ignore[no-any-return]


@entry("split", "unsafe_split")
def split(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    if isinstance(split_size, (list, tuple)):
        return split_with_sizes(self, split_size, dim)  # type: ignore[no-any-return]
    at = inner(self, dim, "split")
    return on_numbers(self, lambda v: v.split(split_size, at), "SplitBackward0", True)  # type: ignore[no-any-return]


@entry("split_with_sizes", "unsafe_split_with_sizes")
def split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> Any:
    at = inner(self, dim, "split_with_sizes")
    return on_numbers(self, lambda v: v.split_with_sizes(split_sizes, at),
        "SplitWithSizesBackwardAutogradNestedTensor0", True)


# -- rectangles --------------------------------------------------------------------------------------------------------


def padded(packed: Tensor, plan: Any, value: Any, length: int | None = None) -> Tensor:
    """The parts as rows of one tensor, filled up with ``value`` to the longest, or cut or filled to ``length``."""
    rows, at = plan.rows, plan.ragged - 1
    v = packed.movedim(at, 0)
    size = rows.longest() if length is None else length
    part, place = rows.places(v.shape[0])
    kept = rows.rows()
    if length is not None and length < rows.longest():
        kept = kept[place[kept] < size]
    if len(kept) != v.shape[0] or (np.diff(kept) != 1).any():
        v = v.index_select(0, wrap(kept))
    flat = v.new_full((rows.count * size, *v.shape[1:]), value).index_copy(0, wrap(part[kept] * size + place[kept]), v)
    return flat.view(rows.count, size, *v.shape[1:]).movedim(1, plan.ragged)  # type: ignore[no-any-return]


def unpadded(full: Tensor, plan: Any, total: int | None = None) -> Any:
    """The jagged tensor whose parts stand at the beginning of the rows of ``full``."""
    rows = plan.rows
    n = int(rows.counts.sum()) if total is None else total
    part, place = rows.places(n)
    moved = full.movedim(plan.ragged, 1)
    flat = moved.reshape(moved.shape[0] * moved.shape[1], *moved.shape[2:])
    return nest(flat.index_select(0, wrap(part * moved.shape[1] + place)).movedim(0, plan.ragged - 1), plan)


@entry()
def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """All parts in one tensor, filled up with ``padding``."""
    plan = numbers_plan(input)
    if plan.rows.lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    length = None if output_size is None else int(output_size[plan.ragged])
    return as_single_node(  # type: ignore[no-any-return]
        (input,), lambda: padded(numbers(input), plan, padding, length), "ToPaddedTensorBackward0")


# -- what works along one inner dimension, or on all numbers -----------------------------------------------------------


def _along(name: str) -> Any:
    def run(self: Any, dim: int = -1, *args: Any, **kwargs: Any) -> Any:
        d = dimension(self, dim)
        if d in (0, numbers_plan(self).ragged):
            raise NotImplementedError(
                f"aten.{name}.default: along the batch or the ragged dimension this is not there for jagged tensors")
        return on_numbers(self, lambda v: getattr(v, name)(*args, dim=d - 1, **kwargs))

    run.__name__ = name
    return run


for _name in ("cumsum", "cumprod", "logcumsumexp", "sort", "argsort"):
    entry(_name)(_along(_name))


@entry("flip")
def flip(self: Any, *dims: Any) -> Any:
    row = listed(dims)
    if {dimension(self, d) for d in row} & {0, numbers_plan(self).ragged}:
        raise type(self)._refused("flip")
    return on_numbers(self, lambda v: v.flip([dimension(self, d) - 1 for d in row]))


@entry("equal")
def equal(input: Any, other: Any) -> bool:
    """Whether both have the same parts and numbers."""
    if not (isinstance(input, Nest) and isinstance(other, Nest)):
        return False
    a, b = (numbers_plan(t).rows for t in (input, other))
    same = numbers_plan(input).ragged == numbers_plan(other).ragged and np.array_equal(a.counts, b.counts)
    return (same
        and all(bool(PLACES["torch"]["equal"](x, y)) for x, y in zip(pieces(input.detach()), pieces(other.detach()))))


@entry("allclose")
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether the numbers of both are close."""
    a, b = type(input)._operands("allclose", input, (input, other))
    return bool(PLACES["torch"]["allclose"](a, b, rtol, atol, equal_nan))


@entry("index_put")
def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """``values`` at places ``(part, place in it, …)``."""
    plan = numbers_plan(self)
    if plan.ragged != 1 or len(indices) < 2:
        raise type(self)._refused("index_put")
    part, place = (np.asarray(i._wg_data) for i in indices[:2])
    counts = plan.rows.counts
    for at, bound in ((part, len(counts)), (place, counts[part])):
        if ((at < 0) | (at >= bound)).any():
            raise IndexError("index_put(): a place that no part has")
    row = wrap(plan.rows.starts[part] + place)
    return on_numbers(self, lambda v: v.index_put((row, *indices[2:]), values, accumulate), "IndexPutBackward0",
        others=(values,))


@entry("bernoulli")
def bernoulli(input: Any, *args: Any, **kwargs: Any) -> Any:
    return on_numbers(input.detach(), lambda v: PLACES["torch"]["bernoulli"](v, *args, **kwargs))


@entry("conv1d", "conv2d", "conv3d")
def convolution(input: Any, *args: Any, **kwargs: Any) -> Any:
    raise ValueError("NestedTensor convolution_default(input: jt, weight: t, bias: t?, stride: any, padding: any, "
        "dilation: any, transposed: any, output_padding: any, groups: any): expected input to be a contiguous jagged "
        "layout NestedTensor")


@entry("dropout", "feature_dropout")
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, train: bool | None = None) -> Any:
    active = training if train is None else train
    run = PLACES["functional"]["dropout"]
    if inplace:
        run(numbers(input), p, active, True)
        return input
    if not active or p == 0:
        return on_numbers(input, lambda v: v.clone(), "NativeDropoutBackward0")
    return on_numbers(input, lambda v: run(v, p, active), "NativeDropoutBackward0")


@entry()
def embedding(input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    """Rows of ``weight`` for the numbers of a jagged tensor of indices."""
    if isinstance(weight, Nest):
        input, weight = weight, input  # torch.embedding has them the other way round
    return on_numbers(input, lambda v: PLACES["functional"]["embedding"](v, weight, *args, **kwargs),
        "EmbeddingBackward0", others=(weight,))


@entry()
def masked_select(input: Any, mask: Any) -> Tensor:
    raise RuntimeError("masked_select only support 2-D selections currently")
