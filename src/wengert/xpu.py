"""``xpu``: what a program asks before it uses one of Intel's graphics processors, of which there is none here.

>>> torch.xpu.is_available(), torch.xpu.device_count(), torch.xpu.memory_allocated()
(False, 0, 0)
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from .cuda import StreamContext, _absent, _answer, _refusing
from .names.missing import missing_from

if TYPE_CHECKING:
    from collections.abc import Iterable

is_available = _answer(False, "Whether such a device can be used: ``False``.")
is_initialized = _answer(False, "Whether its state has been set up: ``False``.")
is_bf16_supported = _answer(False, "Whether a device supports bfloat16: ``False``, there is none.")
is_tf32_supported = _answer(False, "Whether a device supports TF32: ``False``, there is none.")
device_count = _answer(0, "The number of devices: 0.")
memory_allocated = _answer(0, "Bytes in use on a device: 0.")
max_memory_allocated = _answer(0, "The most bytes ever in use on a device: 0.")
memory_reserved = _answer(0, "Bytes held by the caching allocator: 0.")
max_memory_reserved = _answer(0, "The most bytes ever held by the caching allocator: 0.")
empty_cache = _answer(None, "Does nothing: there is no cache.")
seed = _answer(None, "Does nothing: there is no generator to seed.")
seed_all = _answer(None, "Does nothing: there is no generator to seed.")
get_gencode_flags = _answer("", "The flags of the compiler: none.")
set_rng_state = _answer(None, "Does nothing: there is no generator.")
default_generators = ()

_refuse = _refusing("Torch not compiled with XPU enabled")
(can_device_access_peer, current_device, current_stream, get_device_capability, get_device_name, get_device_properties,
    get_per_process_memory_fraction, get_rng_state, init, initial_seed, mem_get_info, reset_accumulated_memory_stats,
    reset_peak_memory_stats, set_device, set_per_process_memory_fraction, synchronize) = [_refuse] * 16

is_current_stream_capturing = _refusing(
    "Tried to instantiate dummy base class _xpu_isCurrentStreamCapturing", RuntimeError)
graph_pool_handle = _refusing("Tried to instantiate dummy base class _xpu_graph_pool_handle", RuntimeError)

Stream = _absent("Stream", "A queue of work of a device.")
Event = _absent("Event", "A mark in a queue of work of a device.")
XPUGraph = _absent("XPUGraph", "Recorded work of a device.")
MemPool = _absent("MemPool", "A pool of a device's memory.")
stream = StreamContext


class device(nullcontext[None]):
    """Inside, a device is the current one: ``NotImplementedError``, there is none."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.idx = device

    def __enter__(self) -> None:
        raise NotImplementedError("PyTorch was compiled without XPU support")


def set_stream(stream: Any) -> None:
    """Make ``stream`` the current one: nothing for ``None``, the only one that there is here."""
    if stream is not None:
        _refuse()


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed. ``seed`` must be an integer."""
    int(seed)


manual_seed_all = manual_seed


def get_rng_state_all() -> list[Any]:
    """The states of all devices' generators: an empty list."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore what ``get_rng_state_all`` gave, which is nothing."""


def get_arch_list() -> list[str]:
    """The architectures this was compiled for: an empty list."""
    return []


memory_snapshot = get_arch_list


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """The counts of the allocator: none."""
    return OrderedDict()


__getattr__ = missing_from(__name__)
