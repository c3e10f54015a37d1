"""``cuda``: what a program asks before it uses a graphics card. There is none here: everything runs on the CPU.

Queries answer truthfully (``is_available()`` is ``False``, there are 0 devices and 0 bytes in use), seeding and
emptying caches do nothing, and what would need a card raises the error of a PyTorch that was built without CUDA.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..functions.checks import OutOfMemoryError as OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOT_COMPILED = "Torch not compiled with CUDA enabled"


def _answer(value: Any, doc: str) -> Callable[..., Any]:
    def query(*args: Any, **kwargs: Any) -> Any:
        return value

    query.__doc__ = doc
    return query


def _refusing(text: str, error: type[Exception] = AssertionError) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error(text)

    refuse.__doc__ = f"Raise ``{error.__name__}``: there is no such device."
    return refuse


_refuse = _refusing(NOT_COMPILED)

is_available = _answer(False, "Whether CUDA can be used: ``False``.")
_initialized = False  # libraries read it where they save the state of random numbers
is_initialized = _answer(False, "Whether CUDA's state has been set up: ``False``.")
is_bf16_supported = _answer(False, "Whether a card supports bfloat16: ``False``, there is none.")
is_tf32_supported = _answer(False, "Whether a card supports TF32: ``False``, there is none.")
device_count = _answer(0, "The number of cards: 0.")
memory_allocated = _answer(0, "Bytes in use on a card: 0.")
max_memory_allocated = _answer(0, "The most bytes ever in use on a card: 0.")
memory_cached = _answer(0, "Bytes held by the caching allocator: 0.")
max_memory_cached = _answer(0, "The most bytes ever held by the caching allocator: 0.")
memory_reserved = _answer(0, "Bytes held by the caching allocator: 0.")
max_memory_reserved = _answer(0, "The most bytes ever held by the caching allocator: 0.")
empty_cache = _answer(None, "Does nothing: there is no cache.")
seed = _answer(None, "Does nothing: there is no generator to seed.")
seed_all = _answer(None, "Does nothing: there is no generator to seed.")

(current_device, get_device_name, get_device_properties, get_device_capability, set_device, synchronize, init,
    initial_seed, get_rng_state, set_rng_state, current_stream, default_stream, mem_get_info, memory_stats,
    memory_summary, reset_peak_memory_stats, set_per_process_memory_fraction, ipc_collect, cudart,
    can_device_access_peer, set_sync_debug_mode, get_sync_debug_mode, current_blas_handle, memory_snapshot,
    reset_accumulated_memory_stats, reset_max_memory_allocated, reset_max_memory_cached,
    get_per_process_memory_fraction, _sleep, _lazy_init) = [_refuse] * 30
is_current_stream_capturing = _refusing(
    "Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing", RuntimeError)
graph_pool_handle = _refusing("Tried to instantiate dummy base class _graph_pool_handle", RuntimeError)
default_generators = ()


def _absent(name: str, doc: str, text: str | None = None) -> type:
    """A class for annotations and ``isinstance``; making one is refused."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(text or f"Tried to instantiate dummy base class {name}")

    return type(name, (), {"__new__": refuse, "__doc__": doc, "__module__": __name__})


Stream = _absent("Stream", "A queue of work of a card.", "torch.cuda.Stream requires CUDA support")
ExternalStream = _absent("ExternalStream", "A queue that another library made.",
    "torch.cuda.Stream requires CUDA support")
Event = _absent("Event", "A mark in a queue of work of a card.")
CUDAGraph = _absent("CUDAGraph", "Recorded work of a card.")
MemPool = _absent("MemPool", "A pool of a card's memory.")
graph = _absent("graph", "Inside, work is recorded into a CUDAGraph.", NOT_COMPILED)


class StreamContext(nullcontext[None]):
    """Inside, a queue of work is the current one; ``None``, the only one that there is here, changes nothing."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream = stream


class device(nullcontext[None]):
    """Inside, a card is the current one; for a negative number, or none, nothing changes.

    ``ValueError`` if the device is of another kind, ``RuntimeError`` when a card is entered: there is none.
    """

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.idx, self.prev_idx = _index(device), -1

    def __enter__(self) -> None:
        if self.idx is not None and self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")


class device_of(device):
    """Inside, the card of a tensor is the current one; for a tensor on the CPU nothing changes."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def _index(device: Any) -> int | None:
    """The number of a card, None where none is given."""
    from ..tensor.types import device as kind

    if isinstance(device, int):
        return device
    found = kind(device) if isinstance(device, str) else device
    if not isinstance(found, kind):
        return None
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return found.index


stream = StreamContext


def set_stream(stream: Any) -> None:
    """Make ``stream`` the current one: nothing for ``None``, the only one that there is here."""
    if stream is not None:
        _refuse()


def host_memory_stats() -> dict[str, Any]:
    """The counts of pinned memory: none."""
    return {}


def _is_compiled() -> bool:
    return False


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Keep ``callable`` for when a card is first used, which is never."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed. ``seed`` must be an integer."""
    int(seed)


manual_seed_all = manual_seed


def get_rng_state_all() -> list[Any]:
    """The states of all cards' generators: an empty list."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore what ``get_rng_state_all`` gave, which is nothing."""
    for _ in new_states:
        _refuse()


def get_arch_list() -> list[str]:
    """The architectures this was compiled for: an empty list."""
    return []


def __getattr__(name: str) -> Any:
    import sys

    if name in ("amp", "memory", "nvtx"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name == "random":  # a module of PyTorch's, whose functions are here
        return sys.modules[__name__]
    from ..names.missing import missing

    raise missing(sys.modules[__name__], name)
