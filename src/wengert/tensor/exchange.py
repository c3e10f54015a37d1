"""Conversion of tensors to Python and NumPy: numbers, lists, arrays, truth values, text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.errors import warn_once
from ..arrays.lazy import Lazy, plain
from ..arrays.storageless import StoragelessArray
from ..graph.modes import modes
from . import classes
from .autograd_meta import requires_grad
from .namespaces import without_numbers
from .types import strided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..functions.members import Members
    from .tensor import Tensor
else:
    Members = object  # they are put on the class by ``functions.members``; type checkers read them there


NO_ITEM = "Tensor.item() cannot be called on meta tensors"


def sealed(t: Any) -> bool:
    """Whether ``t`` was made by, or given to, a function that ``torch.func`` differentiates."""
    scope = modes().grad_scope
    return scope is not None and scope.hides_numbers(t)


def refuse_pointer(t: Any, captured: bool = False) -> None:
    """Refuse to show the memory of a differentiated function's tensor; ``captured``: of any tensor."""
    if sealed(t) or (captured and modes().grad_scope is not None):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def refuse_storage(t: Any) -> None:
    """Refuse to hand out, copy or store the memory of a tensor of a function that is differentiated."""
    if sealed(t):
        raise NotImplementedError("Cannot access storage of TensorWrapper")


class Exchange(Members):
    """The part of ``Tensor`` that makes something else of it."""

    __slots__ = ()

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if type(self) is classes.Batched_:  # by the function of the class
            return self.item()
        a = self._wg_data
        if a.size != 1:
            raise RuntimeError(f"a Tensor with {a.size} elements cannot be converted to Scalar")
        kind = a.dtype.kind
        if type(a) is np.ndarray and kind in "fiubc":
            return a.item()
        if self.is_meta:
            if without_numbers.get():  # a gradient rule branches on it: both branches give the same shapes
                return a.dtype.type(0).item()
            raise RuntimeError(NO_ITEM)
        if a.dtype.type is np.void:
            raise NotImplementedError(f"\"_local_scalar_dense_cpu\" not implemented for '{dt.scalar_name(a.dtype)}'")
        return float(a.item()) if kind == "V" else complex(a.item()) if kind == "W" else a.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers (a number for a 0-d tensor)."""
        if self._wg_data.dtype.type is np.void:
            raise RuntimeError("load_scalar: invalid type")
        kind = self._wg_data.dtype.kind
        if kind == "V":
            return self._wg_data.astype(np.float32).tolist()
        return (plain(self._wg_data).astype(np.complex64) if kind == "W" else self._wg_data).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The array itself: memory is shared. ``force=True`` detaches first.

        Of a lazy conjugate or negative, whose numbers stand nowhere in memory, it is a computed array: read-only, so
        that nothing is written in vain (PyTorch refuses; with ``force=True`` both give a copy).
        """
        if not force and modes().grad and requires_grad(self):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if not self.is_cpu and not (force and self.is_cuda):
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first.")
        refuse_pointer(self, captured=True)
        if self._wg_data.dtype.kind == "V" or self._wg_data.dtype in dt.RARE_IN_USE:
            raise TypeError(f"Got unsupported ScalarType {dt.scalar_name(self._wg_data.dtype)}")
        found = plain((self.cpu() if force else self)._wg_data)
        if type(self._wg_data) is Lazy and not force:
            found.flags.writeable = False
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        a = self.numpy()
        if dtype is not None and a.dtype != dtype:
            return a.astype(dtype)
        return a.copy() if copy else a

    __array_priority__ = 1000

    def _wg_check_shareable(self) -> None:
        """Refuse to lend memory that is not what the tensor says, or that has a history."""
        if requires_grad(self):
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        if self.layout is not strided:
            raise BufferError("Can't export tensors with layout other than torch.strided")
        if self.is_meta:
            raise BufferError("Cannot pack tensors on meta")

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        self._wg_check_shareable()
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if stream is not None and self.is_cpu:
            raise AssertionError("stream should be None on cpu.")
        return self._wg_data.__dlpack__(**options if stream is None else {"stream": stream, **options})

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self.is_meta else self._wg_data.__dlpack_device__()

    def __bool__(self) -> bool:
        if self._wg_data.size == 1:
            return bool(self.item() if type(self._wg_data) is StoragelessArray else self._wg_data)
        if self._wg_data.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def __float__(self) -> float:
        self._wg_warn_of_scalar()
        value = self._wg_scalar("double")
        return value.real if type(value) is complex else float(value)

    def __int__(self) -> int:
        value = self._wg_scalar("int64_t")
        return int(value.real if type(value) is complex else value)

    def __complex__(self) -> complex:
        self._wg_warn_of_scalar()
        return complex(self._wg_scalar(""))

    def _wg_warn_of_scalar(self) -> None:
        if requires_grad(self) and modes().grad:
            warn_once("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first.")

    def _wg_scalar(self, kind: str) -> Any:
        """The only element, as a Python number that can become one of that kind ("" for a complex one)."""
        if self._wg_data.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        value = self.item()
        if kind and type(value) is complex and value.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return value

    def __index__(self) -> int:
        if self._wg_data.size != 1 or self._wg_data.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if self._wg_data.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._wg_data.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._wg_data.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Any:
        return self.flip(0) if self._wg_data.ndim else self

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (classes.Tensor_, int, float, complex, bool)):
            return bool((self == element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __format__(self, spec: str) -> str:
        if self._wg_data.ndim == 0 and type(self) is classes.Tensor_:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self.__dict__})
