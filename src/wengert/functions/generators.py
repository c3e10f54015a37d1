"""Random generators: the default streams of the CPU and of devices, their seeds and states."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import random as streams
from ..arrays.array_likes import FOREIGN
from ..arrays.devices import runtime
from ..arrays.random.generator import DEFAULT_SEED
from ..arrays.random.philox import Philox
from ..tensor.tensor import Tensor
from ..tensor.types import CPU
from ..tensor.types import device as device_type
from . import everyday
from .devices import placed

if TYPE_CHECKING:
    from collections.abc import Iterator


class Generator(streams.Generator):
    """A stream of random numbers of its own; equal seeds give PyTorch's numbers.

    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    __slots__ = ()

    def __new__(cls, device: Any = "cpu") -> Generator:
        return object.__new__(cls if device == "cpu" or placed(device) is None else DeviceGenerator)

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__()

    @property
    def device(self) -> Any:
        return CPU

    def get_state(self) -> Any:
        """The state as a byte tensor, which PyTorch understands too."""
        return Tensor._wg_wrap(super().get_state())

    def set_state(self, new_state: Any) -> Generator:
        """Continue from a state."""
        super().set_state(new_state._wg_data if isinstance(new_state, Tensor) else new_state)
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same point of the same stream."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self) -> Any:
        return Generator, (self.device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[int, int | None, Any]) -> None:
        self.manual_seed(state[0])
        self.set_state(state[2])


class DeviceGenerator(Generator, Philox):  # type: ignore[misc]
    """A stream of random numbers of a device: PyTorch's there, which are others than on the CPU."""

    __slots__ = ("_device",)

    def __init__(self, device: Any) -> None:
        where = placed(device)
        if where is None or where.type == "meta":
            raise RuntimeError(f"there are no random numbers on the device {where}")
        found = runtime(where.type).properties(where.index or 0)
        Philox.__init__(self, DEFAULT_SEED,
            found["multi_processor_count"] * found["max_threads_per_multi_processor"])
        self._device = where

    device = property(lambda self: self._device)


default_generator = Generator()
default_generator.seed()
everyday.register(default_generator)
_of_devices: dict[Any, DeviceGenerator] = {}  # the default streams of devices
_seed: list[int] = []  # what the program has seeded all streams with


def of_device(where: Any) -> DeviceGenerator:
    """The default stream of a device."""
    found = _of_devices.get(where)
    if found is None:
        found = _of_devices[where] = DeviceGenerator(where)
        found.manual_seed(_seed[0]) if _seed else found.seed()
    return found


def stream_of(generator: Any, where: Any = None) -> Any:
    """The stream that was given, or the default one, of numbers for a device (None: the CPU) or for a tensor there."""
    where = placed(None, where) if isinstance(where, Tensor) else where
    if generator is None:
        return default_generator if where is None or where.type == "meta" else of_device(where)
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    wanted = CPU.type if where is None else where.type
    if generator.device.type != wanted and wanted != "meta":
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{generator.device.type}'")
    return generator


def stream_for(t: Tensor) -> Any:
    """The default stream of numbers for the device of a tensor."""
    return default_generator if type(t._wg_data) is np.ndarray else stream_of(None, t)


def manual_seed(seed: Any) -> Generator:
    """Start the default streams anew from ``seed``, those of devices too."""
    default_generator.manual_seed(int(seed))
    seed_devices(int(seed))
    return default_generator


def seed_devices(seed: int) -> None:
    """Start the default streams of all devices anew."""
    _seed[:] = [seed]
    for generator in _of_devices.values():
        generator.manual_seed(seed)


def device_states() -> dict[Any, Any]:
    """The states of the default streams of all devices in use."""
    kinds: Any = FOREIGN
    return {where: of_device(where).get_state() for where in {device_type(*kind.device) for kind in kinds}}


def set_device_states(states: dict[Any, Any]) -> None:
    """Continue the streams of devices from what ``device_states`` gave."""
    for where, state in states.items():
        of_device(where).set_state(state)


def seed() -> int:
    """Start the default streams anew from the system's entropy; gives the seed."""
    found = default_generator.seed()
    seed_devices(found)
    return found


def initial_seed() -> int:
    """The seed that the default stream started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default stream, as a byte tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default stream from ``new_state``."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """Inside, draws and seeds leave no trace on the default stream."""
    state, others = get_rng_state(), device_states()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
            set_device_states(others)
