"""Exceptions and refusals that the layers above share."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import FLOAT8_IN_USE, largest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class LinAlgError(RuntimeError):
    """A decomposition that does not exist or did not converge, ``torch.linalg.LinAlgError``."""

    __module__ = "torch._C"


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"


def as_is(error: ValueError) -> ValueError:
    """``error``, marked to be shown unchanged: another ``ValueError`` counts as NumPy's and is translated."""
    error.as_is = True  # type: ignore[attr-defined]
    return error


def check_countable(*sizes: int) -> None:
    """Refuse an array of more bytes than 64 bits count, of which NumPy may make an empty one."""
    total = 8
    for n in sizes:
        total *= n
    if total >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)}")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however deep in the package the caller is."""
    import warnings

    level = 2
    for frame in callers():
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != _PACKAGE:
            break
        level += 1
    warnings.warn(message, category, stacklevel=level)


def callers(depth: int = 1) -> Iterator[FrameType]:
    """The frames that a function was called from, innermost first: from its caller's (0: from its own)."""
    return _outwards(sys._getframe(depth + 1))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


_PACKAGE = __name__.partition(".")[0]
_warned: set[str] = set()
warn_always = False  # see torch.set_warn_always


def warn_once(message: str, key: str | None = None) -> None:
    """Warn at the user's line, the first time in a process that it comes to this message (or ``key``)."""
    if not warn_always:
        if (key or message) in _warned:
            return
        _warned.add(key or message)
    warn(message)


alerts = 0  # use_deterministic_algorithms: 1 refuses what PyTorch has no deterministic kernel for, 2 warns


def alert(name: str) -> None:
    """Refuse, under deterministic algorithms, what may depend on the order of threads in PyTorch."""
    if not alerts:
        return
    text = f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    help_us = ("file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic "
        "support for this operation.")
    if alerts == 1:
        raise RuntimeError(f"{text})'. You can turn off determinism just for this operation, or you can use the "
            f"'warn_only=True' option, if that's acceptable for your application. You can also {help_us}")
    warn(f"{text}, warn_only=True)'. You can {help_us}")


def bad_index(a: np.ndarray, key: tuple[Any, ...]) -> IndexError:
    """What is wrong with index arrays that NumPy refuses."""
    at = [(d, i) for d, i in enumerate(key) if isinstance(i, np.ndarray)]
    try:
        np.broadcast_shapes(*(i.shape for _, i in at))
    except ValueError:
        shapes = ", ".join(str(list(i.shape)) for _, i in at)
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")
    for d, i in at:
        n = a.shape[d]
        wrong = (i < -n) | (i >= n)
        if wrong.any():
            return IndexError(f"index {i[wrong][0]} is out of bounds for dimension 0 with size {n}")
    return IndexError(f"too many indices for tensor of dimension {a.ndim}")


_C_NAMES = {"int32": "int", "float32": "float", "float64": "double", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>"}


def too_large(value: int) -> OverflowError:
    """What Python says of an integer that has no type."""
    return OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


def refuse_overflow(value: Any, dtype: np.dtype, rounded: bool = False) -> None:
    """Refuse a number, of Python's or in an array of another type, that elements of type ``dtype`` cannot hold.
    ``rounded``: it is first a number of float32, of which those of 16 bits take what becomes infinite.
    """
    if type(value) is np.ndarray:
        if value.dtype == dtype:
            return
        value = value.item() if value.dtype.kind != "V" else float(value)
    if type(value) is float and dtype.kind in "fc" and (not abs(value) > 65504 or abs(value) == np.inf):  # as usual
        return
    if FLOAT8_IN_USE and dtype in FLOAT8_IN_USE:
        _refuse_overflow_of_eight(value, dtype)
        return
    kind, fits = dtype.kind, True
    if type(value) is int and not -(2**63) <= value < 2**64:
        raise too_large(value)
    if isinstance(value, bool) or kind in "bW":
        return
    if isinstance(value, complex) and kind != "c":
        fits, value = value.imag == 0, value.real
    if kind in "iu":
        low, high = limits(dtype, value)
        fits = fits and low <= value <= high
    elif not (rounded and dtype.itemsize == 2):
        fits = fits and all(_is_within(part, largest(dtype)) for part in (value.real, value.imag))
    if not fits:
        name = _C_NAMES.get(dtype.name, f"{dtype.name}_t")
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def limits(dtype: np.dtype, value: Any) -> tuple[int, int]:
    """The least and the largest number that an integer type takes of those like ``value``: unsigned types take negative
    integers, modulo their size.
    """
    low, high = _range(dtype)
    return -high if dtype.kind == "u" and isinstance(value, int) else low, high


@lru_cache(16)
def _range(dtype: np.dtype) -> tuple[int, int]:
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def _is_within(number: float, most: float) -> bool:
    return abs(number) <= most or abs(number) == np.inf or number != number


def _refuse_overflow_of_eight(value: Any, dtype: np.dtype) -> None:
    x = value.real if isinstance(value, complex) else value
    if dtype.type is np.void:
        raise NotImplementedError("\"fill_cpu\" not implemented for 'Float4_e2m1fn_x2'")
    small = dtype.name == "float8_e8m0fnu" and x < 2.0**-127
    if small or (abs(x) > largest(dtype) and not (abs(x) == np.inf and dtype.name == "float8_e5m2")):
        raise RuntimeError(f"value cannot be converted to type c10::{dtype.name.capitalize()} without overflow")
