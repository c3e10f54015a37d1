"""The random numbers of GPUs: PyTorch's there, which are others than on the CPU.

Without a GPU seeding does nothing, and what asks for a state is refused as in a build without CUDA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..functions.generators import of_device, seed_devices
from ..tensor.types import device as device_type
from ._devices import device_count, index_of, is_available

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all"]


def _generator(device: Any = None) -> Any:
    index = index_of(None if device in (None, "cuda") else device)
    return of_device(device_type("cuda", index))


def manual_seed(seed: int) -> None:
    """Start the stream of the current card anew from ``seed``, an integer; nothing without a card."""
    seed = int(seed)
    if is_available():
        _generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Start the streams of all cards anew from ``seed``, an integer; nothing without a card."""
    seed = int(seed)
    if is_available():
        seed_devices(seed)


def seed() -> None:
    """Start the stream of the current card anew from the system's entropy; nothing without a card."""
    if is_available():
        _generator().seed()


def seed_all() -> None:
    """Start the streams of all cards anew from the system's entropy; nothing without a card."""
    if is_available():
        seed_devices(_generator().seed())


def initial_seed() -> int:
    """The seed that the stream of the current card started from."""
    return int(_generator().initial_seed())


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a card's stream, as a byte tensor on the CPU: seed and offset."""
    return _generator(device).get_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Continue a card's stream from ``new_state``."""
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[Any]:
    """The states of all cards' streams: an empty list without one."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Continue all cards' streams from what :func:`get_rng_state_all` gave."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
