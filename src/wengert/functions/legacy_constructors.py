"""The constructors of old: ``torch.Tensor(2, 3)``, ``torch.FloatTensor([1, 2])``, ``x.new(...)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import uninitialized
from ..arrays.lazy import plain
from ..tensor.tensor import Tensor
from ..tensor.types import Size
from ..tensor.types import device as device_type
from .creation import check_sizes, finish
from .data import array_of
from .devices import placed
from .sizes import shape_of
from .storage import look_at


def by_keyword(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a constructor of old with keywords: ``size``, ``data``, ``other`` or ``storage``, alone."""
    if args or len(named) != 1 or not named.keys() <= {"size", "data", "other", "storage"}:
        got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in named.items()])
        raise TypeError(f"new() received an invalid combination of arguments - got ({got})")
    return tuple(Size(value) if name == "size" else value for name, value in named.items())


def legacy(args: tuple[Any, ...], d: np.dtype, device: Any = None, where: str = "cpu",
        exact: bool = True) -> np.ndarray:
    """The array that constructors of old make of ``args``; with ``exact`` a tensor must have the type ``d``."""
    if device is not None and (named := device_type(device).type) != where:
        raise RuntimeError(f"legacy constructor expects device type: {where} but device type: {named} was passed")
    first = args[0] if args else 0
    if (isinstance(first, (int, np.integer)) and not isinstance(first, bool)) or isinstance(first, Size):
        for at, n in enumerate(args[1:], 2):
            if not hasattr(n, "__index__"):
                raise TypeError(f"new(): argument 'size' failed to unpack the object at pos {at} with error \"type "
                    f"must be tuple of ints,but got {type(n).__name__}\"")
        shape = shape_of(args or (0,), "new")
        check_sizes(shape, "")
        return uninitialized.empty(shape, d)
    if isinstance(first, Tensor):
        if exact and first._wg_data.dtype != d:
            raise TypeError(f"expected {_options(d)} (got {_options(first._wg_data.dtype)})")
        return plain(first._wg_data)
    if isinstance(first, (float, complex, bool, np.generic)) or first is None:
        kind = type(first)
        name = f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")
        raise TypeError(f"new(): data must be a sequence (got {name})")
    if type(first).__name__ in ("TypedStorage", "UntypedStorage"):
        if type(first).__name__ == "TypedStorage" and first.dtype.np != d:
            raise RuntimeError(f"Expected a Storage of type {dt.scalar_name(d)} or an UntypedStorage, but got type "
                f"{dt.scalar_name(first.dtype.np)} for argument 1 'storage'")
        memory = first.untyped()
        return look_at(memory, 0, (memory.nbytes() // d.itemsize,), (1,), dt.of(d))
    return array_of(first, d)


def _options(d: np.dtype) -> str:
    """What PyTorch calls a tensor of this type in such complaints."""
    return (f"TensorOptions(dtype={dt.c_name(d)}, device=cpu, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))")


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of the type of this one, of the given sizes or with the values of a sequence, an array or a tensor."""
    return finish(legacy(args, self._wg_data.dtype, device, self.device.type), False, placed(device, self))
