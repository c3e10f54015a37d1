"""Resampling and rearranging images."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache, reduce
from operator import index as whole
from operator import mul
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import in_rows
from ..arrays.dtypes import is_half
from ..arrays.errors import check_countable, warn
from ..arrays.layouts import inside_out
from ..arrays.plain import sampling as S
from ..arrays.plain.sampling import far, near
from ..arrays.reduce import add_slices
from ..arrays.storageless import zeros_if_storageless
from .indexed import index_added
from .operator import Array, family
from .pooling import along
from .refusals import same_width, unsupported
from .resampling import Taps, as_before, by_memory
from .window_checks import single

operator, composite = family("functional")
F32 = np.dtype(np.float32)


# -- interpolation: sums along each axis ------------------------------------------------------------------------------


def _cubic(t: Any, a: float) -> Any:
    t = np.abs(t)
    return np.where(t <= 1, near(t, a), np.where(t < 2, far(t, a), 0.0))


def _positions(size: int, out: int, scale: float | None, align: bool, dtype: Any) -> tuple[Any, float]:
    """Where each output lies among the inputs, and the step between them, in ``dtype``, by fused multiplication."""
    one: Any = dtype.type
    wide: Any = np.longdouble if dtype.itemsize == 8 else np.float64
    i = np.arange(out).astype(wide)
    if align:
        step = one(size - 1) / one(out - 1) if out > 1 else one(0)
        return (i * step).astype(dtype), float(step)
    step = one(1.0 / scale) if scale is not None and scale > 0 else one(size) / one(out)
    return ((i + wide(0.5)) * step - wide(0.5)).astype(dtype), float(step)


@lru_cache(maxsize=64)
def _weights(mode: str, space: Any, out: Any, scales: Any, *given: Any) -> tuple[Taps, ...]:
    """``_new_weights`` for each dimension."""
    return tuple(_new_weights(mode, s, o, scale, *given) for s, o, scale in zip(space, out, scales))


def _new_weights(mode: str, size: int, out: int, scale: float | None, align: bool, antialias: bool, dtype: Any) -> Taps:
    """What each element of linear or cubic interpolation adds up."""
    at, step = _positions(size, out, scale, align, np.dtype(np.float64) if antialias else dtype)
    columns = np.arange(out)
    if antialias:
        reach = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}[mode]
        width = max(step, 1.0)
        centre = (columns + 0.5) * step
        low = np.maximum((centre - reach * width + 0.5).astype(int), 0)
        high = np.minimum((centre + reach * width + 0.5).astype(int), size)
        rows = np.arange(size)[:, None]
        t = (rows - centre + 0.5) * (1 / width)
        if mode == "lanczos":
            w = np.sinc(t) * np.sinc(t / 3) * (np.abs(t) < 3)
        else:
            w = np.maximum(1 - np.abs(t), 0) if mode == "linear" else _cubic(t, -0.5)
        w = np.where((rows >= low) & (rows < high), w, 0.0)
        row, column = np.nonzero(w)
        return Taps.of(size, out, column, row, (w / w.sum(0))[row, column].astype(dtype))
    if mode == "linear":
        at = at if align else np.maximum(at, 0)
        low = np.minimum(np.floor(at).astype(int), size - 1)
        high = np.minimum(low + 1, size - 1)
        t = np.clip(at - low, 0, 1)
        if size == out:  # each element is its own neighbour, which counts zero times
            low, high, t = columns, columns, np.zeros(out)
        places, factors = np.stack([low, high]), np.stack([1 - t, t])
    else:
        base = np.floor(at)
        near = np.arange(-1, 3)[:, None]
        places, factors = np.clip(base + near, 0, size - 1).astype(int), _cubic(at - base - near, -0.75)
    return Taps(size, places, factors.astype(dtype))


@lru_cache(maxsize=64)
def _nearest_places(size: int, out: int, scale: float | None, exact: bool) -> Any:
    """Where each element comes from along one axis (None: from where it is), and how often each is used, if evenly."""
    step = np.float32(1.0 / scale if scale is not None and scale > 0 else size / out)
    at = (np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)) * step
    index = np.minimum(np.floor(at).astype(np.int64), size - 1)
    if size == out and np.array_equal(index, np.arange(size)):
        return None
    times, rest = divmod(out, size)
    even = 1 < times <= 8 and not rest and np.array_equal(index, np.arange(out) // times)
    return index, times if even else 0


@operator(grad=dict(input=lambda F, g, places, input_shape: F.nearest_back(g, places,
    tuple(input_shape[-len(places):]))), places=(), linear=True, node="UpsampleBackward0")
def nearest(input: Array, places):
    """The elements at ``places`` (None: all) along each of the last dimensions."""
    y, first = by_memory(input, len(places))
    for d in range(len(places) - 1, -1, -1):  # the last first: then whole rows are copied
        if places[d] is not None:
            y = y.take(places[d][0], first + d)
    return as_before(y, first, len(places))


@operator(grad=dict(input=lambda F, g, places: F.nearest(g, places)), places=(), linear=True)
def nearest_back(input: Array, places, sizes):
    """What came from the same element, added up, along each of the last dimensions, which had these sizes."""
    input, first = by_memory(input, len(places))
    for d, at in enumerate(range(first, first + len(places))):
        if places[d] is None:
            continue
        index, times = places[d]
        if times and input.dtype.kind == "f" and input.dtype.itemsize > 2:
            input = add_slices(input.reshape((*input.shape[:at], sizes[d], times, *input.shape[at + 1 :])), at + 1)
        else:
            input = index_added.forward(input, at, index, (*input.shape[:at], sizes[d], *input.shape[at + 1 :]))
    return as_before(input, first, len(places))


def _named(size: Any) -> str:
    return ", ".join(f"{a}: {s}" for a, s in zip("DHW"[-len(size) :], size))


# how many spatial dimensions each mode needs
_MODES: dict[str, Any] = (
    dict.fromkeys(("nearest", "nearest-exact", "area")) | dict(linear=1, bilinear=2, bicubic=2, lanczos=2, trilinear=3))
_KINDS = dict(linear="linear", bilinear="linear", trilinear="linear", bicubic="cubic", lanczos="lanczos")


def _bytes_resampled(F: Any, input: Any, mode: str, out: tuple[int, ...], scales: Any, align: bool,
        antialias: bool) -> Any:
    """A picture of bytes resized, as whole numbers in float64: rows first, then columns, each rounded to a byte.

    As in PyTorch the weights are fixed-point numbers of 16 bits, with as many bits behind the point as the largest
    leaves.
    """
    y = F.cast(input, np.dtype(np.float64))
    for axis in (1, 0):
        size = input.shape[2 + axis]
        if size == out[axis]:
            continue
        matrix = _new_weights(_KINDS[mode], size, out[axis], scales[axis], align, antialias, np.dtype(float)).dense()
        bits = next((n for n in range(22) if int(0.5 + matrix.max() * 2.0 ** (n + 1)) >= 1 << 15), 22)
        fixed = np.trunc(matrix * 2.0**bits + np.where(matrix < 0, -0.5, 0.5))
        y = F.clamp(F.floor(along(F, y, 2 + axis, fixed) * 0.5**bits + 0.5), 0, 255)
    return y


_SIZES = "Input Error: Only 3D, 4D and 5D input Tensors supported"


def _check_mode(ndim: int, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Refuse a mode that there is not, or not for inputs of ``ndim`` dimensions, and settings that it does not have."""
    known, n = mode in _MODES, ndim - 2
    if known and n in (1, 2, 3) and mode in ("linear", "bilinear", "trilinear") and _MODES[mode] != n:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_MODES[mode] + 2}D input")
    if not known or n not in (1, 2, 3) or _MODES[mode] not in (None, n):
        raise NotImplementedError(f"{_SIZES} (got {ndim}D) for the modes: nearest | linear | bilinear | bicubic | "
            f"trilinear | lanczos | area | nearest-exact (got {mode})")
    if _MODES[mode] is None and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
            "bicubic | trilinear")
    if antialias and mode not in ("bilinear", "bicubic", "lanczos"):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            "tensor as input")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")


_PLAIN = frozenset((int, float, type(None)))


def _new_sizes(space: tuple[int, ...], size: Any, scale_factor: Any, recompute: Any) -> tuple[Any, list[float | None]]:
    """The sizes after the change, and the factors to map places by (None: those of the sizes)."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None and recompute:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    n = len(space)
    if size is None:
        row = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * n
    else:
        one = single(size)
        row = tuple(size) if one is None else (one,) * n
    if len(row) != n:
        head = ("Input and {} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(space)} and ")
        raise ValueError(head.format("scale_factor") + f"scale_factor of shape {scale_factor}." if size is None else
            head.format("output") + f"output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            "format and output size in (o1, o2, ...,oK) format.")
    if size is not None:
        return tuple(int(s) for s in row), [None] * n
    out = tuple(math.floor(s * float(f)) for s, f in zip(space, row))
    return out, [None if recompute else float(f) for f in row]


def _resizing(shape: tuple[int, ...], size: Any, scale_factor: Any, mode: str, align_corners: bool | None,
        recompute: Any, antialias: bool) -> tuple[Any, tuple[float | None, ...], Any]:
    """``_new_sizes`` for an input of this shape, and where the nearest elements are: none if all stay; None in other
    modes.
    """
    _check_mode(len(shape), mode, align_corners, antialias)
    space = shape[2:]
    out, scales = _new_sizes(space, size, scale_factor, recompute)
    if min(*out, *space) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({_named(space)}) and "
            f"output ({_named(out)})")
    check_countable(*shape[:2], *out)
    if not mode.startswith("nearest"):
        return out, tuple(scales), None
    places = tuple(_nearest_places(s, o, scale, mode == "nearest-exact") for s, o, scale in zip(space, out, scales))
    return out, tuple(scales), places if any(at is not None for at in places) else ()


_known_resizing = lru_cache(maxsize=64, typed=True)(_resizing)


def _nearest_plan(shape: Any, *how: Any) -> Any:
    places = _known_resizing(shape, *how)[2]
    return (places,) if places else None


@composite(node="UpsampleBackward0", whole=("input",), layout="channels", plan=("nearest", _nearest_plan))
def interpolate(F, input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
        antialias=False):
    """Resize the spatial dimensions to ``size``, or by ``scale_factor``.

    Modes: nearest, nearest-exact, linear (3-d input), bilinear, bicubic (4-d), trilinear (5-d), area, and lanczos (4-d,
    with ``antialias``).
    """
    plain = type(size) in _PLAIN and type(scale_factor) in _PLAIN
    out, scales, places = (_known_resizing if plain else _resizing)(tuple(input.shape), size, scale_factor, mode,
        align_corners, recompute_scale_factor, antialias)
    space, nearest, d = input.shape[2:], places is not None, F.dtype_of(input)
    if mode == "area":
        return getattr(F, f"adaptive_avg_pool{len(space)}d")(input, out)
    if d.kind in "iub" and (d != np.uint8 or not (nearest or len(space) == 2)):
        raise unsupported("compute_indices_weights_" + (mode.removesuffix("-exact") if nearest else "linear"), d)
    if d == np.uint8 and not nearest:
        return F.cast(_bytes_resampled(F, input, mode, out, scales, bool(align_corners), antialias), d)
    y = F.cast(input, np.dtype(np.float32)) if is_half(d) and not nearest else input  # rounded once, at the end
    if nearest:
        y = F.nearest(y, places) if places else y
    else:
        y = F.interpolated(y, _weights(_KINDS[mode], tuple(space), out, scales, bool(align_corners), antialias,
            F.dtype_of(y)))
    if y is input:
        return input * 1
    return F.cast(y, d) if F.dtype_of(y) != d else y


def _corners(align_corners: bool | None) -> bool:
    """``align_corners``, whose default is not what it was."""
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.")
    return bool(align_corners)


_OLD = "`nn.functional.{}` is deprecated. Use `nn.functional.interpolate` instead."


@composite
def upsample(F, input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of ``interpolate``."""
    warn(_OLD.format("upsample"))
    return F.interpolate(input, size, scale_factor, mode, align_corners)


@composite
def upsample_nearest(F, input, size=None, scale_factor=None):
    """The old name of ``interpolate(mode="nearest")``."""
    warn(_OLD.format("upsample_nearest"))
    return F.interpolate(input, size, scale_factor, "nearest")


@composite
def upsample_bilinear(F, input, size=None, scale_factor=None):
    """The old name of ``interpolate(mode="bilinear", align_corners=True)``."""
    warn(_OLD.format("upsample_bilinear"))
    return F.interpolate(input, size, scale_factor, "bilinear", True)


# -- rearranging ------------------------------------------------------------------------------------------------------


def _lies_inside(F: Any, x: Any) -> bool:
    """Whether the channels of a batch of pictures lie innermost in memory."""
    a: Any = x if F.raw else getattr(x, "_wg_data", None)
    return x.ndim == 4 and inside_out(a) is not None and a.ndim == 4


def _moving(name: str, node: str) -> None:
    """An operator that takes dimensions apart (``before``), moves them (``order``) and joins others (``after``)."""

    def back(F: Any, g: Any, input_shape: Any, before: Any, order: Any) -> Any:
        inverse = tuple(sorted(range(len(order)), key=order.__getitem__))
        return getattr(F, name)(g, tuple(before[i] for i in order), inverse, tuple(input_shape))

    @operator(grad=dict(input=back), name=name, node=node, places=(), linear=True)
    def moved(input: Array, before, order, after):
        return K.in_order(input.reshape(before).transpose(order)).reshape(after)


_moving("pixels_shuffled", "PixelShuffleBackward0")
_moving("pixels_unshuffled", "PixelUnshuffleBackward0")
_moving("channels_shuffled", "ChannelShuffleBackward0")


def _shuffled(shape: Any, r: Any) -> tuple[Any, ...] | None:
    if type(r) is not int or r < 2 or len(shape) < 3 or shape[-3] % (r * r):
        return None
    (*lead, c, h, w), k = shape, len(shape) - 3
    order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return (*lead, c // (r * r), r, r, h, w), order, (*lead, c // (r * r), h * r, w * r)


def _unshuffled(shape: Any, r: Any) -> tuple[Any, ...] | None:
    if type(r) is not int or r < 2 or len(shape) < 3 or shape[-1] % r or shape[-2] % r or 0 in shape:
        return None
    (*lead, c, h, w), k = shape, len(shape) - 3
    order = (*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return (*lead, c, h // r, r, w // r, r), order, (*lead, c * r * r, h // r, w // r)


def _channels(shape: Any, groups: Any) -> tuple[Any, ...] | None:
    if type(groups) is not int or groups < 2 or len(shape) < 3 or shape[1] % groups:
        return None
    n, c, *space = shape
    return (n, groups, c // groups, *space), (0, 2, 1, *range(3, len(shape) + 1)), shape


@composite(places=("torch", "functional"), node="PixelShuffleBackward0", whole=("input",), layout="channels",
    plan=("pixels_shuffled", _shuffled))
def pixel_shuffle(F, input, upscale_factor):
    """Channels become pixels: ``(*, C r^2, H, W) -> (*, C, H r, W r)``. Shi et al., 2016."""
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError("pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    k = len(lead)
    if _lies_inside(F, input):  # then pixels are taken apart, where they lie
        x = F.reshape(F.permute(input, (0, 2, 3, 1)), (*lead, h, w, c // (r * r), r, r))
        x = F.reshape(F.permute(x, (0, 1, 4, 2, 5, 3)), (*lead, h * r, w * r, c // (r * r)))
        return F.permute(x, (0, 3, 1, 2))
    x = F.reshape(input, (*lead, c // (r * r), r, r, h, w))
    x = F.permute(x, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return F.reshape(x, (*lead, c // (r * r), h * r, w * r))


@composite(places=("torch", "functional"), node="PixelUnshuffleBackward0", whole=("input",), layout="channels",
    plan=("pixels_unshuffled", _unshuffled))
def pixel_unshuffle(F, input, downscale_factor):
    """Pixels become channels: the inverse of ``pixel_shuffle``."""
    r = downscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    if input.ndim < 3:
        raise RuntimeError("pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)")
    *lead, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError("pixel_unshuffle expects height to be divisible by downscale_factor, but "
            f"input.size(-2)={h} is not divisible by {r}")
    if 0 in input.shape:
        return F.clone(input)  # not taken apart
    k = len(lead)
    if _lies_inside(F, input):
        x = F.reshape(F.permute(input, (0, 2, 3, 1)), (*lead, h // r, r, w // r, r, c))
        x = F.reshape(F.permute(x, (0, 1, 3, 5, 2, 4)), (*lead, h // r, w // r, c * r * r))
        return F.permute(x, (0, 3, 1, 2))
    x = F.reshape(input, (*lead, c, h // r, r, w // r, r))
    x = F.permute(x, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return F.reshape(x, (*lead, c * r * r, h // r, w // r))


@composite(places=("torch", "functional"), aliases=("native_channel_shuffle",), node="ChannelShuffleBackward0",
    whole=("input",), layout="channels", plan=("channels_shuffled", _channels))
def channel_shuffle(F, input, groups):
    """Interleave groups of channels. Zhang et al., 2018."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    n, c, *space = input.shape
    if groups <= 0 or c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    if _lies_inside(F, input):
        x = F.reshape(F.permute(input, (0, 2, 3, 1)), (n, *space, groups, c // groups))
        return F.permute(F.reshape(F.transpose(x, 3, 4), (n, *space, c)), (0, 3, 1, 2))
    x = F.transpose(F.reshape(input, (n, groups, c // groups, *space)), 1, 2)
    return F.reshape(x, tuple(input.shape))


# -- sampling grids ---------------------------------------------------------------------------------------------------


@composite(node="AffineGridGeneratorBackward0", whole=("theta",))
def affine_grid(F, theta, size, align_corners=None):
    """Sampling grid of affine maps ``(N, 2, 3)`` or ``(N, 3, 4)`` for images of ``size``. Jaderberg et al., 2015."""
    size = tuple(whole(n) for n in size)  # 0-d tensors among them
    d = F.dtype_of(theta)
    if len(size) not in (4, 5):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}.")
    if d.kind not in "fV":
        raise ValueError(f"Expected theta to have floating point type, but got torch.{d}")
    if tuple(theta.shape[-2:]) != (len(size) - 2, len(size) - 1) or theta.ndim != 3:
        expected = (f"Expected a batch of 2D affine matrices of shape Nx2x3 for size {size}. Got "
            f"torch.Size({list(theta.shape)}).")
        raise ValueError(expected if len(size) == 4 else expected.replace("2D", "3D").replace("Nx2x3", "Nx3x4"))
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    align = _corners(align_corners)
    base = (_small_mesh if math.prod(size[2:]) <= 1 << 14 else _mesh)(size[2:], align, d)
    grid = F.matmul(F.constant(base), F.transpose(theta, 1, 2))
    return F.reshape(grid, (size[0], *size[2:], len(size) - 2))


def _mesh(space: tuple[int, ...], align: bool, d: Any) -> Any:
    """The places of all pixels in [-1, 1], x first, each with a one behind."""
    lines = [np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in space]
    lines = [(line if align else line * (len(line) - 1) / len(line)).astype(d) for line in lines]
    mesh = np.meshgrid(*lines, indexing="ij")
    return np.stack([*reversed(mesh), np.ones_like(mesh[0])], -1).reshape(-1, len(space) + 1)


_small_mesh = lru_cache(maxsize=16)(_mesh)


def _numbers(F: Any, x: Any) -> Any:
    return zeros_if_storageless(x if F.raw else x._wg_data)


def _check_grid(F: Any, input: Any, grid: Any, mode: str, padding_mode: str) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
            f"got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'")
    n = input.ndim - 2
    if n not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
            f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if grid.shape[-1] != n:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}")
    for a, size in enumerate(input.shape[2:], 2):
        if not size:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                f"sizes {list(input.shape)} with dimension {a} being empty")
    same_width(F.dtype_of(input), F.dtype_of(grid))
    if F.dtype_of(input).kind not in "fV":
        raise unsupported("grid_sampler_2d_cpu_kernel_impl" if n == 2 else "grid_sampler3d_cpu", F.dtype_of(input))
    if mode == "bicubic" and n == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


_MODES_OF_GRIDS = {"bilinear": S.LINEAR, "nearest": S.NEAREST, "bicubic": S.CUBIC}
_PADDINGS = {"zeros": S.ZEROS, "border": S.BORDER, "reflection": S.REFLECTION}


def _sampled(input: Any, grid: Any, mode: int, padding: int, align: bool) -> Any:
    if not is_half(input.dtype):
        return K.grid_sample(input, grid, mode, padding, align)
    return K.cast(K.grid_sample(K.cast(input, F32), K.cast(grid, F32), mode, padding, align), input.dtype)


def _sampled_grad(g: Any, input: Any, grid: Any, mode: int, padding: int, align: bool, needs: Any) -> Any:
    if not is_half(input.dtype):
        return K.grid_sample_grad(input, grid, mode, padding, align, g, bool(needs[0]), bool(needs[1]))
    wide = [K.cast(x, F32) for x in (g, input, grid)]
    found = _sampled_grad(wide[0], wide[1], wide[2], mode, padding, align, needs)
    return tuple(None if x is None else K.cast(x, input.dtype) for x in found)


@composite(raw=_sampled_grad, places=())
def grid_sample_grad(F, g, input, grid, mode, padding, align, needs):
    n, c, *space = input.shape
    axes = []  # of each axis the neighbours of the places: where they are, their weights, and the derivatives of these
    for a, size in enumerate(space):
        x = grid[..., len(space) - 1 - a]
        raw = _numbers(F, x)
        p, slope = S.position(raw, size, mode, padding, align)
        t = F.constant(np.zeros_like(p))
        if mode != S.NEAREST:
            t = x * F.constant(slope) + F.constant(p - slope * raw - np.floor(p))
        tilted = [s * F.constant(slope) for s in S.slopes(mode, t)]
        axes.append([*zip(S.neighbours(p, size, mode, padding, align), S.weights(mode, t), tilted)])
    flat, incoming = F.reshape(input, (n, c, math.prod(space))), F.reshape(g, (n, c, math.prod(g.shape[2:])))
    grad, grads = F.new_zeros(input, (n, c, math.prod(space))), [0] * len(space)  # type: Any, list[Any]
    for taps in itertools.product(*axes):
        at, weights, slopes = zip(*taps)
        index, inside = S.places(at, space)
        rows = F.constant(in_rows(np.broadcast_to(index[:, None], (n, c, index.shape[-1]))))
        shown = incoming * F.constant(inside[:, None].astype(F.dtype_of(input)))
        grad = F.scatter_add(grad, 2, rows, shown * F.reshape(reduce(mul, weights), (n, 1, index.shape[-1])))
        sums = F.reshape(F.sum(shown * F.gather(flat, 2, rows), 1), tuple(grid.shape[:-1]))
        for a in range(len(space)):
            grads[a] = grads[a] + reduce(mul, (slopes[a], *weights[:a], *weights[a + 1 :]), sums)
    return F.reshape(grad, tuple(input.shape)), F.stack(grads[::-1], -1)


for _n in (2, 3):

    @operator(name=f"sampled_{_n}d", places=(), node=f"GridSampler{_n}DBackward0", layout="rows",
        wrt=("input", "grid"), grad=lambda F, g, needs, input, grid, mode, padding, align: F.grid_sample_grad(g, input,
            grid, mode, padding, align, needs))
    def sampled(input: Array, grid: Array, mode, padding, align):
        """``grid_sample`` with PyTorch's numbers for modes and paddings."""
        return _sampled(input, grid, mode, padding, align)


def _sampling_plan(shape: Any, grid: Any, mode: Any, padding: Any, align: Any) -> tuple[Any, ...] | None:
    """Of images and grids that fit; who says nothing of corners is warned."""
    n = len(shape) - 2
    fits = n in (2, 3) and grid is not None and len(grid) == n + 2 and grid[0] == shape[0] and grid[-1] == n
    if not fits or 0 in shape[2:] or type(align) is not bool or (mode == "bicubic" and n == 3):
        return None
    if mode not in _MODES_OF_GRIDS or padding not in _PADDINGS:
        return None
    return f"sampled_{n}d", _MODES_OF_GRIDS[mode], _PADDINGS[padding], align


@composite(layout="rows", plan=(None, _sampling_plan, False, 1))
def grid_sample(F, input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """``input`` sampled at the places ``grid`` (in [-1, 1], x first). Jaderberg et al., 2015.

    Shapes: ``(N, C, H, W), (N, H', W', 2) -> (N, C, H', W')``, and likewise for volumes.
    """
    _check_grid(F, input, grid, mode, padding_mode)
    sampled = F.sampled_2d if input.ndim == 4 else F.sampled_3d
    return sampled(input, grid, _MODES_OF_GRIDS[mode], _PADDINGS[padding_mode], _corners(align_corners))
