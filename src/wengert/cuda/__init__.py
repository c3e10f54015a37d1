"""``cuda``: graphics cards. Tensors are on them through CuPy, which the extra ``wengert[cuda]`` installs.

Without CuPy or a GPU queries answer truthfully (``is_available()`` is ``False``, there are 0 devices and 0 bytes in
use), seeding and emptying caches do nothing, and what would need a card raises the error of a PyTorch that was built
without CUDA. CuPy is imported when the first CUDA tensor, or a device's properties, are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..functions.checks import OutOfMemoryError as OutOfMemoryError
from ._devices import (
    NOT_COMPILED,
    _refusing,
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    needed,
    set_device,
    synchronize,
)
from ._devices import (
    _answer as _answer,
)
from .memory import (
    MemPool,
    _absent,
    empty_cache,
    get_per_process_memory_fraction,
    get_sync_debug_mode,
    host_memory_stats,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    set_sync_debug_mode,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import Event, ExternalStream, Stream, StreamContext, current_stream, default_stream, set_stream, stream

if TYPE_CHECKING:
    from collections.abc import Callable

_lazy_init, _refuse = init, _refusing(NOT_COMPILED)
ipc_collect, cudart, current_blas_handle, _sleep = [_refuse] * 4
is_current_stream_capturing = _refusing(
    "Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing", RuntimeError)
graph_pool_handle = _refusing("Tried to instantiate dummy base class _graph_pool_handle", RuntimeError)
CUDAGraph = _absent("CUDAGraph", "Recorded work of a card.")
graph = _absent("graph", "Inside, work is recorded into a CUDAGraph.", NOT_COMPILED)
_initialized = False  # libraries read it where they save the state of random numbers


def _is_compiled() -> bool:
    return is_available()


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Call ``callable`` if there is a card; without one, never."""
    if is_available():
        callable()


def __getattr__(name: str) -> Any:
    import sys

    if name in ("amp", "nvtx"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name == "default_generators":  # of the cards
        from .random import _generator

        return tuple(_generator(index) for index in range(device_count()))
    from ..names.missing import missing

    raise missing(sys.modules[__name__], name)


__all__ = [
    "CUDAGraph", "Event", "ExternalStream", "MemPool", "OutOfMemoryError", "Stream", "StreamContext",
    "can_device_access_peer", "current_device", "current_stream", "default_stream", "device", "device_count",
    "device_of", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties",
    "get_per_process_memory_fraction", "get_rng_state", "get_rng_state_all", "get_sync_debug_mode", "graph",
    "host_memory_stats", "init", "initial_seed", "is_available", "is_bf16_supported", "is_initialized",
    "is_tf32_supported", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot",
    "memory_stats", "memory_summary", "needed", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_memory_stats", "seed", "seed_all", "set_device",
    "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream", "set_sync_debug_mode",
    "stream", "synchronize",
]
