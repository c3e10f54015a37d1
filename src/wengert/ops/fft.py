"""Discrete Fourier transforms: three primitives (complex to complex, real to complex, complex to real) and their names.

A primitive scales by 1, 1/sqrt(n) or 1/n (``scale`` 0, 1, 2), so that the gradient of a transform is the opposite
transform with the same scale.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.errors import check_countable
from ..arrays.plain.fourier import FORWARDS, INVERSE, OF_REAL, OF_REAL_WHOLE, TO_REAL, fourier
from .operator import Array, family
from .steps import Steps, in_a_row, taken
from .views import axis, no_dimensions

operator, composite = family("fft")
_, legacy = family("torch", "Tensor")

# NumPy's word for each scale.
_FORWARD: Any = ("backward", "ortho", "forward")


@operator(grad=dict(input=lambda F, g, dims, scale, forward: F.transform(g, dims, scale, not forward)), wirtinger=True,
    node="FftC2CBackward0", places=(), linear=True)
def transform(input: Array, dims, scale, forward):
    """Complex to complex over ``dims``."""
    if not dims:
        return input.copy()
    kind = FORWARDS if forward else INVERSE
    return (K.fourier if type(input) is np.ndarray else fourier)(input, tuple(dims), kind, 0, scale)


def _transform(input: Any, dims: Any, kind: int, size: int, scale: int) -> Any:
    return (K.fourier if type(input) is np.ndarray else fourier)(input, tuple(dims), kind, size, scale)


def _real_back(F: Any, g: Any, input_shape: Any, dims: Any, scale: Any, onesided: Any) -> Any:
    if onesided and g.shape != tuple(input_shape):
        last = dims[-1]
        g = F.basic_scatter(g, tuple(input_shape), (*(slice(None),) * last, slice(0, g.shape[last])))
    return F.real(F.transform(g, dims, scale, False))


@operator(grad=dict(input=_real_back), wirtinger=True, node="FftR2CBackward0", places=(), linear=True)
def transform_real(input: Array, dims, scale, onesided):
    """Real to complex over ``dims``; ``onesided``: only the first half of the last of them, the rest mirrors it."""
    plain = type(input) is np.ndarray
    # infinities in the short windows of a signal stay what they are in NumPy, as in PyTorch
    short = len(dims) > 0 and input.shape[dims[-1]] <= 16 and not (plain and onesided and input.flags.c_contiguous)
    if onesided:
        return fourier(input, tuple(dims), OF_REAL, 0, scale) if short else _transform(input, dims, OF_REAL, 0, scale)
    if not dims:
        return input.astype(dt.of(input.dtype).to_complex().np)
    if len(dims) == 1:
        return (fourier if short else _transform)(input, tuple(dims), OF_REAL_WHOLE, 0, scale)
    if short or not plain:
        return np.fft.fftn(input, axes=dims, norm=_FORWARD[scale])
    return _transform(input.astype(dt.of(input.dtype).to_complex().np), dims, FORWARDS, 0, scale)


def _to_real_back(F: Any, g: Any, input_shape: Any, dims: Any, scale: Any) -> Any:
    """What is not its own mirror image counts twice."""
    half = F.transform_real(g, dims, scale, True)
    last = dims[-1]
    n, k = g.shape[last], half.shape[last]
    twice = np.ones(k, F.dtype_of(g))
    twice[1 : 1 + n - k] = 2
    return half * F.constant(twice.reshape((k,) + (1,) * (g.ndim - last - 1)))


@operator(grad=dict(input=_to_real_back), wirtinger=True, node="FftC2RBackward0", places=(), linear=True)
def transform_to_real(input: Array, dims, scale, size):
    """Complex to real (the inverse of ``transform_real``), of length ``size`` along the last of ``dims``."""
    y = _transform(input, dims, TO_REAL, size, scale)
    return _but_zeros(y, input, dims, scale) if size <= 16 and K.has_nan(y) else y


def _but_zeros(y: Any, input: Any, dims: Any, scale: Any) -> Any:
    """``y`` without the NaN of infinity (or NaN) times zero, which PyTorch's short transforms leave out."""
    x = fourier(input, dims[:-1], INVERSE, 0, scale) if len(dims) > 1 else input
    y, x = (np.moveaxis(v, dims[-1], -1) for v in (y, x))
    n = y.shape[-1]
    x = x[..., : n // 2 + 1]
    turns = np.arange(x.shape[-1])[:, None] * np.arange(n) % n
    cosines, sines = 4 * turns % (2 * n) != n, 2 * turns % n != 0
    lost = [~np.isfinite(part) for part in (x.real, x.imag)]
    rest = np.where(lost[0], 0, x.real) + 1j * np.where(lost[1], 0, x.imag)
    found = np.where((lost[0] @ cosines) | (lost[1] @ sines), y,
        fourier(rest.astype(x.dtype, copy=False), (-1,), TO_REAL, n, scale))
    return np.moveaxis(found, -1, dims[-1])


# -- what all forms share ---------------------------------------------------------------------------------------------


def _scale(norm: Any, forward: bool) -> int:
    found = {None: 0, "backward": 0, "ortho": 1, "forward": 2}.get(norm)
    if found is None:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return found if forward else 2 - found


def _floating(F: Any, x: Any, to_complex: bool = False) -> Any:
    """Integers as floating, and real as complex on request."""
    d = F.dtype_of(x)
    if d.itemsize == 2 and d.kind in "fV":
        raise RuntimeError(f"Unsupported dtype {dt.scalar_name(d)}")
    d = dt.default_float() if d.kind in "iub" else d
    d = dt.of(d).to_complex().np if to_complex and d.kind != "c" else d
    return x if F.dtype_of(x) == d else F.cast(x, d)


def _resizing(shape: Any, dims: Any, sizes: Any) -> list[Any]:
    """What cuts or pads with zeros at its end each of ``dims`` to its size."""
    key, pads = [slice(None)] * len(shape), [0] * (2 * len(shape))
    for d, n in zip(dims, sizes):
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        if n < shape[d]:
            key[d] = slice(0, n)
        pads[2 * (len(shape) - 1 - d) + 1] = max(n - shape[d], 0)  # the last dimension first
    cut: list[Any] = [("basic_index", tuple(key))] if key.count(slice(None)) < len(key) else []
    return [*cut, ("constant_pad_nd", tuple(pads))] if any(pads) else cut


def _dims(x: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int]]:
    """``(dims, sizes)`` of a transform over several dimensions."""
    s = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise RuntimeError(f"Got shape with {count} values but input tensor only has {x.ndim} dimensions.")
        dims = tuple(range(x.ndim - count, x.ndim))
    else:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        if dim and not x.ndim:
            raise no_dimensions(dim[0])
        dims = tuple(axis(d, x.ndim) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        return dims, [x.shape[d] for d in dims]
    if len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    for n in s:
        if n < -1 or n == 0:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return dims, [x.shape[d] if n == -1 else n for d, n in zip(dims, s)]


def _one(x: Any, n: Any, dim: int) -> tuple[tuple[int, ...], list[int]]:
    if not x.ndim:
        raise no_dimensions(dim)
    d = axis(dim, x.ndim)
    return (d,), [x.shape[d] if n is None else n]


def _check(name: str, norm: Any, kind: str, **given: Any) -> None:
    """Arguments of PyTorch's types: whole numbers, or (``kind``) rows of them."""
    if norm is not None and not isinstance(norm, str):
        given["norm"], kind = norm, "str"
    elif kind == "int" and type(given["dim"]) is int and len(given) == 1:
        return
    for what, value in given.items():
        row = [value] if kind == "int" or not isinstance(value, (list, tuple)) else value
        if what == "norm" or not all(hasattr(v, "__index__") for v in row):
            raise TypeError(f"fft_{name}(): argument '{what}' must be {kind}, not {type(value).__name__}")


@operator(grad=dict(input=lambda F, g: F.conj_now(g)), wirtinger=True, pointwise=True, node="ConjBackward0", places=())
def conj_now(input: Array):
    return np.conjugate(input)


# Each of the following gives the operators in a row that a transform of an array of this shape consists of.


def _complex(name: str, shape: Any, real: bool, dims: Any, sizes: Any, norm: Any, forward: bool, given: bool) -> Any:
    row, scale = _resizing(shape, dims, sizes), _scale(norm, forward)
    if not real:
        return [*row, ("transform", dims, scale, forward)]
    row.append(("transform_real", dims, scale, False))
    return row if forward else [*row, ("conj_now",)]


def _half(name: str, shape: Any, real: bool, dims: Any, sizes: Any, norm: Any, forward: bool, given: bool) -> Any:
    """Real to half complex."""
    if not dims:
        raise RuntimeError(f"{name.replace('2', 'n')} must transform at least one axis")
    scale = _scale(norm, forward)
    row = _resizing(shape, dims, sizes)
    if forward:
        return [*row, ("transform_real", dims, scale, True)]
    row.append(("transform_real", dims[-1:], scale, True))
    return [*row, *([("conj_physical",), ("transform", dims[:-1], scale, False)] if dims[:-1] else [("conj_now",)])]


def _real(name: str, shape: Any, real: bool, dims: Any, sizes: Any, norm: Any, forward: bool, given: bool) -> Any:
    """Half complex to real; ``given``: the last size is the real one, otherwise it is that of the input."""
    if not dims:
        raise RuntimeError(f"{name.replace('2', 'n')} must transform at least one axis")
    scale = _scale(norm, forward)
    size = sizes[-1] if given else 2 * (sizes[-1] - 1)
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    row = _resizing(shape, dims, [*sizes[:-1], size // 2 + 1])
    if not forward:
        return [*row, ("transform_to_real", dims, scale, size)]
    if dims[:-1]:
        row.append(("transform", dims[:-1], scale, True))
    return [*row, ("conj_now",), ("transform_to_real", dims[-1:], scale, size)]


# -- torch.fft --------------------------------------------------------------------------------------------------------


def _last(sizes: Any) -> list[Any]:
    return list(sizes)[-1:] if isinstance(sizes, (list, tuple)) else [sizes]


def _refuse_complex(F: Any, name: str, x: Any, forward: bool) -> None:
    if F.is_complex(x):
        several, kind = name[-1] in "2n", dt.scalar_name(F.dtype_of(x))
        if several and not forward:
            raise RuntimeError(f"Only supports floating-point dtypes, but found: {kind}")
        raise RuntimeError(f"{name.replace('2', 'n')} expects a real{'-valued' if several else ''} input tensor, but "
            f"got {kind}")


def _form(name: str, run: Any, forward: bool, size: str, dim: Any, doc: str) -> None:
    """One form of a transform: over one dimension, two, or any number of them."""
    end = name[-1] if name[-1] in "2n" else ""
    # only over one dimension real numbers stay real, as in PyTorch
    to_complex = run is _real or (run is _complex and bool(end))

    def where(x: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int], bool]:
        if not end:
            return (*_one(x, s, dim), s is not None)
        return (*_dims(x, s, dim), s is not None and _last(s) != [-1])

    def plan(shape: Any, s: Any, dim: Any, norm: Any, kind: str) -> Steps | None:
        real = kind in "fd"
        if kind not in "fdFD" or 0 in shape or not shape or (run is _half and not real):
            return None
        dims, sizes, given = where(SimpleNamespace(shape=shape, ndim=len(shape)), s, dim)
        cast: list[Any] = [("cast", dt.of(np.dtype(kind)).to_complex())] if real and to_complex else []
        return in_a_row([*cast, *run(name, shape, real and not cast, dims, sizes, norm, forward, given)])

    def transformed(F: Any, input: Any, s: Any, dim: Any, norm: Any) -> Any:
        given = {k: v for k, v in ((size, s), ("dim", dim)) if v is not None or (not end and k == "dim")}
        _check(name, norm, "tuple of ints" if end else "int", **given)
        if run is _half:
            _refuse_complex(F, name, input, forward)
        dims, sizes, last = where(input, s, dim)
        if run is _complex:
            _scale(norm, forward)
        x = _floating(F, input, to_complex)
        return taken(F, in_a_row(run(name, x.shape, not F.is_complex(x), dims, sizes, norm, forward, last)), (x,))

    define: Any
    if end:
        def define(F, input, s=None, dim=dim, norm=None):
            return transformed(F, input, s, dim, norm)
    else:
        def define(F, input, n=None, dim=dim, norm=None):
            return transformed(F, input, n, dim, norm)
    define.__doc__ = doc
    composite(define, name=f"fft_{name}", plan=(_OPERATORS[run], plan, "kind"))


_OPERATORS = {run: ("basic_index", "cast", "conj_now", "conj_physical", "constant_pad_nd", "transform", *more)
    for run, more in ((_complex, ("transform_real",)), (_half, ("transform_real",)), (_real, ("transform_to_real",)))}


def _forms(name: str, run: Any, forward: bool, text: str) -> None:
    _form(name, run, forward, "n", -1, f"{text} along ``dim``, cut or padded with zeros to ``n`` first. ``norm``: "
        "\"forward\", \"backward\", \"ortho\".")
    _form(name + "2", run, forward, "s", (-2, -1), f"{text} over two dimensions, cut or padded with zeros to the sizes "
        "``s`` first.")
    _form(name + "n", run, forward, "s", None, f"{text} over several dimensions (all, or the last ``len(s)``, where "
        "``dim`` is not given).")


_forms("fft", _complex, True, "The Fourier transform")
_forms("ifft", _complex, False, "The inverse Fourier transform")
_forms("rfft", _half, True, "The non-negative frequencies of real input")
_forms("irfft", _real, False, "The inverse of ``rfft``, real")
_forms("hfft", _real, True, "The real transform of half a Hermitian signal")
_forms("ihfft", _half, False, "The inverse of ``hfft``")


def _frequencies(F: Any, name: str, n: Any, values: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    if not hasattr(n, "__index__"):
        raise TypeError(f"fft_{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0 and name == "fftfreq":
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    d = dt.default_float() if dtype is None else dtype.np if isinstance(dtype, dt.dtype) else dtype
    if d.kind in "biu":
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if d.kind == "c":
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dt.scalar_name(d)}'")
    t = F.constant(values.astype(d))
    t = t.clone() if device is None else t.to(device)
    return t._wg_require() if requires_grad else t


@composite
def fft_fftfreq(F, n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the ``n`` results of ``fft`` for samples ``d`` apart.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    check_countable(n)
    k = np.arange(n)
    return _frequencies(F, "fftfreq", n, np.where(k < (n + 1) // 2, k, k - n) / (n * d or 1), dtype, device,
        requires_grad)


@composite
def fft_rfftfreq(F, n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the ``n // 2 + 1`` results of ``rfft`` for ``n`` samples ``d`` apart."""
    check_countable(n)
    count = (n // 2 if n >= 0 else -(-n // 2)) + 1
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    return _frequencies(F, "rfftfreq", n, np.arange(count) / (n * d or 1), dtype, device, requires_grad)


def _shifted(F: Any, x: Any, dim: Any, sign: int) -> Any:
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if not dims:
        raise RuntimeError("`shifts` required")
    return F.roll(x, tuple(sign * (x.shape[axis(d, x.ndim)] // 2) for d in dims), dims)


@composite
def fft_fftshift(F, input, dim=None):
    """Zero frequency moved to the middle."""
    return _shifted(F, input, dim, 1)


@composite
def fft_ifftshift(F, input, dim=None):
    """The inverse of ``fftshift``."""
    return _shifted(F, input, dim, -1)


# -- short-time transforms --------------------------------------------------------------------------------------------


def _window(F: Any, window: Any, n_fft: int, win_length: int, like: Any) -> Any:
    """The window, all ones if it is not given, centred in ``n_fft`` places."""
    if window is None:
        window = F.constant(np.ones(win_length, dt.of(F.dtype_of(like)).to_real().np))
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else F.basic_scatter(window, (n_fft,), (slice(left, left + win_length),))


def _framing(n_fft: int, hop_length: Any, win_length: Any, window: Any) -> tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and (window.ndim != 1 or window.shape[0] != length):
        raise RuntimeError(f"expected a 1D window tensor of size equal to win_length={length}, but got window with "
            f"size {list(window.shape)}")
    return hop, length


def _centred(F, input, half, pad_mode):
    """A signal, padded at both ends by half a window."""
    x = F.pad(F.view(input, (1,) * (3 - input.ndim) + tuple(input.shape)), (half, half), pad_mode)
    return F.view(x, tuple(x.shape[3 - input.ndim :]))


@legacy
def stft(F, input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect",
        normalized=False, onesided=None, return_complex=None, align_to_window=None):
    """Fourier transforms of the windows that slide over a signal, ``(..., L) -> (..., frequencies, frames)``.

    ``center``: the signal is padded by half a window first. ``normalized``: divided by ``sqrt(n_fft)``. ``onesided``:
    the non-negative frequencies only, the default for real signals.
    """
    d = F.dtype_of(input)
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft(n_fft={n_fft}) : expected a 1D or 2D tensor")
    if d.kind not in "fcVW":
        raise RuntimeError(f"stft(n_fft={n_fft}) : expected a tensor of floating point or complex values")
    if dt.is_half(d) and (window is None or F.dtype_of(window) == d):
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {dt.scalar_name(d)}")
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    both = d.kind == "c" or (window is not None and F.is_complex(window))
    if return_complex is None and not both:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release.")
    hop, length = _framing(n_fft, hop_length, win_length, window)
    x = _centred(F, input, n_fft // 2, pad_mode) if center else input
    x = x if input.ndim == 2 else F.unsqueeze(x, 0)
    if not center and align_to_window:
        side = (n_fft - length) // 2
        x = F.constant_pad_nd(x, (side, side))
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft(n_fft={n_fft}) : expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    onesided = not both if onesided is None else onesided
    if onesided and both:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    frames = F.unfold(x, -1, n_fft, hop)
    if window is not None or length < n_fft:
        frames = frames * _window(F, window, n_fft, length, input)
    scale = int(normalized)
    y = (F.transform(_floating(F, frames, True), (2,), scale, True) if both
        else F.transform_real(frames, (2,), scale, bool(onesided)))
    y = F.transpose(y, 1, 2)
    y = y if input.ndim == 2 else F.squeeze(y, 0)
    return y if return_complex is None or return_complex else F.view_as_real(y)


@legacy(by_example=True)
def istft(F, input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
        length=None, return_complex=False):
    """The signal whose ``stft`` is nearest to ``input`` in the sense of least squares (Griffin and Lim 1984)."""
    if not F.is_complex(input):
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"istft(n_fft={n_fft}) : expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    if 0 in input.shape:
        raise RuntimeError(f"istft(n_fft={n_fft}) : input tensor cannot be empty.")
    hop, win = _framing(n_fft, hop_length, win_length, window)
    if hop > win:
        raise RuntimeError(f"istft(n_fft={n_fft}, hop_length={hop}) : expected 0 < hop_length <= win_length")
    bins = input.shape[-2]
    onesided = bins != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if onesided and (return_complex or (window is not None and F.is_complex(window))):
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if bins != expected:
        raise RuntimeError(f"istft(n_fft={n_fft}, onesided={int(onesided)}) : expected the frequency dimension (3rd to "
            f"the last) of the input tensor to match n_fft{' / 2 + 1' if onesided else ''} when onesided={onesided}, "
            f"but got {bins}")
    x = F.transpose(input if input.ndim == 3 else F.unsqueeze(input, 0), 1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        x = F.transform(x, (2,), scale, False)
    else:
        x = x if onesided else F.basic_index(x, (..., slice(0, n_fft // 2 + 1)))
        x = F.transform_to_real(x, (2,), scale, n_fft)
    w = _window(F, window, n_fft, win, input)
    rows, frames = x.shape[:2]
    whole = n_fft + hop * (frames - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    y = F.unfold_back(x * w, (rows, whole), 1, n_fft, hop)
    weight = F.unfold_back(F.expand(F.unsqueeze(w * w, 0), (frames, n_fft)), (whole,), 0, n_fft, hop)
    inside = (..., slice(start, min(end, whole)))
    y, weight = F.basic_index(y, inside), F.basic_index(weight, inside)
    if not bool(F.all(F.abs(weight) > 1e-11)):
        raise RuntimeError(f"istft(n_fft={n_fft}, hop_length={hop}, win_length={win}) window overlap add min: 1")
    y = y / weight
    if end > whole:
        y = F.constant_pad_nd(y, (0, end - whole))
    return y if input.ndim == 3 else F.squeeze(y, 0)
