"""``torch.types``: names for annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .arrays.dtypes import dtype as _dtype  # noqa: F401  found here under this name too
from .tensor import Size, Tensor
from .tensor.types import device as _device
from .tensor.types import layout as _layout  # noqa: F401

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = Any
Storage: TypeAlias = Any
_int, _float, _bool, _complex = int, float, bool, complex
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_symsize = _size
_dispatchkey: TypeAlias = Any


class SymInt:
    """The class of integers that a compiler keeps open: no number is one here; it is for ``isinstance``."""

    __module__ = "torch"


class SymFloat:
    """The class of floats that a compiler keeps open: no number is one here."""

    __module__ = "torch"


class SymBool:
    """The class of truth values that a compiler keeps open: no value is one here."""

    __module__ = "torch"


IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat
BoolLikeType: TypeAlias = bool | SymBool
PySymType: TypeAlias = SymInt | SymFloat | SymBool
py_sym_types = (SymInt, SymFloat, SymBool)
