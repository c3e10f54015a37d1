"""Base classes of objects that a tensor may hold instead of a NumPy array.

``Window``: has the geometry of an array (``lazy.Lazy``, ``storageless.StoragelessArray``). ``Scattered``: has values at
some positions only (``sparse.Coo``, ``compressed.Compressed``). None is an ``ndarray``, so fast paths, which test for
one, skip them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


NESTED: list[bool] = []  # not empty once a nested tensor was made

#: The types of arrays that a tensor may hold as an operator's result; others are made NumPy arrays. Modules that bring
#: arrays of their own add their types.
ARRAYS: set[type] = {np.ndarray}
#: The classes of ``foreign.ForeignArray`` in use.
FOREIGN: set[type] = set()


def has_memory(a: Any) -> bool:
    """Whether ``a`` is an array whose elements lie in memory, NumPy's or a device's."""
    return type(a) is np.ndarray or type(a) in FOREIGN


def new_filled(like: Any, make: Any, shape: int | tuple[int, ...], dtype: Any) -> Any:
    """``make(shape, dtype)`` of ``np.zeros``, ``np.ones`` or ``np.empty``, on the device of the array ``like``."""
    return make(shape, dtype, like=like) if type(like) in FOREIGN else make(shape, dtype)


def counted(like: Any, n: int) -> Any:
    """``np.arange(n)`` on the device of the array ``like``."""
    return np.arange(n, like=like) if type(like) in FOREIGN else np.arange(n)


def as_copy(a: Any, dtype: Any = None, order: Any = "K") -> Any:
    """``np.array(a)``, a copy, that leaves foreign arrays where they are."""
    if type(a) in FOREIGN:
        found = a.copy(order)
        return found if dtype is None or found.dtype == dtype else found.astype(dtype)
    return np.array(a, dtype, order=order)


def as_array(a: Any, dtype: Any = None) -> Any:
    """``np.asarray`` that leaves foreign arrays where they are."""
    if type(a) in FOREIGN:
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    return np.asarray(a, dtype)


def in_rows(a: Any) -> Any:
    """``np.ascontiguousarray`` that leaves foreign arrays where they are (and keeps a 0-d array one)."""
    if type(a) in FOREIGN:
        return a if a.flags.c_contiguous else a.copy()
    return np.asarray(a, order="C")


class Window(np.lib.mixins.NDArrayOperatorsMixin):
    """Something with the geometry of an array, ``window``."""

    __slots__ = ("window",)

    window: np.ndarray

    shape = property(lambda self: self.window.shape)
    strides = property(lambda self: self.window.strides)
    dtype = property(lambda self: self.window.dtype)
    ndim = property(lambda self: self.window.ndim)
    size = property(lambda self: self.window.size)
    itemsize = property(lambda self: self.window.itemsize)
    nbytes = property(lambda self: self.window.nbytes)
    flags = property(lambda self: self.window.flags)

    def __len__(self) -> int:
        return len(self.window)


# what PyTorch names where a node refuses a sparse gradient, if not the node
_AT_SPARSE = {
    "SelectBackward0": "select_backward", "SliceBackward0": "as_strided", "CatBackward0": "as_strided",
    "GatherBackward0": "scatter_add", "IndexSelectBackward0": "index_add_", "CumsumBackward0": "flip"}


def unsupported(name: str, backend: str = "SparseCPU") -> NotImplementedError:
    """The complaint about an operator that sparse arrays do not have."""
    return NotImplementedError(f"Could not run 'aten::{_AT_SPARSE.get(name, name)}' with arguments from the "
        f"'{backend}' backend: the operator is not there for sparse tensors. Use Tensor.to_dense() first.")


class ScatteredFlags:
    """The flags of an array without one rectangle of memory: not writeable, not contiguous."""

    writeable = c_contiguous = False


class Scattered:
    """Something of ``shape`` with ``values`` at some places; what would need every element is refused."""

    __slots__ = ("shape", "values")

    shape: tuple[int, ...]
    values: np.ndarray
    wrap: Callable[..., Any]  # a tensor around it: a method that ``functions.overloads_sparse`` puts here
    flags = ScatteredFlags
    strides = None

    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.values.itemsize)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # no operator
            raise AttributeError(name)
        raise unsupported(name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
