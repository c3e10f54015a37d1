"""An array without data: shape, strides and dtype, but no elements.

A tensor made by ``Tensor._make_wrapper_subclass``, or on the device ``meta``, has no memory. Instead of an array it
holds a ``StoragelessArray``; reading an element raises ``RuntimeError``. Code that reads data without going through
``__torch_dispatch__`` therefore fails at once instead of computing with meaningless numbers.

It is no ``ndarray``: fast paths and kernels, which test for one, skip it; ufuncs, NumPy functions, conversions,
subscripts and methods raise.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .array_likes import ARRAYS, Window

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


META_DEVICE: list[bool] = []  # not empty once a tensor was made on the device "meta"
when_first_meta: list[Callable[[], None]] = []  # called before the first is made


class StoragelessArray(Window):
    """An array without elements. ``window``: an array of the same geometry, of zeros that take no memory; ``device``:
    the device that it reports.

    >>> a = StoragelessArray.of((2, 3), None, 0, np.dtype(np.float32))
    >>> a.shape, a.strides, a.dtype
    ((2, 3), (12, 4), dtype('float32'))
    >>> a + 1
    Traceback (most recent call last):
    RuntimeError: Cannot access data pointer of Tensor that doesn't have storage: ...
    """

    __slots__ = ("__weakref__", "device", "fake", "overridden")

    def __init__(self, window: np.ndarray, device: str = "cpu") -> None:
        self.window, self.device = window, device
        self.fake = False  # whether the tensor of its class has no data either
        self.overridden: frozenset[str] = frozenset()  # geometry methods that the class overrides
        if device == "meta" and not META_DEVICE:
            META_DEVICE.append(True)
            for prepare in when_first_meta:
                prepare()

    base = property(lambda self: self.window.base if self.device == "meta" else None)

    @classmethod
    def of(cls, shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int, dtype: np.dtype,
            device: str = "cpu") -> StoragelessArray:
        """A storageless array of this geometry; strides and offset in elements (without strides: contiguous)."""
        if 0 in shape:
            return cls(np.zeros(shape, dtype)[...], device)
        if strides is None:
            return cls(_zeros(offset + math.prod(shape), dtype)[offset:].reshape(shape), device)
        item = dtype.itemsize
        # others are no buffers to NumPy
        plain = dtype if dtype.kind != "V" and dtype.kind in "biufc" else np.dtype(f"u{item}")
        memory = _zeros(offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides)), plain)
        found = np.ndarray(shape, plain, memory, offset * item, tuple(s * item for s in strides))
        return cls(found if plain is dtype else found.view(dtype), device)

    @property
    def meta(self) -> bool:
        """Whether it belongs to a tensor on the device ``meta``."""
        return self.device == "meta"

    def like(self, window: np.ndarray) -> StoragelessArray:
        """Another geometry on the same device."""
        return StoragelessArray(window, self.device)

    def copy(self, order: str = "K") -> StoragelessArray:
        """A copy, on the device ``meta``."""
        return StoragelessArray(self.window[...], self.device) if self.device == "meta" else self._refuse()

    def laid(self, example: np.ndarray) -> StoragelessArray:
        """The array with the strides of ``example``."""
        strides = tuple(s // example.itemsize for s in example.strides)
        return StoragelessArray.of(self.shape, strides, 0, self.dtype, self.device)

    def astype(self, dtype: np.dtype) -> StoragelessArray:
        """The array with another dtype; unchanged off the device ``meta``, where the tensor's class converts."""
        if self.device != "meta" or dtype == self.dtype:
            return self
        return StoragelessArray.of(self.shape, tuple(s // self.itemsize for s in self.strides), 0, dtype, self.device)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        if self.device == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data! Tensors of the device 'meta' have a "
                "shape and a type and no numbers.")
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: it was made by "
            "_make_wrapper_subclass, and only the __torch_dispatch__ of its class knows its numbers. What was "
            "called here reads them past it; take the tensors that it wraps.")

    __array__ = __array_ufunc__ = __getitem__ = __setitem__ = __iter__ = __bool__ = __float__ = _refuse
    __int__ = __complex__ = _refuse
    __index__ = __dlpack__ = __contains__ = __copy__ = __deepcopy__ = _refuse

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _GEOMETRY:
            return getattr(self, func.__name__)
        return self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'StoragelessArray' object has no attribute {name!r}")
        return self._refuse()


ARRAYS.add(StoragelessArray)


def zeros_if_storageless(a: Any) -> Any:
    """``a``, or zeros of its shape if it has no data anywhere, so that checks of values pass."""
    return a.window if type(a) is StoragelessArray and (a.device == "meta" or a.fake) else a


_GEOMETRY = (np.shape, np.ndim, np.size)


def _zeros(count: int, dtype: np.dtype) -> np.ndarray:
    """``count`` zeros that take no memory: the system allocates a page on the first write, and nothing writes."""
    size = count * dtype.itemsize
    if size < 1 << 16:
        return np.zeros(count, dtype)
    import mmap

    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(count, dtype)
    unreserved = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | unreserved)
    except (OSError, OverflowError):
        return np.zeros(count, dtype)
    return np.frombuffer(pages, np.uint8).view(dtype)
