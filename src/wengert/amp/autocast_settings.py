"""What is set for autocast in this thread or task: which devices, which precisions, the cache of casts, how deep
regions nest.

Whether it is on for the CPU stands among the interceptors (see ``graph.modes``), where operators look.
"""

from __future__ import annotations

from typing import Any

from ..arrays.context import ContextVar
from ..arrays.dtypes import NAMES, dtype
from ..graph.modes import change, modes
from ..tensor.types import device as _device
from .caster import Caster

_BFLOAT16 = ("cpu", "xla", "hpu")  # what is taken by default, float16 elsewhere
_KNOWN = (*_BFLOAT16, "cuda", "mps", "xpu", "ipu", "mtia", "maia")

_dtypes: ContextVar[dict[str, Any]] = ContextVar("wengert_autocast_dtypes", default={})
# devices other than the CPU
_enabled: ContextVar[frozenset[str]] = ContextVar("wengert_autocast_enabled", default=frozenset())
_caching: ContextVar[bool] = ContextVar("wengert_autocast_caching", default=True)
_nesting: ContextVar[int] = ContextVar("wengert_autocast_nesting", default=0)
_casts: ContextVar[dict[Any, Any] | None] = ContextVar("wengert_autocast_casts", default=None)


def _known(device_type: Any, name: str) -> str:
    """The type of the device, if autocast supports it."""
    if not isinstance(device_type, str):
        raise TypeError(f"{name}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    if device_type not in _KNOWN:
        kind = _device(device_type).type
        if kind not in _KNOWN:
            raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
        return kind
    return device_type


def caster() -> Caster | None:
    """The observer of the region in force on the CPU."""
    return next((o for o in modes().watchers if isinstance(o, Caster)), None)


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast has settings for the device type, available or not."""
    return device_type in _KNOWN or _device(device_type).type in _KNOWN


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for the device."""
    kind = _known(device_type, "is_autocast_enabled")
    return caster() is not None if kind == "cpu" else kind in _enabled.get()


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast on or off for a device, from here on; with one argument, for ``"cuda"``.

    >>> torch.set_autocast_enabled("cpu", True)
    >>> (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if type(enabled) is not bool:
        raise TypeError("set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not "
            f"{type(enabled).__name__}")
    kind = _known(device_type, "set_autocast_enabled")
    if kind == "cpu":
        switch(enabled)
    else:
        _enabled.set(_enabled.get() | {kind} if enabled else _enabled.get() - {kind})


def switch(enabled: bool) -> None:
    """Switch autocast on or off for the CPU, with what is set at the time."""
    others = tuple(o for o in modes().watchers if not isinstance(o, Caster))
    change(watchers=(*others, Caster(get_autocast_dtype("cpu"), casts)) if enabled else others)


def get_autocast_dtype(device_type: str) -> Any:
    """The lower precision that is, or would be, used for the device."""
    kind = _known(device_type, "get_autocast_dtype")
    return _dtypes.get().get(kind) or NAMES["bfloat16" if kind in _BFLOAT16 else "float16"]


def set_autocast_dtype(device_type: str, dtype_: Any) -> None:
    """Set the lower precision for a device."""
    kind = _known(device_type, "set_autocast_dtype")
    if not isinstance(dtype_, dtype):
        raise TypeError("set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
            f"{type(dtype_).__name__}")
    _dtypes.set({**_dtypes.get(), kind: dtype_})
    if kind == "cpu" and caster() is not None:
        switch(True)


def is_autocast_cache_enabled() -> bool:
    """Whether weights are cast once in a region."""
    return _caching.get()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether weights are cast once in a region, rather than at each use."""
    if type(enabled) is not bool:
        raise TypeError("enabled must be a bool (got " + type(enabled).__name__ + ")")
    _caching.set(enabled)


def casts() -> dict[Any, Any] | None:
    """The weights that were cast so far in the outermost region; None if they are not kept."""
    if not _caching.get():
        return None
    found = _casts.get()
    if found is None:
        found = {}
        _casts.set(found)
    return found


def clear_autocast_cache() -> None:
    """Forget the weights that were cast."""
    _casts.set(None)


def autocast_nesting() -> int:
    """How many regions there are around."""
    return _nesting.get()


def set_autocast_nesting(nesting: int) -> None:
    """Say how many regions there are around."""
    _nesting.set(nesting)


def autocast_increment_nesting() -> int:
    """Say that one more region begins; how many there are."""
    _nesting.set(_nesting.get() + 1)
    return _nesting.get()


def autocast_decrement_nesting() -> int:
    """Say that a region ends; how many are left."""
    _nesting.set(_nesting.get() - 1)
    return _nesting.get()


def _deprecated(name: str, new: str) -> None:
    import warnings

    warnings.warn(f"torch.{name} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def is_autocast_cpu_enabled() -> bool:
    """Of old: ``is_autocast_enabled("cpu")``."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Of old: ``set_autocast_enabled("cpu", enabled)``."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    """Of old: ``get_autocast_dtype("cpu")``."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Of old: ``set_autocast_dtype("cpu", dtype)``."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> Any:
    """Of old: ``get_autocast_dtype("cuda")``."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Of old: ``set_autocast_dtype("cuda", dtype)``."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


__all__ = [
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
]
