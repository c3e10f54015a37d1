"""``cuda``: what a program asks before it uses a graphics card. There is none here: everything runs on the CPU.

Queries answer truthfully (``is_available()`` is ``False``, there are 0 devices and 0 bytes in use), seeding and
emptying caches do nothing, and what would need a card raises the error of a PyTorch that was built without CUDA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOT_COMPILED = "Torch not compiled with CUDA enabled"


class OutOfMemoryError(RuntimeError):
    """Raised by PyTorch when a device has no memory left; here, never."""


def _answer(value: Any, doc: str) -> Callable[..., Any]:
    def query(*args: Any, **kwargs: Any) -> Any:
        return value

    query.__doc__ = doc
    return query


def _refuse(*args: Any, **kwargs: Any) -> Any:
    """Raise the ``AssertionError`` of a build without CUDA."""
    raise AssertionError(NOT_COMPILED)


is_available = _answer(False, "Whether CUDA can be used: ``False``.")
is_initialized = _answer(False, "Whether CUDA's state has been set up: ``False``.")
is_bf16_supported = _answer(False, "Whether a card supports bfloat16: ``False``, there is none.")
is_tf32_supported = _answer(False, "Whether a card supports TF32: ``False``, there is none.")
device_count = _answer(0, "The number of cards: 0.")
memory_allocated = _answer(0, "Bytes in use on a card: 0.")
max_memory_allocated = _answer(0, "The most bytes ever in use on a card: 0.")
memory_reserved = _answer(0, "Bytes held by the caching allocator: 0.")
max_memory_reserved = _answer(0, "The most bytes ever held by the caching allocator: 0.")
empty_cache = _answer(None, "Does nothing: there is no cache.")
seed = _answer(None, "Does nothing: there is no generator to seed.")
seed_all = _answer(None, "Does nothing: there is no generator to seed.")

(
    current_device,
    get_device_name,
    get_device_properties,
    get_device_capability,
    set_device,
    synchronize,
    init,
    initial_seed,
    get_rng_state,
    set_rng_state,
    current_stream,
    default_stream,
    Stream,
    Event,
    mem_get_info,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    ipc_collect,
) = [_refuse] * 20


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed. ``seed`` must be an integer."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no generator to seed. ``seed`` must be an integer."""
    int(seed)


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

    if name in ("amp", "nvtx"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    from .._missing import missing

    raise missing(sys.modules[__name__], name)
