"""Padding."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_copy, new_filled
from ..arrays.dtypes import as_number
from ..arrays.errors import refuse_overflow
from ..arrays.float8 import converted
from ..arrays.layouts import inside_out, outside_in
from .indexed import index_added
from .operator import Array, family

operator, composite = family("functional")


@lru_cache(256)
def _pairs(pad: tuple[int, ...], ndim: int) -> list[tuple[int, int]]:
    """``(before, after)`` for every dimension: PyTorch's list begins with the last one."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {ndim}")
    row = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(row)) + row[::-1]


def _padded_as_it_lies(input: Array, pairs: list[tuple[int, int]], mode: int, value: Any) -> Any:
    """``K.padded``, with the channels of images left where they lie."""
    moved = inside_out(input)
    if moved is None:
        return K.padded(input, pairs, mode, value)
    if mode or pairs[1] != (0, 0):
        found = K.padded(moved, [pairs[0], *pairs[2:], pairs[1]], mode, value)
        return found if found is None else outside_in(found)
    (*lead, _), n = moved.shape, moved.shape[-1]  # the last pixels with their channels as one row
    rows = moved.reshape(*lead[:-1], lead[-1] * n)
    found = K.padded(rows, [pairs[0], *pairs[2:-1], (pairs[-1][0] * n, pairs[-1][1] * n)], mode, value)
    return found if found is None else outside_in(found.reshape(*found.shape[:-1], found.shape[-1] // n, n))


@operator(grad=dict(input=lambda F, g, pad: F.constant_pad_nd(g, tuple(-n for n in pad))), places=("torch",),
    layout="channels")
def constant_pad_nd(input: Array, pad, value=0):
    """``input`` with ``value`` around it, or less of ``input`` where the amounts are negative.

    ``pad`` is ``(before, after)`` of the last dimension, then of the one before it, and so on.
    """
    pairs = _pairs(tuple(pad), input.ndim)
    if isinstance(value, (int, float, complex)) and value:
        refuse_overflow(value, input.dtype)
    if type(input) is np.ndarray and (found := _padded_as_it_lies(input, pairs, 0, value)) is not None:
        return found
    shape = tuple([n + a + b for n, (a, b) in zip(input.shape, pairs)])
    inner = tuple([slice(a if a > 0 else 0, m - b if b > 0 else m) for m, (a, b) in zip(shape, pairs)])
    outer: Any = ...
    if min(pad, default=0) < 0:
        if any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(input.shape, pairs)):
            raise RuntimeError("narrow(): length must be non-negative.")
        outer = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(input.shape, pairs))
    value = converted(as_number(value), input.dtype)
    out = new_filled(input, np.empty, shape, input.dtype)
    if out.size < 1 << 12:
        out[...] = value
    else:  # around the rest alone
        for d, (a, b) in enumerate(pairs):
            before = (slice(None),) * d
            if a > 0:
                out[(*before, slice(0, a))] = value
            if b > 0:
                out[(*before, slice(-b, None))] = value
    part = input[outer]
    if part.size:
        out[inner] = part
    return out


# -- padding with the data ---------------------------------------------------------------------------------------------


def _source(mode: str, n: int, before: int, after: int) -> Any:
    """For each place of the padded dimension the place that its value comes from."""
    if mode == "circular":  # what is cut off is not part of the circle
        first, length = max(-before, 0), n + min(before, 0) + min(after, 0)
        if length < 1:  # only where the result is empty, in this dimension or in another
            return np.zeros(n + before + after, np.intp)
        return first + np.arange(-max(before, 0), length + max(after, 0)) % length
    at = np.arange(-before, n + after)
    if mode == "replicate":
        return at.clip(0, n - 1)
    at = np.abs(at)
    return np.where(at >= n, 2 * (n - 1) - at, at)


@lru_cache(256)
def _maps(mode: str, shape: tuple[int, ...], pad: tuple[int, ...]) -> list[tuple[int, Any]]:
    return [(d, _source(mode, shape[d], a, b)) for d, (a, b) in enumerate(_pairs(pad, len(shape))) if a or b]


_MODES = {"reflect": 1, "replicate": 2, "circular": 3}
#: Images of fewer elements are padded in one step: each takes its value from where it comes.
_FEW = 1 << 12


@lru_cache(256)
def _places(mode: str, shape: tuple[int, ...], pad: tuple[int, ...], spatial: int) -> tuple[Any, Any] | None:
    """Where in an image each value of the padded image comes from, and the shape of the result; None of large ones."""
    _check(mode, shape, pad, spatial)
    maps, last = dict(_maps(mode, shape, pad)), len(shape) - spatial
    rows = [maps.get(d, np.arange(shape[d])) for d in range(last, len(shape))]
    found = (*shape[:last], *map(len, rows))
    if not 0 < math.prod(shape) <= math.prod(found) <= _FEW:
        return None
    return np.ravel_multi_index(np.ix_(*rows), shape[last:]).ravel(), found


def _filled(input: Array, mode: str, pad: Any) -> Array:
    """``input`` padded: its values are copied once, then what lies around them, one dimension after the other."""
    pairs = _pairs(pad, input.ndim)
    maps = _maps(mode, input.shape, pad)
    if any(a < 0 or b < 0 for a, b in pairs):
        for d, places in maps:
            input = input.take(places, d)
        return as_copy(input)
    out = new_filled(input, np.empty, tuple(n + a + b for n, (a, b) in zip(input.shape, pairs)), input.dtype)
    done = [slice(a, a + n) for n, (a, _) in zip(input.shape, pairs)]
    out[tuple(done)] = input
    for d, places in maps:
        values, (a, _), n = out[tuple(done)], pairs[d], input.shape[d]
        for part in (slice(0, a), slice(a + n, None)):
            if len(places[part]):
                out[(*done[:d], part, *done[d + 1 :])] = values.take(places[part], d)
        done[d] = slice(None)
    return out


def _folded(F: Any, g: Any, mode: str, shape: tuple[int, ...], pad: Any) -> Any:
    """The gradient of ``_padded``: each value added up where it came from."""
    for d, places in _maps(mode, shape, pad):
        g = F.index_added(g, d, F.constant(places), (*g.shape[:d], shape[d], *g.shape[d + 1 :]))
    return g


#: How much padding is added up place by place.
_NARROW = 16


def _added_up(g: Array, mode: str, shape: tuple[int, ...], pad: Any) -> Array:
    """The same of an array."""
    for d, places in _maps(mode, shape, pad):
        (a, b), n = _pairs(pad, len(shape))[d], shape[d]
        narrow = a >= 0 and b >= 0 and a + b <= _NARROW
        g = (K.unpadded(g, d, n, a, _MODES[mode]) if narrow
            else index_added.forward(g, d, places, (*g.shape[:d], n, *g.shape[d + 1 :])))
    return g


@lru_cache(256)
def _checked(mode: str, shape: tuple[int, ...], pad: tuple[int, ...], spatial: int) -> list[tuple[int, int]]:
    """The pairs of a padding that is allowed."""
    _check(mode, shape, pad, spatial)
    return _pairs(pad, len(shape))


def _check(mode: str, shape: tuple[int, ...], pad: Any, spatial: int) -> None:
    pairs = _pairs(pad, len(shape))
    if 0 in shape[1 if len(shape) == spatial + 2 else 0 :] and mode != "circular":
        raise RuntimeError(f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(shape)}")
    first = len(shape) - spatial
    sizes = [n + a + b for n, (a, b) in zip(shape, pairs)]
    if mode == "circular":
        for n, out, (a, b) in zip(shape[first:], sizes[first:], pairs[first:]):
            if a > n or b > n:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            if out < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
            if 0 not in shape and 0 not in sizes and n + min(a, 0) + min(b, 0) < 1:
                raise RuntimeError(f"Negative padding value is resulting in an empty dimension: of {n} places, padding "
                    f"({a}, {b}) keeps none that could be repeated")
        return
    if mode == "reflect":
        for i in reversed(range(first, len(shape))):
            (a, b), n = pairs[i], shape[i]
            if a >= n or b >= n:
                raise RuntimeError(f"Argument #{2 * (len(shape) - i) + 2}: Padding size should be less than the "
                    f"corresponding input dimension, but got: padding ({a}, {b}) at dimension {i} of input "
                    f"{list(shape)}")
    if max(sizes[first:]) < 1:  # as long as one dimension remains, the others may be empty
        before, after = ([f"{axis}: {n}" for axis, n in zip("DHW"[-spatial:], row[first:])] for row in (shape, sizes))
        raise RuntimeError(f"input ({', '.join(before)}) is too small. Calculated output {' '.join(after)}")
    if min(sizes) < 0:
        wrong = next(n for n in sizes if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {wrong}: {sizes}")


def _pad_rule(mode: str, node: str) -> dict[str, Any]:
    """The rule of a padding whose node is called ``node``."""
    if mode == "circular":  # PyTorch makes it of slices
        return dict(input=lambda F, g, input_shape, pad: _added_up(g, mode, tuple(input_shape), pad)
            if F.raw and type(g) is np.ndarray else _folded(F, g, mode, tuple(input_shape), pad))
    own = node.replace("Pad", "_pad").lower() + "_grad"

    @composite(name=own, places=(), raw=lambda g, input, pad: _added_up(g, mode, input.shape, pad))
    def back(F, g, input, pad):
        return F.kept(_folded(F, g, mode, tuple(input.shape), pad), True, input)

    return dict(input=lambda F, g, input, pad: getattr(F, own)(g, input, pad))


def _padding(mode: str, word: str, spatial: int) -> None:
    node = f"{word}Pad{spatial}D"

    @operator(grad=_pad_rule(mode, node), name=f"pad_{mode}{spatial}", node=f"{node}Backward0", places=(),
        layout="rows" if mode == "circular" else "channels")
    def padded(input: Array, pad):
        if type(input) is np.ndarray and input.size:
            whole = _padded_as_it_lies(input, _checked(mode, input.shape, pad, spatial), _MODES[mode], None)
            if whole is not None:
                return whole
        found = _places(mode, input.shape, pad, spatial)
        if found is None or type(input) is not np.ndarray or not input.flags.c_contiguous:
            return _filled(input, mode, pad)
        places, shape = found
        return input.reshape(*input.shape[: input.ndim - spatial], -1).take(places, -1).reshape(shape)


for _spatial in (1, 2, 3):
    _padding("reflect", "Reflection", _spatial)
    _padding("replicate", "Replication", _spatial)
    _padding("circular", "Circular", _spatial)


def _plan(shape: Any, pad: Any, mode: Any, value: Any) -> tuple[Any, ...] | None:
    spatial = len(pad) // 2 if type(pad) is tuple else 0
    if mode == "constant":
        return "constant_pad_nd", pad, 0 if value is None else value
    fits = 1 <= spatial <= 3 and len(pad) == 2 * spatial and len(shape) - spatial in (1, 2)
    return (f"pad_{mode}{spatial}", pad) if fits and value is None and mode in _MODES else None


@composite(plan=(None, _plan))
def pad(F, input, pad, mode="constant", value=None):
    """``input`` made larger or, by negative amounts, smaller.

    ``pad`` is ``(before, after)`` of the last dimension, then of the one before it, and so on. ``mode``: ``"constant"``
    (``value``, any dimensions), ``"reflect"``, ``"replicate"`` or ``"circular"`` (the last one, two or three dimensions
    of images).

    >>> from wengert.nn import functional as F
    >>> F.pad(torch.tensor([[1, 2, 3]]), (1, 1), mode="reflect")
    tensor([[2, 1, 2, 3, 2]])
    """
    pad = tuple([int(n) for n in pad])
    if mode == "constant":
        return F.constant_pad_nd(input, pad, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    spatial, n = len(pad) // 2, input.ndim
    _pairs(pad, n)  # as many as there are dimensions
    if not (1 <= spatial <= 3 and n in (spatial + 1, spatial + 2)):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {n}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)")
    return getattr(F, f"pad_{mode}{spatial}")(input, pad)
