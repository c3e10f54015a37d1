"""Views with strides of their own, and copies of what views show."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array, as_copy, new_filled
from ..arrays.devices import moved
from ..arrays.strides import look, memory_of, start_of
from .operator import Array, family
from .views import axis

operator, composite = family("torch", "Tensor")


# -- sliding windows ---------------------------------------------------------------------------------------------------


@operator(grad=dict(
        input=lambda F, g, input_shape, dimension, size, step: F.unfold_back(g, input_shape, dimension, size, step)),
    view=True, places=("Tensor",))
def unfold(input: Array, dimension, size, step):
    """Windows of ``size`` every ``step`` elements along ``dimension``, as a view with the windows' elements last.

    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    a = input if input.ndim else input.reshape(1)
    d = axis(dimension, input.ndim)
    length, move = a.shape[d], a.strides[d]
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    shape, strides = list(input.shape), list(input.strides)
    if input.ndim:  # otherwise there is one window of one number (or of none)
        shape[d], strides[d] = (length - size) // step + 1, move * step
    if type(a) is np.ndarray and a.size and size:
        return K.restrided(a, (*shape, size), tuple([n // a.itemsize for n in (*strides, move)]))
    return look(a, (*shape, size), (*strides, move), start_of(a))


@operator(grad=dict(input=lambda F, g, dimension, size, step: F.unfold(g, dimension, size, step)), places=(),
    linear=True, node="UnfoldBackwardBackward0")
def unfold_back(input: Array, shape, dimension, size, step):
    """Overlapping windows added up."""
    if not shape:
        return input.sum().reshape(())
    d = axis(dimension, len(shape))
    n, key = input.shape[d], (slice(None),) * d
    step = step if n > 1 else max(size, 1)
    fits = d == len(shape) - 1 and step > 1 and n == (shape[d] - size) // step + 1
    if fits and type(input) is np.ndarray and input.size and input.dtype.char in "fd":
        seen = input.reshape(-1, n, size)
        return K.add_windows(seen, (shape[d],), (size,), (step,), (0,), (1,)).reshape(shape)
    pieces = -(-size // step)  # pieces of `step` elements of different windows do not meet
    rows = max(-(-shape[d] // step), n + pieces - 1)
    out = new_filled(input, np.zeros, (*shape[:d], rows, step, *shape[d + 1 :]), input.dtype)
    windows = np.moveaxis(input, -1, d + 1)
    for k in range(pieces):
        piece = windows[(*key, slice(None), slice(k * step, min((k + 1) * step, size)))]
        out[(*key, slice(k, k + n), slice(0, piece.shape[d + 1]))] += piece
    whole = out.reshape(*shape[:d], rows * step, *shape[d + 1 :])
    return whole if rows * step == shape[d] else as_copy(whole[(*key, slice(0, shape[d]))])


# -- arbitrary strides -------------------------------------------------------------------------------------------------


def _places(shape: Any, strides: Any, offset: int) -> Any:
    """Where in memory the elements of a strided array lie."""
    out: Any = as_array(offset)
    for n, s in zip(shape, strides):
        out = out[..., None] + np.arange(n) * s
    return out


def _check_memory(size: Any, stride: Any, offset: int, item: int, room: int) -> None:
    """Refuse a view that reaches beyond the ``room`` bytes of its memory."""
    needed = _reach(size, stride, offset) * item
    if needed > room:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {item} requiring a storage size of {needed} are out of bounds for storage of size {room}")


@operator(grad=dict(input=lambda F, g, size, stride, storage_offset, source: F.through_memory(g,
        (tuple(size), tuple(stride), storage_offset), source, source)), view=True, places=())
def as_strided(input: Array, size, stride, storage_offset, source):
    """A view of the memory of ``input``; ``source`` is the ``geometry`` of ``input`` there, for the gradient."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    item = input.itemsize
    _check_memory(size, stride, storage_offset, item, memory_of(input).size)
    return look(input, size, tuple(s * item for s in stride), storage_offset * item)


@operator(grad=dict(input=lambda F, g, written, read, shared: F.through_memory(g, read, written, shared)),
    node="AsStridedBackward0", places=())
def through_memory(input: Array, written, read, shared):
    """``input`` added into zeros at the places ``written``, then read at the places ``read``.

    Places that ``shared`` shows several times (an expanded tensor) get the mean: the map is its own adjoint's mirror.
    """
    if read == shared and type(input) is np.ndarray:
        whole = np.zeros(read[0], input.dtype)  # if it lies so, with room for what is written
        part = written[0], written[1], written[2] - read[2]
        fits = 0 <= part[2] and _reach(*part) <= whole.size and _apart(*part[:2])
        if fits and whole.strides == tuple([s * whole.itemsize for s in read[1]]):
            _seen_in(whole, *part)[...] = input
            return whole
    n = max(1, *(_reach(*p) for p in (written, read, shared)))
    memory = new_filled(input, np.zeros, n, input.dtype)
    if _apart(*written[:2]):
        _seen_in(memory, *written)[...] = input
    else:
        np.add.at(memory, _places(*written).reshape(-1), input.reshape(-1))
    if not _apart(*shared[:2]):
        times = np.bincount(_places(*shared).reshape(-1), minlength=n)
        memory /= np.maximum(times, 1).astype(memory.real.dtype)
    return _seen_in(memory, *read).copy()


def _reach(shape: Any, strides: Any, offset: int) -> int:
    """How many elements of memory a strided array needs."""
    return 0 if 0 in shape else offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))


def _apart(shape: Any, strides: Any) -> bool:
    """Whether elements surely lie at different places: each step is longer than all that the smaller steps cover."""
    reach = 0
    for s, n in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        if s <= reach:
            return False
        reach += (n - 1) * s
    return True


def _seen_in(memory: Any, shape: Any, strides: Any, offset: int) -> Any:
    return look(memory, shape, tuple(s * memory.itemsize for s in strides), offset * memory.itemsize)


def _scatter_input(F: Any, g: Any, input_shape: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    part = _scatter_src(F, g, size, stride, storage_offset)
    return F.as_strided_scatter(F.new_zeros(g, input_shape), part, size, stride, storage_offset)


def _scatter_src(F: Any, g: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    flat = F.reshape(g, (-1,))
    return F.index(flat, [F.constant(_places(size, stride, storage_offset or 0))])


@operator(grad=dict(input=_scatter_input, src=_scatter_src), linear=True)
def as_strided_scatter(input: Array, src: Array, size, stride, storage_offset=None):
    """A copy of ``input`` with ``src`` written where ``as_strided`` would look.

    PyTorch's gradient of ``input``, which is given here too, is that of the part written over, zero elsewhere.
    """
    if np.shape(src) != tuple(size):
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(np.shape(src))}, "
            f"slice size = {list(size)}")
    if _apart(input.shape, input.strides):  # the whole memory is copied, also what ``input`` does not show of it
        memory, item = memory_of(input), input.itemsize
        start = start_of(input)
        whole = memory[: memory.size // item * item].copy().view(input.dtype)
        out = _seen_in(whole, input.shape, tuple(s // item for s in input.strides), start // item)
        offset = start // item if storage_offset is None else storage_offset
    else:
        out = as_copy(input)
        whole, offset = memory_of(out).view(out.dtype), storage_offset or 0
    _check_memory(size, stride, offset, input.itemsize, whole.nbytes)
    whole[_places(size, stride, offset)] = src
    return out


# -- copies of views ---------------------------------------------------------------------------------------------------


def _copy_of(name: str) -> None:
    @composite(name=f"{name}_copy", places=("torch",))
    def copied(F, input, *args, **more):
        answer = getattr(F, "reshape" if name == "view" else name)(input, *args, **more)
        if isinstance(answer, (tuple, list)):
            return tuple(F.clone(x, memory_format=True) for x in answer)
        return F.clone(answer, memory_format=True)

    copied.doc = f"``{name}`` as a copy instead of a view."


for _name in ("diagonal", "expand", "permute", "select", "split", "split_with_sizes", "squeeze", "t", "transpose",
        "unbind", "unfold", "unsqueeze", "view"):
    _copy_of(_name)


@composite(places=("torch",))
def narrow_copy(F, input, dim, start, length):
    """``narrow`` as a copy instead of a view."""
    n = input.ndim
    if not n:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim < -n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    if dim >= n:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.")
    size = input.shape[dim]
    if length < 0 and -size <= start <= size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return F.clone(F.narrow(input, dim, start, length), memory_format=True)


@composite(places=("torch",))
def alias_copy(F, input):
    """A copy, row by row."""
    return F.clone(input, memory_format=True)


@composite(places=("torch",))
def slice_copy(F, input, dim=0, start=None, end=None, step=1):
    """``input[start:end:step]`` along ``dim`` as a copy."""
    from .shape import slice_key

    return F.clone(F.basic_index(input, slice_key(dim, input.ndim, start, end, step)), memory_format=True)


@operator(grad=dict(input=lambda F, g, target, source: F.to_device(g, source, target)), node="ToCopyBackward0",
    places=(), linear=True, lazy=True)
def to_device(input: Array, target, source):
    """The values on another device. ``target``, ``source``: the classes of arrays there and where they come from."""
    return moved(input, target)
