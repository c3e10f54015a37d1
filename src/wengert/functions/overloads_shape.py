"""Splitting, filling and scattering with several forms: lengths or lists of them, numbers or tensors, reductions."""

from __future__ import annotations

from typing import Any

from ..arrays.errors import warn_once
from ..arrays.strides import geometry
from ..graph.modes import modes
from ..ops.errors import common_shape
from ..tensor import classes
from ..tensor.autograd_meta import edge_of, requires_grad
from ..tensor.functions import function, inplace_function
from ..tensor.record import undifferentiable
from ..tensor.tensor import Tensor
from ..tensor.types import Size, contiguous_format
from .composites.call import by_example
from .overloads import by_kind, overload


@overload("torch", "Tensor")
def split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, **more: Any) -> tuple[Tensor, ...]:
    """Views along ``dim``: of one length (the last may be shorter), or of the lengths in a list.

    >>> [len(part) for part in torch.arange(5).split(2)]
    [2, 2, 1]
    >>> [len(part) for part in torch.arange(5).split([1, 4])]
    [1, 4]
    """
    size = more.pop("split_size", split_size_or_sections)
    if isinstance(size, (list, tuple)):
        return function("split_with_sizes")(tensor, size, dim)
    return function("split")(tensor, size, dim, **more)


for _find, _places in ((function, ("torch", "Tensor")), (inplace_function, ("Tensor",))):
    by_kind("masked_fill", 2, "value", _find, *_places)
    by_kind("index_fill", 3, "value", _find, *_places)


# -- scatter -----------------------------------------------------------------------------------------------------------

_KINDS = {"add": "sum", "multiply": "prod"}


def _scatter(find: Any) -> Any:
    def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None,
            **more: Any) -> Tensor:
        """``input`` with ``src`` (a tensor or a number) written at ``index`` along ``dim``.

        For ``dim=0``: ``result[index[i][j]][j] = src[i][j]``. Where places repeat, one of the values wins. ``reduce``
        ("add", "multiply") joins the values to what was there instead.

        >>> torch.zeros(2, 2).scatter(1, torch.tensor([[1], [0]]), 5.0)
        tensor([[0., 5.],
                [5., 0.]])
        """
        src = value if src is None else src
        if reduce is None:
            return find("scatter" if isinstance(src, Tensor) else "scatter_value")(input, dim, index, src, **more)
        if reduce not in _KINDS:
            raise RuntimeError("reduce argument must be either add or multiply.")
        if not isinstance(src, Tensor):
            src = input.new_full(index.shape, src)
        else:
            warn_once("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a "
                "future PyTorch release. Use torch.scatter_reduce instead for more reduction options.")
        return _reduce(find, "scatter", input, dim, index, src, _KINDS[reduce], True, more)

    return scatter


def _reduce(find: Any, kind: str, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool,
        more: Any) -> Any:
    part = "total" if reduce in ("sum", "mean") else "pick"
    return find(f"{kind}_{part}")(input, dim, index, src, reduce, include_self, **more)


def _scatter_reduce(find: Any) -> Any:
    def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True,
            **more: Any) -> Tensor:
        """``input`` with ``src`` joined in at ``index`` along ``dim`` by "sum", "prod", "mean", "amax" or "amin".

        Without ``include_self`` the old values at the written positions do not count.

        >>> index, src = torch.tensor([0, 0, 1]), torch.tensor([1.0, 3.0, 5.0])
        >>> torch.zeros(2).scatter_reduce(0, index, src, "mean", include_self=False)
        tensor([2., 5.])
        """
        if reduce not in ("sum", "prod", "mean", "amax", "amin"):
            raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
        return _reduce(find, "scatter", input, dim, index, src, reduce, include_self, more)

    return scatter_reduce


def _index_reduce(find: Any) -> Any:
    def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True,
            **more: Any) -> Tensor:
        """``input`` with slices of ``source`` joined to those that ``index`` names: "prod", "mean", "amax", "amin"."""
        warn_once("index_reduce() is in beta and the API may change at any time.")
        if reduce not in ("prod", "mean", "amax", "amin"):
            raise RuntimeError("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
                f"{reduce}.")
        n = input.shape[dim] if input.ndim else 1
        if index.numel() and not (0 <= int(index.min()) and int(index.max()) < n):
            raise IndexError("index out of range in self")
        if index.numel() != (source.shape[dim] if source.ndim else 1):
            raise RuntimeError(f"index_reduce(): Number of indices ({index.numel()}) should be equal to "
                f"source.size(dim): ({source.shape[dim]}), for dim: {dim}")
        shape = [1] * source.ndim
        if shape:
            shape[dim] = -1
        index = index.reshape(shape).expand(source.shape)
        return _reduce(find, "index", input, dim, index, source, reduce, include_self, more)

    return index_reduce


for _make in (_scatter, _scatter_reduce, _index_reduce):
    _copying, _inplace = _make(function), _make(inplace_function)
    _inplace.__name__ += "_"
    if _make is _index_reduce:  # which looks at the places
        _copying, _inplace = by_example(_copying), by_example(_inplace)
    overload("torch", "Tensor")(_copying)
    overload("Tensor")(_inplace)


# -- shapes ------------------------------------------------------------------------------------------------------------


@overload("torch")
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that all of ``shapes`` broadcast to.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    rows = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for row in rows:
        for at, n in enumerate(row):
            if not hasattr(n, "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {at} is '{type(n).__name__}')")
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
    so_far: tuple[int, ...] = ()
    for i, row in enumerate(rows):
        try:
            so_far = common_shape(so_far, row)
        except RuntimeError:
            at = next(k for k in range(1, len(row) + 1) if row[-k] != 1 and so_far[-k] not in (1, row[-k]))
            raise RuntimeError(f"Attempting to broadcast a dimension of length {row[-at]} at {-at}! Mismatching "
                f"argument at index {i} had {row}; but expected shape should be broadcastable to "
                f"{list(so_far)}") from None
    return Size(so_far)


@overload("torch")
def block_diag(*tensors: Any) -> Any:
    """Matrices (vectors are rows, numbers 1 by 1) one after another along the diagonal, zero elsewhere.

    >>> torch.block_diag(torch.ones(1, 2), torch.tensor(3.0))
    tensor([[1., 1., 0.],
            [0., 0., 3.]])
    """
    return function("block_diag")(list(tensors)) if tensors else Tensor([]).reshape(1, 0)


@overload("torch", "Tensor")
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *,
        output_size: int | None = None) -> Tensor:
    """Each element (or slice along ``dim``) repeated in place, ``repeats`` times or as often as a tensor says for each.

    With one tensor alone: each place as often as the tensor says.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return function("repeat_places")(input)
    found = function("repeat_interleave_each")(input, repeats, dim)
    if output_size is not None and output_size != found.shape[0 if dim is None else dim]:
        raise RuntimeError("allocated size does not match required size")
    return found


@overload("torch", "Tensor")
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with the given sizes, steps (in elements) and beginning.

    >>> torch.as_strided(torch.arange(4), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    source = geometry(input._wg_data)
    if storage_offset is None:
        storage_offset = 0 if type(input) is classes.Batched_ else source[2]  # in a map: from where each example begins
    return function("as_strided")(input, tuple(size), tuple(stride), storage_offset, source)


@overload("torch")
def as_strided_copy(
    input: Any, size: Any, stride: Any, storage_offset: int | None = None, *, out: Any = None
) -> Tensor:
    """``as_strided`` as a copy."""
    if out is not None:
        return function("alias_copy")(as_strided(input.detach(), size, stride, storage_offset), out=out)
    return as_strided(input, size, stride, storage_offset).clone(memory_format=contiguous_format)


@overload("torch")
def detach_copy(input: Any) -> Tensor:
    """A copy without history; PyTorch's has no gradient rule: a gradient that reaches what is recorded raises."""
    found = input.detach().clone(memory_format=contiguous_format)
    if modes().grad and requires_grad(input):
        node = undifferentiable("aten::detach_copy", found)
        node.edges, found._wg_edge = (edge_of(input),), (node, 0)
    return found


@overload("torch")
def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, a tensor for each dimension, of positions in an array of ``shape`` that is counted row by row.

    >>> torch.unravel_index(torch.tensor([5, 1]), (2, 3))
    (tensor([1, 0]), tensor([2, 1]))
    """
    if indices._wg_data.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else shape
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    coordinates, rest = [], indices.long()
    for n in reversed(sizes):
        coordinates.append(rest % n)
        rest = rest // n
    return tuple(reversed(coordinates))
