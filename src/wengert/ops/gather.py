"""Reading and writing at index tensors and masks."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.reduce import wide_type
from .operator import family
from .views import axis

if TYPE_CHECKING:
    from .operator import Array

operator, composite = family("torch", "Tensor")


# -- index arithmetic ---------------------------------------------------------------------------------------------------


def whole(name: str, index: Any) -> Any:
    """``index`` as int64; ``RuntimeError`` for anything but whole numbers."""
    if index.dtype is dt.I64:
        return index
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return index.astype(dt.I64)


def inside(index: Any, size: int, dim: int) -> None:
    """Refuse places outside a dimension."""
    if index.size and not (0 <= index.min() and index.max() < size):
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def grid(shape: tuple[int, ...], index: Any, dim: int) -> tuple[Any, ...]:
    """The key that reads ``index`` along ``dim`` and every other dimension at its own place."""
    n = len(shape)
    return tuple(index if i == dim else np.arange(m).reshape((1,) * i + (m,) + (1,) * (n - i - 1)) for i, m in enumerate(shape))


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
    """Add ``values`` to the elements of the contiguous ``out`` at ``places`` of its row-major order, repeated ones too."""
    if out.dtype.kind in "fcV":
        wide = wide_type(out.dtype)
        if wide is not None:
            return K.add_at(out.reshape(-1).astype(wide), places.reshape(-1), values.reshape(-1).astype(wide)).astype(out.dtype).reshape(out.shape)
        K.add_at(out.reshape(-1), places.reshape(-1), np.ascontiguousarray(values).reshape(-1))
    elif out.dtype.kind == "b":
        np.logical_or.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))
    else:
        np.add.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))
    return out


def add_rows(out: Any, dim: int, index: Any, values: Any) -> Any:
    """Add the slices of ``values`` along ``dim`` to those of the contiguous ``out`` that ``index`` names."""
    if dim:
        first = np.ascontiguousarray(np.moveaxis(out, dim, 0))
        return np.ascontiguousarray(np.moveaxis(add_rows(first, 0, index, np.moveaxis(values, dim, 0)), 0, dim))
    if out.dtype.kind in "fcV":
        wide = wide_type(out.dtype)
        if wide is not None:
            return K.add_at(out.astype(wide), index, values.astype(wide)).astype(out.dtype)
        return K.add_at(out, index, np.ascontiguousarray(values))
    (np.logical_or if out.dtype.kind == "b" else np.add).at(out, index, values)
    return out


def _match(name: str, input: Any, dim: int, index: Any, src: Any = None) -> None:
    """The conditions of gather and scatter on the shapes of their arguments."""
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor" if src is None
                           else "Index tensor must have the same number of dimensions as self tensor")  # fmt: skip
    if src is not None and max(src.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    n = index.ndim
    wrong = any(index.shape[i] > input.shape[i] for i in range(n) if i != dim and input.ndim)
    wrong = wrong or (src is not None and bool(src.ndim) and any(index.shape[i] > src.shape[i] for i in range(n)))
    if wrong:
        if src is None and name == "gather":
            i = next(i for i in range(n) if i != dim and index.shape[i] > input.shape[i])
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )
        tail = f" and to be no larger size than src {list(src.shape)}" if src is not None else ""
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim}{tail}"
        )


# -- gather -------------------------------------------------------------------------------------------------------------


@operator(grad=dict(input=lambda F, g, dim, index, input_shape: F.scattered(g, dim, index, input_shape)))
def gather(input: Array, dim, index: Array, *, sparse_grad=False):
    """``result[i][j] = input[index[i][j]][j]`` for ``dim=0``, and so on; the shape of the result is that of ``index``.

    ``index`` is int64 and, apart from ``dim``, no larger than ``input``.

    >>> import wengert as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    dim = axis(dim, input.ndim)
    if not index.size:
        return np.empty(index.shape, input.dtype)
    index = whole("gather", index)
    _match("gather", input, dim, index)
    inside(index, input.shape[dim] if input.ndim else 1, dim)
    if input.ndim <= 1:
        return input.reshape(-1)[index] if index.ndim else np.asarray(input.reshape(-1)[index])
    return input[grid(index.shape, index, dim)]


@operator(grad=dict(input=lambda F, g, dim, index: F.gather(g, dim, index)), node="ScatterAddBackward0", places=())
def scattered(input: Array, dim, index: Array, size, exact=False):
    """The gradient of ``gather``: ``input`` added into zeros of shape ``size``. ``exact``: no place occurs twice."""
    out = np.zeros(size, input.dtype)
    if not index.size:
        return out
    dim = axis(dim, len(size))
    if not size:
        out += input.reshape(-1).sum()
    elif exact:
        out[grid(index.shape, index, dim)] = input
    else:
        out = add_flat(out, flat_places(index, size, dim), input)
    return out


@operator(grad=dict(input=lambda F, g, dim, index, input_shape: F.index_added(g, dim, index, input_shape)))
def index_select(input: Array, dim, index: Array):
    """The slices of ``input`` along ``dim`` that ``index`` (int32 or int64, one dimension) names.

    >>> import wengert as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    dim = axis(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    index = whole("index_select", index)
    if index.size and not (0 <= index.min() and index.max() < (input.shape[dim] if input.ndim else 1)):
        raise IndexError("index out of range in self")
    if not input.ndim:
        return input.copy()
    return input.take(index.reshape(-1), dim)


@operator(grad=dict(input=lambda F, g, dim, index: F.index_select(g, dim, index)), node="IndexAddBackward0", places=())
def index_added(input: Array, dim, index: Array, size):
    """The gradient of ``index_select``: slices added into zeros of shape ``size``."""
    if not size:
        return input.reshape(())
    return add_rows(np.zeros(size, input.dtype), axis(dim, len(size)), index.reshape(-1), input)


# -- masks --------------------------------------------------------------------------------------------------------------


def boolean(name: str, mask: Any) -> None:
    if mask.dtype != bool:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {dt.of(mask.dtype)}")


@operator(grad=dict(input=lambda F, g, mask: F.masked_fill(g, mask, 0)), inplace=True, places=())
def masked_fill(input: Array, mask: Array, value):
    boolean("masked_fill", mask)
    out = np.array(input if input.shape == mask.shape else np.broadcast_to(input, np.broadcast_shapes(input.shape, mask.shape)))
    np.copyto(out, value, where=mask, casting="unsafe")
    return out


@operator(
    grad=dict(input=lambda F, g, mask: F.masked_fill(g, mask, 0), value=lambda F, g, mask: F.sum(g * mask)),
    promote=None, inplace=True, node="MaskedFillBackward1", places=(),
)  # fmt: skip
def masked_fill_tensor(input: Array, mask: Array, value: Array):
    if value.ndim:
        raise RuntimeError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    if not dt.can_cast(value.dtype, input.dtype):
        raise RuntimeError(
            f"value cannot be converted to type {dt.scalar_name(input.dtype)} without overflow"
            if value.dtype.kind != "c" else f"result type {dt.scalar_name(value.dtype)} can't be cast to {dt.scalar_name(input.dtype)}"
        )  # fmt: skip
    return masked_fill.forward(input, mask, value)
