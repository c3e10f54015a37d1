"""Questions and settings at the top of the namespace: types, defaults, threads, determinism."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as _dtypes
from ..arrays import errors, threads, uninitialized
from ..arrays.dtypes import dtype, set_default_dtype
from ..dispatch.default_device import get_default_device, set_default_device
from ..ops.errors import must_be
from ..tensor import Tensor
from ..tensor.types import type_of
from .conversion import LEGACY as _LEGACY

__all__ = [
    "are_deterministic_algorithms_enabled", "can_cast", "finfo", "get_default_device", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "iinfo", "is_deterministic_algorithms_warn_only_enabled",
    "is_storage", "is_tensor", "is_warn_always_enabled", "promote_types", "result_type", "set_default_device",
    "set_default_tensor_type", "set_float32_matmul_precision", "set_num_interop_threads", "set_num_threads",
    "set_warn_always", "typename", "use_deterministic_algorithms",
]

_deterministic = _warn_only = False
_precision = "highest"
_interop_threads = 1


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return type(obj).__name__ in ("TypedStorage", "UntypedStorage")


def set_default_tensor_type(t: Any) -> None:
    """Make the type of ``t`` (``torch.DoubleTensor``, say) the default floating type."""
    errors.warn_once("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.")
    set_default_dtype(_LEGACY[t.removeprefix("torch.")].dtype if isinstance(t, str) else t.dtype)


def _check_dtypes(function: str, **given: Any) -> None:
    for at, (name, value) in enumerate(given.items(), 1):
        if not isinstance(value, dtype):
            raise must_be(function, name, at, value, "torch.dtype")


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that both types convert to, by PyTorch's rules."""
    _check_dtypes("promote_types", type1=type1, type2=type2)
    return _dtypes.of(_dtypes.promote(type1.np, type2.np))


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The type that an operation between two tensors or numbers gives.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    if not all(isinstance(x, Tensor) or _dtypes.of_python(x) is not None for x in (tensor1, tensor2)):
        kinds = f"({type(tensor1).__name__}, {type(tensor2).__name__})"
        raise TypeError(f"result_type() received an invalid combination of arguments - got {kinds}, but expected one "
            "of: Tensor, Number")
    found = _dtypes.result([x._wg_data if isinstance(x, Tensor) else x for x in (tensor1, tensor2)])
    assert found is not None
    return _dtypes.of(found)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place result of the first type may be written to the second."""
    _check_dtypes("can_cast", from_=from_, to=to)
    return bool(_dtypes.can_cast(from_.np, to.np))


def get_num_threads() -> int:
    """How many threads array operations may use."""
    return threads.get()


def set_num_threads(n: int) -> None:
    """Let array operations use ``n`` threads."""
    if isinstance(n, int) and not -(2**63) <= n < 2**63:
        raise RuntimeError("Overflow when unpacking long long")
    threads.set(n)


def set_num_interop_threads(n: int) -> None:
    """Accepted for compatibility: the number is kept, and operations run one after another."""
    global _interop_threads
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _interop_threads = n


def get_num_interop_threads() -> int:
    """The value of :func:`set_num_interop_threads`, 1 at first; operations run one after another."""
    return _interop_threads


def set_float32_matmul_precision(precision: str) -> None:
    """Accept ``"highest"``, ``"high"`` or ``"medium"``, which all compute as ``"highest"``; warn of other words."""
    global _precision
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in ("highest", "high", "medium"):
        errors.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; this call of "
            "set_float32_matmul_precision has no effect.")
        return
    _precision = precision


def get_float32_matmul_precision() -> str:
    """The value of :func:`set_float32_matmul_precision`, ``"highest"`` at first."""
    return _precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Refuse (or warn of) what PyTorch has no deterministic kernel for on a CPU; here every operation is deterministic.

    Fresh memory is filled, see ``utils.deterministic``.
    """
    if not isinstance(mode, bool):
        raise must_be("_set_deterministic_algorithms", "mode", 1, mode, "bool")
    global _deterministic, _warn_only
    _deterministic, _warn_only = mode, bool(warn_only)
    uninitialized.configure(deterministic=_deterministic)
    errors.alerts = 0 if not mode else 2 if warn_only else 1


def are_deterministic_algorithms_enabled() -> bool:
    """The value of ``use_deterministic_algorithms``."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` was called with ``warn_only=True``."""
    return _warn_only


def set_warn_always(b: bool) -> None:
    """Whether the warnings that come once in a process come every time."""
    errors.warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """The value of ``set_warn_always``."""
    return errors.warn_always


def typename(obj: Any) -> str:
    """The name of an object's type; ``torch.FloatTensor`` and the like for tensors."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("", "builtins") else f"{kind.__module__}.{kind.__qualname__}"


def _of_python(kind: Any) -> Any:
    """The type of a tensor of Python's numbers of this class; anything else as it is."""
    names = {float: "float64", complex: "complex128", int: "int64", bool: "bool_"}
    return getattr(_dtypes, names[kind]) if isinstance(kind, type) and kind in names else kind


class finfo:
    """Limits of a floating (or complex) type: ``eps``, ``max``, ``min``, ``tiny``, ``resolution``, ``bits``."""

    def __init__(self, type: Any = None) -> None:
        d = _dtypes.get_default_dtype() if type is None else _of_python(type)
        if not isinstance(d, dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {type_of(d)}")
        if not (d.is_floating_point or d.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d!r}'")

        if d is _dtypes.bfloat16 or d in _dtypes.FLOAT8:
            import ml_dtypes

            info: Any = ml_dtypes.finfo(d.np)
        else:
            info = np.finfo(d.to_real().np)
        self.dtype, self.bits = d.to_real().name, info.bits
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(str(info.resolution))  # the decimal number, not what rounding makes of it
        if d in _dtypes.FLOAT8:  # no decimal digit survives; and one eps is PyTorch's own
            self.resolution, self.eps = 1.0, 0.125 if d is _dtypes.float8_e5m2fnuz else self.eps

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """Limits of an integer type: ``max``, ``min``, ``bits``."""

    def __init__(self, type: Any) -> None:
        type = _of_python(type)
        if not isinstance(type, dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type_of(type)}")
        if type is _dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type!r}'")
        info = np.iinfo(type.np)
        self.dtype, self.bits, self.max, self.min = type.name, info.bits, int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
