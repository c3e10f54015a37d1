"""What stands in the place of an array whose numbers only the class of its tensor knows, or nobody.

A tensor made by ``Tensor._make_wrapper_subclass`` has a shape, strides and a type, and no memory. In the place of its
array it holds a ``StoragelessArray``: the geometry is there, and whoever asks for a number is told, by a ``RuntimeError``, that it
is not. So code that reads past ``__torch_dispatch__`` shows itself at once, instead of computing with numbers that mean
nothing. The same is in the place of the array of a tensor on the device ``meta``, where there are shapes and no
numbers.

It is no ``ndarray``: short cuts and kernels, which ask for one, do not see it; ufuncs, functions of NumPy, conversions,
subscripts and methods are refused one by one.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .array_likes import Window

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


META_DEVICE: list[bool] = []  # whether some tensor was ever made on the device "meta": only then anybody asks
when_first_meta: list[Callable[[], None]] = []  # called before the first is made


class StoragelessArray(Window):
    """An array without numbers. ``window``: an array with its geometry, of zeros that take no memory; ``device``: where
    it says it is.

    >>> a = StoragelessArray.of((2, 3), None, 0, np.dtype(np.float32))
    >>> a.shape, a.strides, a.dtype
    ((2, 3), (12, 4), dtype('float32'))
    >>> a + 1
    Traceback (most recent call last):
    RuntimeError: Cannot access data pointer of Tensor that doesn't have storage: ...
    """

    __slots__ = ("__weakref__", "overridden", "device", "fake")

    def __init__(self, window: np.ndarray, device: str = "cpu") -> None:
        self.window, self.device = window, device
        self.fake = False  # whether its class has no numbers either
        self.overridden: frozenset[str] = frozenset()  # which questions about the geometry are its class's to answer
        if device == "meta" and not META_DEVICE:
            META_DEVICE.append(True)
            for prepare in when_first_meta:
                prepare()

    base = property(lambda self: self.window.base if self.device == "meta" else None)

    @classmethod
    def of(cls, shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int, dtype: np.dtype,
            device: str = "cpu") -> StoragelessArray:
        """A ghost of this geometry, strides and offset counted in elements (row by row, without strides)."""
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
        """Whether operators give ghosts for this one: it belongs to a tensor of the device ``meta``."""
        return self.device == "meta"

    def like(self, window: np.ndarray) -> StoragelessArray:
        """Another geometry on the same device."""
        return StoragelessArray(window, self.device)

    def copy(self, order: str = "K") -> StoragelessArray:
        """Another ghost of the same geometry, on the device ``meta``."""
        return StoragelessArray(self.window[...], self.device) if self.device == "meta" else self._refuse()

    def laid(self, example: np.ndarray) -> StoragelessArray:
        """The ghost with the strides of ``example``."""
        return StoragelessArray.of(self.shape, tuple(s // example.itemsize for s in example.strides), 0, self.dtype, self.device)

    def astype(self, dtype: np.dtype) -> StoragelessArray:
        """The ghost in another type; what stands for a wrapped tensor's array stays as it is: converting is its class's
        affair.
        """
        if self.device != "meta" or dtype == self.dtype:
            return self
        return StoragelessArray.of(self.shape, tuple(s // self.itemsize for s in self.strides), 0, dtype, self.device)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        if self.device == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data! Tensors of the device 'meta' have a "
                "shape and a type and no numbers.")
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: it was made by _make_wrapper_subclass, "
            "and only the __torch_dispatch__ of its class knows its numbers. What was called here reads them past it; "
            "take the tensors that it wraps."
        )

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


def zeros_if_storageless(a: Any) -> Any:
    """``a``; of a ghost without numbers anywhere zeros, for checks of numbers that have to pass
    where there are none.
    """
    return a.window if type(a) is StoragelessArray and (a.device == "meta" or a.fake) else a


_GEOMETRY = (np.shape, np.ndim, np.size)


def _zeros(count: int, dtype: np.dtype) -> np.ndarray:
    """So many zeros, without memory: the system gives a page when it is written to, which it never is."""
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
