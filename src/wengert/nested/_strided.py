"""Nested tensors of the layout ``torch.strided``: every part has sizes of its own, and operators
are done part by part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..tensor import Tensor
from ..tensor.autograd_meta import requires_grad
from ..tensor.functions import function
from ..tensor.tensor import wrap
from ..tensor.types import contiguous_format, strided
from ._base import (
    Nest,
    add_likes,
    as_single_node,
    dimension,
    entries,
    listed,
    nest,
    numbers,
    numbers_plan,
    viewed,
)
from ._plans import Apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NO_SIZES = "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."
_NO_STRIDES = _NO_SIZES.replace("sizes", "strides")
TABLE: dict[str, Callable[..., Any]] = {}
entry = entries(TABLE)


class StridedNestedTensor(Nest):
    """A nested tensor of layout ``torch.strided``. Made by ``torch.nested.nested_tensor`` and ``as_nested_tensor``.

    It has no ``shape``; ``size(dim)`` gives a size that all parts share.

    >>> t = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    >>> t.size(0), t.size(2), t.dim()
    (2, 3, 3)
    """

    _own_operators = "and functions"
    layout = strided

    @property
    def shape(self) -> Any:
        raise RuntimeError(_NO_SIZES)

    def size(self, dim: int | None = None) -> Any:
        """The number of parts (dimension 0), or a size that all have in common."""
        if dim is None:
            raise RuntimeError(_NO_SIZES)
        d = dimension(self, dim)
        if d == 0:
            return len(numbers_plan(self).sizes)
        found = numbers_plan(self).common(d - 1)
        if found is None:
            raise RuntimeError(f"Given dimension {d} is irregular and does not have a size.")
        return found

    def stride(self, dim: int | None = None) -> Any:
        raise RuntimeError(_NO_STRIDES)

    def tolist(self) -> Any:
        raise RuntimeError(_NO_STRIDES)

    def numpy(self, *, force: bool = False) -> Any:
        if requires_grad(self) and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        raise RuntimeError(_NO_SIZES)

    def __len__(self) -> int:
        raise RuntimeError(_NO_SIZES)

    def __iter__(self) -> Iterator[Tensor]:
        raise RuntimeError(_NO_SIZES)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether part follows on part, each row by row."""
        return numbers_plan(self).contiguous()  # type: ignore[no-any-return]

    def _nested_tensor_size(self) -> Tensor:
        """The sizes, a row for each part."""
        plan = numbers_plan(self)
        return wrap(np.array(plan.sizes, np.int64).reshape(len(plan.sizes), self.dim() - 1))

    def _nested_tensor_strides(self) -> Tensor:
        """The strides, a row for each part."""
        plan = numbers_plan(self)
        return wrap(np.array(plan.steps, np.int64).reshape(len(plan.steps), self.dim() - 1))

    def _nested_tensor_storage_offsets(self) -> Tensor:
        """Where each part begins in the numbers."""
        return wrap(np.array(numbers_plan(self).starts, np.int64))

    def __repr__(self) -> str:  # type: ignore[override]
        node, wants = self.grad_fn, requires_grad(self)
        parts = pieces(self.detach())
        rows = [repr(p.detach().requires_grad_() if wants else p).replace("\n", "\n  ") for p in parts]
        note = f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True" if wants else ""
        return "nested_tensor([\n" + ",\n".join(f"  {row}" for row in rows) + f"\n]{note})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._wg_edge is not None:
            raise RuntimeError("Only leaf nested tensors can be pickled; detach() it first.")
        plan = numbers_plan(self)
        return rebuilt, (self._packed, plan.sizes, plan.steps, plan.starts, requires_grad(self))

    @classmethod
    def _refused(cls, name: str) -> Exception:
        return NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'NestedTensorCPU' backend: "
            "there is no such operator for nested tensors of the layout torch.strided. It can be done to the parts "
            "(unbind()), to to_padded_tensor(), or perhaps in the layout torch.jagged.")

    @classmethod
    def _operands(cls, name: str, first: Any, args: Any) -> list[Any]:
        found = []
        for x in args:
            if isinstance(x, StridedNestedTensor):
                if numbers_plan(x).sizes != numbers_plan(first).sizes:
                    raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
                found.append(numbers(TABLE["contiguous"](x)))
            elif isinstance(x, Nest):
                raise RuntimeError(f"{name}(): nested tensors of the layouts torch.jagged and torch.strided cannot be "
                    "combined")
            elif isinstance(x, Tensor) and x.dim():
                if name.rstrip("_") not in ("add", "mul") or not _matches(first, x):
                    raise RuntimeError("Expected both self and other to be nested, but got a nested self and "
                        "non-nested other")
                rows = x if x.shape[0] != 1 else x.expand(len(numbers_plan(first).sizes), *x.shape[1:])
                found.append(
                    function("cat")(
                        [row.expand(size).reshape(-1) for row, size in zip(rows.unbind(), numbers_plan(first).sizes)]))
            else:
                found.append(x)
        return found

    @classmethod
    def _pointwise(cls, name: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, StridedNestedTensor)]
        if given and not given[0].is_contiguous():  # the result lies row by row
            args = [TABLE["contiguous"](x) if x is given[0] else x for x in args]
        return super()._pointwise(name, run, args, kwargs)

    @classmethod
    def _in_place(cls, name: str, args: Any, kwargs: Any) -> Any:
        target = args[0]
        if isinstance(target, Nest) and not target.is_contiguous():
            operands = cls._operands(name + "_", target, args[1:])
            if any(isinstance(x, Tensor) and x.dim() for x in operands):
                raise RuntimeError(f"{name}_(): a nested tensor that is not contiguous can only be combined with "
                    "numbers in place")
        return super()._in_place(name, args, kwargs)


StridedNestedTensor.__module__ = "torch"


def _matches(t: Any, dense: Tensor) -> bool:
    """Whether a dense tensor is one value for each part, or for each and each place of its last dimension."""
    n = len(numbers_plan(t).sizes)
    shape = tuple(dense.shape)
    return (dense.dim() == t.dim() and shape[0] == n and all(k == 1 for k in shape[1:-1])
        and shape[-1] in (1, numbers_plan(t).common(-1)))


def rebuilt(values: Tensor, sizes: Any, steps: Any, starts: Any, wants: bool) -> Any:
    """A nested tensor of the numbers ``values``, from where each part lies in them."""
    t = viewed(values, Apart(sizes, steps, starts)).detach()
    return t._wg_require(wants) if wants else t


def pieces(t: Any) -> list[Tensor]:
    """The parts, as views of the numbers."""
    plan, flat = numbers_plan(t), numbers(t)
    if not plan.sizes:
        return []
    if plan.contiguous():
        counts = [int(np.prod(row, dtype=np.int64)) for row in plan.sizes]
        cuts = (flat.split_with_sizes([*counts, flat.shape[0] - sum(counts)]) if flat.shape[0] > sum(counts)
            else flat.split_with_sizes(counts))
        return [v.view(row) for v, row in zip(cuts, plan.sizes)]
    return [flat.as_strided(row, steps, start) for row, steps, start in zip(plan.sizes, plan.steps, plan.starts)]


def nested_from(parts: list[Tensor]) -> Any:
    """The parts as one nested tensor."""
    plan = Apart([tuple(p.shape) for p in parts])
    if not parts:
        return nest(wrap(np.empty(0, dt.default_float())), plan)
    flat = [p.reshape(-1) for p in parts]
    return nest(function("cat")(flat) if len(flat) > 1 else flat[0].clone(), plan)


def part_by_part(tensors: tuple[Any, ...], make: Callable[..., Tensor], name: str | None = None,
        others: tuple[Any, ...] = ()) -> Any:
    """``make`` of the first part of each of ``tensors``, of the second, …, as one nested tensor."""
    rows = [pieces(t) if isinstance(t, Nest) else list(t.unbind()) for t in tensors]
    return as_single_node([t for t in (*tensors, *others) if isinstance(t, Tensor)],
        lambda: nested_from([make(*row) for row in zip(*rows)]), name)


def from_parts(parts: list[Tensor], dtype: Any = None) -> Any:
    """``as_nested_tensor`` of a list."""
    for i, t in enumerate(parts):
        if t.dim() != parts[0].dim():
            raise RuntimeError("All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{t.dim()} for Tensor at index {i} and dimension {parts[0].dim()} for Tensor at index 0.")
    kind = (parts[0].dtype if parts else None) if dtype is None else dtype
    return as_single_node(parts, lambda: nested_from([t if t.dtype is kind else t.to(kind) for t in parts]),
        "NestedTensorFromTensorListBackward0")


def from_rows(dense: Tensor) -> Any:
    """``as_nested_tensor`` of one tensor: its rows are the parts."""
    return viewed(dense.reshape(-1), Apart([tuple(dense.shape[1:])] * dense.shape[0]))


# -- parts -------------------------------------------------------------------------------------------------------------


@entry()
def unbind(self: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts, as views."""
    d = dimension(self, dim)
    if d != 0:
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {d} instead.")
    return tuple(as_single_node((self,), lambda: tuple(pieces(self)), "UnbindBackwardAutogradNestedTensor0"))


@entry()
def select(self: Any, dim: int, index: Any) -> Any:
    """One part, or one place of a dimension in all parts."""
    plan, d = numbers_plan(self), dimension(self, dim)
    if d == 0:
        n, i = len(plan.sizes), int(index)
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for dimension 0 with size {n}")
        i %= n
        return as_single_node((self,), lambda: numbers(self).as_strided(plan.sizes[i], plan.steps[i], plan.starts[i]),
            "SelectBackwardAutogradNestedTensor0")
    for row in plan.sizes:
        if not -row[d - 1] <= index < row[d - 1]:
            raise IndexError(f"index {index} is out of bounds for dimension {d} with size {row[d - 1]}")
    starts = [s + (index % row[d - 1]) * steps[d - 1] for s, row, steps in zip(plan.starts, plan.sizes, plan.steps)]
    left = plan.moved([_without(row, d - 1) for row in plan.sizes], [_without(row, d - 1) for row in plan.steps],
        starts)
    return _seen(self, left, "SelectBackwardAutogradNestedTensor0")


def _without(row: tuple[int, ...], at: int) -> tuple[int, ...]:
    return row[:at] + row[at + 1 :]


def _seen(self: Any, plan: Apart, name: str) -> Any:
    """Other windows of the same numbers, as a view."""
    return as_single_node((self,), lambda: viewed(numbers(self), plan), name)


@entry("__getitem__")
def getitem(self: Any, key: Any) -> Any:
    row = list(key) if isinstance(key, tuple) else [key]
    if row and isinstance(row[0], (int, np.integer)) and not isinstance(row[0], bool):
        part = select(self, 0, int(row[0]))
        return part[tuple(row[1:])] if len(row) > 1 else part
    if len(row) == 2 and row[0] is Ellipsis and isinstance(row[1], int):
        return select(self, -1, row[1])
    if row == [None]:
        return unsqueeze(self, 0)  # is refused
    raise RuntimeError(_NO_SIZES)


@entry("__setitem__")
def setitem(self: Any, key: Any, value: Any) -> None:
    raise RuntimeError(_NO_SIZES)


@entry()
def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    """Some of the parts."""
    if dim != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    plan, cut = numbers_plan(self), slice(start, start + length)
    return _seen(self, plan.moved(plan.sizes[cut], plan.steps[cut], plan.starts[cut]), "NarrowBackward0")


# -- copies and shapes -------------------------------------------------------------------------------------------------


@entry()
def clone(self: Any, memory_format: Any = None, **_: Any) -> Any:
    if memory_format is contiguous_format and not self.is_contiguous():
        return part_by_part((self,), lambda p: p.clone(), "CloneBackward0")
    return as_single_node((self,), lambda: nest(numbers(self).clone(), numbers_plan(self)), "CloneBackward0")


@entry("to_dense")
def to_dense(self: Any, *_: Any, **__: Any) -> Any:
    return self


@entry("cast")
def cast(self: Any, dtype: Any, *_: Any) -> Any:
    return as_single_node((self,),
        lambda: nest(function("cast")(numbers(self), dtype), numbers_plan(self)), "ToCopyBackward0")


add_likes(entry, lambda t: Apart(numbers_plan(t).sizes))


@entry("transpose", "swapaxes", "swapdims")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    a, b = dimension(self, dim0), dimension(self, dim1)
    if a == b:
        return self
    if 0 in (a, b):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    plan = numbers_plan(self)

    def swapped(row: tuple[int, ...]) -> tuple[int, ...]:
        new = list(row)
        new[a - 1], new[b - 1] = new[b - 1], new[a - 1]
        return tuple(new)

    return _seen(self, plan.moved([swapped(r) for r in plan.sizes], [swapped(r) for r in plan.steps]),
        "TransposeBackward0")


@entry()
def unsqueeze(self: Any, dim: int) -> Any:
    d = dimension(self, dim, 1)
    if d == 0:
        raise RuntimeError("unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if "
            "you need this feature, please open an issue on github describing your use case.")
    plan = numbers_plan(self)
    sizes = [(*row[: d - 1], 1, *row[d - 1 :]) for row in plan.sizes]
    steps = [(*s[: d - 1], row[d - 1] * s[d - 1] if d - 1 < len(row) else 1, *s[d - 1 :])
        for row, s in zip(plan.sizes, plan.steps)]
    return _seen(self, plan.moved(sizes, steps), "UnsqueezeBackward0")


@entry()
def squeeze(self: Any, dim: Any = None) -> Any:
    if dim is None:
        raise RuntimeError(_NO_SIZES)
    d = dimension(self, dim)
    if d == 0:
        raise RuntimeError("squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment if you "
            "need this feature, please open an issue on github describing your use case.")
    plan = numbers_plan(self)
    if plan.common(d - 1) != 1:
        return self
    moved = plan.moved([_without(r, d - 1) for r in plan.sizes], [_without(r, d - 1) for r in plan.steps])
    return _seen(self, moved, "SqueezeBackwardAutogradNestedTensor0")


def _reshaped(self: Any, size: Any, name: str) -> Any:
    shape = listed(size)
    plan = numbers_plan(self)
    if not shape or shape[0] != len(plan.sizes):
        raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
    sizes = []
    for row in plan.sizes:
        new = [row[i] if n == -1 and i < len(row) else n for i, n in enumerate(shape[1:])]
        if -1 in new:
            raise RuntimeError("nested tensor does not infer shape")
        count = int(np.prod(row, dtype=np.int64))
        if int(np.prod(new, dtype=np.int64)) != count:
            raise RuntimeError(f"shape '{shape}' is invalid for input of size {count}")
        sizes.append(tuple(new))
    return sizes


@entry()
def view(self: Any, *size: Any) -> Any:
    sizes = _reshaped(self, size, "view")
    if not self.is_contiguous():
        raise RuntimeError("view size is not compatible with input tensor's size and stride: the nested tensor is not "
            "contiguous. Use .reshape(...)")
    return _seen(self, Apart(sizes), "ViewBackwardAutogradNestedTensor0")


@entry()
def reshape(self: Any, *size: Any) -> Any:
    sizes = _reshaped(self, size, "reshape")
    return _seen(TABLE["contiguous"](self), Apart(sizes), "ViewBackwardAutogradNestedTensor0")


TABLE["view_as"] = TABLE["reshape_as"] = (
    lambda self, other: _seen(TABLE["contiguous"](self), Apart(numbers_plan(other).sizes), "ViewBackward0"))


def _cut(self: Any, lengths: list[int], name: str) -> tuple[Any, ...]:
    """Windows of the last dimension."""
    plan, start, found = numbers_plan(self), 0, []
    plans = []
    for n in lengths:
        at = start
        sizes = [(*row[:-1], n) for row in plan.sizes]
        plans.append(plan.moved(sizes, plan.steps, [s + at * steps[-1] for s, steps in zip(plan.starts, plan.steps)]))
        start += n
    found = as_single_node((self,), lambda: tuple(viewed(numbers(self), p) for p in plans), name)
    return tuple(found)


@entry("chunk", "unsafe_chunk")
def chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    if dimension(self, dim) != self.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    size = self.size(-1)
    step = -(-size // chunks)
    return _cut(self, [min(step, size - a) for a in range(0, size, step)], "ChunkBackwardAutogradNestedTensor0")


@entry("split_with_sizes", "unsafe_split_with_sizes")
def split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    if dimension(self, dim) != self.dim() - 1:
        raise RuntimeError("split_with_sizes for nested tensors is currently only supported for the last dimension.")
    if sum(split_sizes) != self.size(-1):
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {self.size(-1)} (input tensor's "
            f"size at dimension -1), but got split_sizes={list(split_sizes)}")
    return _cut(self, list(split_sizes), "SplitWithSizesBackwardAutogradNestedTensor0")


@entry("split", "unsafe_split")
def split(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    if isinstance(split_size, (list, tuple)):
        return split_with_sizes(self, split_size, dim)  # type: ignore[no-any-return]
    raise RuntimeError(_NO_SIZES)


@entry()
def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """All parts in one tensor, filled up with ``padding``."""
    plan = numbers_plan(input)
    if not input.is_contiguous():
        raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
    if not plan.sizes:
        return wrap(np.empty(0, input._wg_data.dtype))
    most = [max(column) for column in zip(*plan.sizes)]
    size = [len(plan.sizes), *most]
    if output_size is not None:
        if not isinstance(output_size, (tuple, list)):
            raise TypeError("nested_to_padded_tensor(): argument 'output_size' (position 3) must be tuple of ints, not "
                f"{type(output_size).__name__}")
        if len(output_size) != len(size):
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not "
                f"supported.(Got {len(output_size)} and {len(size)})")
        if any(a < b for a, b in zip(output_size, size)):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not "
                "supported.")
        size = list(output_size)
    every: Any = np.arange(int(np.prod(size, dtype=np.int64))).reshape(size)  # where each number goes
    places = [every[(i, *(slice(n) for n in row))].reshape(-1) for i, row in enumerate(plan.sizes)]

    def make() -> Tensor:
        flat = numbers(input).new_full((every.size,), padding)
        return flat.index_copy(  # type: ignore[no-any-return]
            0, wrap(np.concatenate(places)), numbers(input)).view(size)

    return as_single_node((input,), make, "ToPaddedTensorBackward0")  # type: ignore[no-any-return]


Apart.tensor = StridedNestedTensor
