"""Jagged tensors: parts that differ in one dimension, their numbers in one tensor, cut by offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.nested import Nested
from ...names.absent import absent_from
from ...tensor import Tensor
from ...tensor.autograd_meta import requires_grad
from ...tensor.functions import function
from ...tensor.tensor import wrap
from ...tensor.types import Size, jagged
from .. import _jagged_math  # noqa: F401  which fills the table further
from .._base import Nest, dimension, methods, numbers, viewed
from .._jagged import TABLE
from .._plans import Jagged, Rows, offsets_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class NestedTensor(Nest):
    """A nested tensor of layout ``torch.jagged``. Made by ``torch.nested`` functions.

    Its shape is ``(parts, …, j, …)``: the sizes of the ragged dimension are ``offsets().diff()``, or ``lengths()``
    where parts do not reach to the next. Tensors with the same offsets go together.

    >>> t = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    >>> t.offsets(), t.values().shape
    (tensor([0, 2, 3]), torch.Size([3, 3]))
    >>> t.mean(1)
    tensor([[1., 1., 1.],
            [0., 0., 0.]])
    """

    _own_operators = "and functions"
    layout = jagged

    @staticmethod
    def __new__(cls: Any, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None,
            requires_grad: bool = False, **kwargs: Any) -> Any:
        rows = Rows(offsets, lengths, *(_noted(kwargs.get("_metadata_cache"), n) for n in ("min_seqlen", "max_seqlen")))
        if rows.offsets._wg_data.ndim != 1 or isinstance(values, Nest):
            raise AssertionError("offsets must be of one dimension, and values no nested tensor")
        t = cls._around(Nested(values._wg_data, Jagged(rows, kwargs.get("_ragged_idx", 1))))
        t._wg_vc = values._wg_vc
        return t._wg_require(requires_grad) if requires_grad else t

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    # -- its parts -----------------------------------------------------------------------------------------------------

    def offsets(self) -> Tensor:
        """Where each part begins, and the last ends: int64, ``(parts + 1,)``."""
        return self._wg_data.plan.rows.offsets  # type: ignore[no-any-return]

    def lengths(self) -> Tensor | None:
        """The length of each part; None where each reaches to the next."""
        return self._wg_data.plan.rows.lengths  # type: ignore[no-any-return]

    _offsets, _lengths = property(offsets), property(lengths)
    _values = property(lambda self: self._packed)
    _ragged_idx = property(lambda self: self._wg_data.plan.ragged)
    _max_seqlen = _maybe_max_seqlen = property(lambda self: self._wg_data.plan.rows.longest())
    _min_seqlen = _maybe_min_seqlen = property(lambda self: self._wg_data.plan.rows.shortest())
    _metadata_cache = property(lambda self: {"max_seqlen": self._max_seqlen, "min_seqlen": self._min_seqlen})

    _max_seqlen_tensor = property(lambda self: wrap(np.empty((self._max_seqlen, 0), np.float32)))
    _min_seqlen_tensor = property(lambda self: wrap(np.empty((self._min_seqlen, 0), np.float32)))

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return Size(self._wg_data.shape)

    _size = shape

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension: of the ragged one a ``SymInt`` such as ``j1``."""
        return self.shape if dim is None else self._wg_data.shape[dimension(self, dim)]

    def stride(self, dim: int | None = None) -> Any:
        packed = self._packed.stride()
        found = (self._wg_data.plan.rows.symbol * packed[self._ragged_idx - 1], *packed)
        return found if dim is None else found[dimension(self, dim)]

    _strides = property(stride)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the numbers lie row by row and belong to some part, all of them."""
        return self.lengths() is None and self._packed.is_contiguous()

    def __len__(self) -> int:
        return self._wg_data.plan.rows.count  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind())

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self) -> Any:
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def __repr__(self) -> str:  # type: ignore[override]
        node = self.grad_fn
        shape = f"({', '.join(map(str, self._wg_data.shape))}{',' * (self.dim() == 1)})"
        notes = f", grad_fn={node}" if node is not None else ", requires_grad=True" if requires_grad(self) else ""
        return f"NestedTensor(size={shape}, offsets={self.offsets()}{notes}, contiguous={self.is_contiguous()})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._wg_edge is not None:
            raise RuntimeError("Only leaf nested tensors can be pickled; detach() it first.")
        return _rebuilt, (self._packed, self.offsets(), self.lengths(), self._ragged_idx, requires_grad(self))

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        return (["_values", "_offsets", *(["_lengths"] if self.lengths() is not None else [])],
            {"ragged_idx": self._ragged_idx})

    # -- among the operators -------------------------------------------------------------------------------------------

    @classmethod
    def _refused(cls, name: str) -> Exception:
        return NotImplementedError(f"aten.{name}.default: there is no such operator for jagged tensors. It can be done "
            "to values(), to the parts (unbind()), or to to_padded_tensor().")

    @classmethod
    def _operands(cls, name: str, first: Any, args: Any) -> list[Any]:
        found = []
        for x in args:
            if isinstance(x, NestedTensor):
                if not same_rows(first, x):
                    shapes = [f"({', '.join(map(str, t._wg_data.shape))})" for t in (first, x)]
                    raise RuntimeError(f"cannot call binary pointwise function {name}.Tensor with inputs of shapes "
                        f"{shapes[0]} and {shapes[1]}")
                found.append(numbers(x))
            elif isinstance(x, Nest):
                raise RuntimeError(f"{name}(): nested tensors of the layouts torch.jagged and torch.strided cannot be "
                    "combined")
            else:
                found.append(jagged_like(first, x) if isinstance(x, Tensor) and x.dim() else x)
        return found


NestedTensor.__module__ = "torch.nested._internal.nested_tensor"


def _noted(cache: Any, name: str) -> int | None:
    value = (cache or {}).get(name)
    return int(value.shape[0]) if isinstance(value, Tensor) else value


def _rebuilt(values: Tensor, offsets: Tensor, lengths: Tensor | None, ragged: int, wants: bool) -> Any:
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged, requires_grad=wants)


def same_rows(a: Any, b: Any) -> bool:
    """Whether two jagged tensors have the same parts, ragged in the same dimension."""
    p, q = a._wg_data.plan, b._wg_data.plan
    return bool(p.ragged == q.ragged and p.rows.symbol == q.rows.symbol)


def jagged_like(t: Any, dense: Tensor) -> Tensor:
    """A dense tensor, broadcast to the jagged ``t``, as an operand to its numbers."""
    plan, n = t._wg_data.plan, t.dim()
    r, rows = plan.ragged, plan.rows
    if dense.dim() > n:
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    if dense.dim() < n - r or (dense.dim() == n - r and dense.shape[0] == 1):
        return dense  # neither batch nor ragged dimension: the numbers' own broadcasting
    full = dense[(None,) * (n - dense.dim())]
    batch, size = full.shape[0], full.shape[r]
    if batch == 1 and size == 1:
        return full.squeeze(0)
    longest = rows.longest()
    if batch not in (1, rows.count) or size not in (1, longest):
        target = [rows.count, *full.shape[1:]]
        target[r] = longest
        full = full.expand(target)  # which says what does not fit
    part, place = (wrap(x) for x in rows.places(t._wg_data.packed.shape[r - 1]))
    if size == 1:
        found = full.squeeze(r).index_select(0, part)
    elif batch == 1:
        found = full.squeeze(0).movedim(r - 1, 0).index_select(0, place)
    else:
        found = full.movedim(r, 1)[part, place]
    return found.movedim(0, r - 1)


# -- making them -------------------------------------------------------------------------------------------------------


def nested_view_from_values_offsets(values: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: Any = None,
        max_seqlen: Any = None) -> Any:
    """A jagged view of ``values``, cut at ``offsets``."""
    return nested_view_from_values_offsets_lengths(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(values: Tensor, offsets: Tensor, lengths: Tensor | None,
        ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None) -> Any:
    """The same where parts need not reach to the next: ``lengths`` says how far they do."""
    for place, (name, x) in enumerate((("input", values), ("offsets", offsets))):
        if not isinstance(x, Tensor):
            raise TypeError(f"_nested_view_from_jagged(): argument '{name}' (position {place + 1}) must be Tensor, not "
                f"{type(x).__name__}")
    if offsets.dim() != 1:
        raise AssertionError(f"offsets must be 1D, but got {offsets.dim()}D")
    if not 1 <= ragged_idx <= values.dim():
        raise RuntimeError(f"the ragged dimension must be one of 1 to {values.dim()}, but got {ragged_idx}")
    return viewed(values, Jagged(Rows(offsets, lengths, min_seqlen, max_seqlen), ragged_idx))


def jagged_from_list(tensors: Sequence[Tensor], offsets: Tensor | None = None, dtype: Any = None,
        device: Any = None) -> tuple[Any, Tensor]:
    """The parts in one jagged tensor, and its offsets; differentiable."""
    if not len(tensors):
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for kind, text in (("dtype", "dtype"), ("device", "device"), ("ndim", "dim")):
        if len({getattr(t, kind) for t in tensors}) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have the same {text}")
    if tensors[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    sizes = [t.shape for t in tensors]
    differing = [d for d in range(tensors[0].dim()) if len({s[d] for s in sizes}) > 1] or [0]
    if len(differing) > 1:
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that "
            "the jagged layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), "
            "with ragged * dim.")
    (at,) = differing
    values = function("cat")(list(tensors), at)
    if dtype is not None:
        values = values.to(dtype)
    counts = [s[at] for s in sizes]
    if offsets is None:
        offsets = offsets_from(counts)
    return nested_view_from_values_offsets(values, offsets, at + 1, min(counts), max(counts)), offsets


def jagged_from_tensor_and_lengths(tensor: Tensor, starts: Tensor,
        lengths: Tensor) -> tuple[Any, Tensor, Tensor | None]:
    """Pieces of the rows of ``tensor``, from ``starts`` and ``lengths`` long, as a view; with offsets and lengths."""
    batch, size = tensor.shape[:2]
    if tensor.is_nested or starts.dim() > 1 or lengths.dim() > 1:
        raise RuntimeError("When constructing a jagged nested tensor using narrow(), your tensor must be dense, start "
            "and length of one dimension")
    try:
        begin, count = (np.broadcast_to(x._wg_data, (batch,)).astype(np.int64) for x in (starts, lengths))
    except ValueError:
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that "
            "broadcast to input.shape[0]"
        ) from None
    values = tensor.flatten(0, 1)
    offsets = wrap(np.concatenate([np.arange(batch) * size + begin, [batch * size]]).astype(np.int64))
    dense = bool(((begin == 0) & (count == size)).all())
    held = None if dense else wrap(count)
    least, most = (int(count.min()), int(count.max())) if batch else (0, 0)
    return nested_view_from_values_offsets_lengths(values, offsets, held, 1, least, most), offsets, held


def buffer_from_jagged(jagged: Any) -> Tensor:
    """The numbers of a jagged tensor."""
    return numbers(jagged)  # type: ignore[no-any-return]


Jagged.tensor = NestedTensor
NestedTensor.table = TABLE
methods(NestedTensor)

__getattr__ = absent_from(__name__)
