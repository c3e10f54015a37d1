"""What a message holds: a value pickled, and the tensors in it as arrays beside the pickle, for MPI to send.

Other processes must be trusted, as with every pickle.
"""

from __future__ import annotations

import pickle
import threading
from importlib import import_module
from io import BytesIO
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import dtypes as dt
from ...arrays.lazy import plain
from ...functions.parameter import Parameter
from ...tensor.tensor import Tensor, wrap
from ..mpi.transport import contiguous, raw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What is pickled in its own way here and nowhere else: by type.
REDUCERS: dict[type, Callable[[Any], Any]] = {}


_HERE = __name__.partition(".")[0]


class _Reading(threading.local):
    tensors: Sequence[Tensor] = ()


_reading = _Reading()


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any) -> None:
        super().__init__(file, 5)
        self.tensors: list[Tensor] = []

    def reducer_override(self, thing: Any) -> Any:
        kind = type(thing)
        if kind is Tensor and type(plain(thing._wg_data)) is np.ndarray:
            self.tensors.append(thing)
            return _tensor_at, (len(self.tensors) - 1,)
        if kind is Parameter:
            return _parameter, (thing.detach(), thing.requires_grad)
        if kind in REDUCERS:
            return REDUCERS[kind](thing)
        if isinstance(thing, type) and thing.__module__.startswith("torch"):
            place: Any = _HERE + thing.__module__.removeprefix("torch"), thing.__qualname__
            return (_ours, place) if _ours(*place) is thing else NotImplemented
        name = thing.__name__ if isinstance(thing, FunctionType) else ""
        if name and getattr(Tensor, name, None) is thing:
            return getattr, (Tensor, name)
        return NotImplemented


def _ours(module: str, name: str) -> Any:
    """A class that bears PyTorch's module."""
    try:
        return attrgetter(name)(import_module(module))
    except (ImportError, AttributeError):
        return None


def _parameter(data: Tensor, requires_grad: bool) -> Parameter:
    return Parameter(data, requires_grad)


def _tensor_at(place: int) -> Tensor:
    return _reading.tensors[place]


def pack(value: Any) -> tuple[bytes, list[Tensor]]:
    """A value as bytes, and the tensors in it."""
    file = BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return file.getvalue(), pickler.tensors


def unpack(data: Any, tensors: Sequence[Tensor]) -> Any:
    """The value again."""
    before, _reading.tensors = _reading.tensors, tensors
    try:
        return pickle.loads(data)
    finally:
        _reading.tensors = before


def described(tensor: Tensor) -> tuple[tuple[str, tuple[int, ...], bool], Any]:
    """Dtype, shape, whether it requires a gradient; and the elements of a tensor, one after the other."""
    array = contiguous(plain(tensor._wg_data))
    return (dt.of(array.dtype).name, array.shape, tensor.requires_grad), raw(array)


def made(kind: tuple[str, tuple[int, ...], bool], elements: Any) -> Tensor:
    """The tensor that was described."""
    name, shape, wants = kind
    tensor = wrap(elements.view(dt.by_name(name).np).reshape(shape))
    return tensor._wg_require() if wants else tensor
