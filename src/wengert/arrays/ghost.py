"""What stands in the place of an array whose numbers only the class of its tensor knows.

A tensor made by ``Tensor._make_wrapper_subclass`` has a shape, strides and a type, and no memory. In the place of its
array it holds a ``Ghost``: the geometry is there, and whoever asks for a number is told, by a ``RuntimeError``, that it is
not. So code that reads past ``__torch_dispatch__`` shows itself at once, instead of computing with numbers that mean nothing.

It is no ``ndarray``: short cuts and kernels, which ask for one, do not see it; ufuncs, functions of NumPy, conversions,
subscripts and methods are refused one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .stand_ins import Window

if TYPE_CHECKING:
    from typing import NoReturn


class Ghost(Window):
    """An array without numbers. ``window``: an array with its geometry, whose memory is never touched.

    >>> a = Ghost.of((2, 3), None, 0, np.dtype(np.float32))
    >>> a.shape, a.strides, a.dtype
    ((2, 3), (12, 4), dtype('float32'))
    >>> a + 1
    Traceback (most recent call last):
    RuntimeError: Cannot access data pointer of Tensor that doesn't have storage: ...
    """

    __slots__ = ("__weakref__",)

    base = None

    def __init__(self, window: np.ndarray) -> None:
        self.window = window

    @classmethod
    def of(cls, shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int, dtype: np.dtype) -> Ghost:
        """A ghost of this geometry, strides and offset counted in elements (row by row, without strides)."""
        if 0 in shape:
            return cls(np.zeros(shape, dtype))
        if strides is None:
            return cls(np.zeros((offset + int(np.prod(shape, dtype=np.int64)),), dtype)[offset:].reshape(shape))
        item = dtype.itemsize
        memory = np.zeros((offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides)),), dtype)  # the system gives it when it is written to
        return cls(np.ndarray(shape, dtype, memory, offset * item, tuple(s * item for s in strides)))

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: it was made by _make_wrapper_subclass, and only the "
            "__torch_dispatch__ of its class knows its numbers. What was called here reads them past it; take the tensors that it wraps."
        )

    __array__ = __array_ufunc__ = __getitem__ = __setitem__ = __iter__ = __bool__ = __float__ = __int__ = __complex__ = _refuse
    __index__ = __dlpack__ = __contains__ = __copy__ = __deepcopy__ = _refuse

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _GEOMETRY:
            return getattr(self, func.__name__)
        return self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Ghost' object has no attribute {name!r}")
        return self._refuse()


_GEOMETRY = (np.shape, np.ndim, np.size)
