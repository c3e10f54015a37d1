"""What a second run finds as the first did: random numbers, autocast, default device; PyTorch's names of devices."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...amp.autocast_mode import (
    Caster,
    exchange_casts,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from ...dispatch.default_device import DeviceContext, innermost
from ...functions import generators
from ...functions.generators import get_rng_state, set_rng_state
from ...graph.modes import change, modes
from ...tensor.tensor import Tensor
from .._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class RandomState:
    """The state of our default generators, NumPy's global one and Python's ``random``, when made."""

    def __init__(self) -> None:
        self.parts: list[tuple[Callable[[Any], None], Any]] = [(set_rng_state, get_rng_state()),
            (generators.set_device_states, generators.device_states())]
        numpy, python = import_module("numpy.random"), import_module("random")  # which the run may be first to use
        self.parts.append((numpy.set_state, numpy.get_state()))
        self.parts.append((python.setstate, python.getstate()))

    def restore(self) -> None:
        """Put it back."""
        for put, state in self.parts:
            put(state)


class Surroundings:
    """What the first run was surrounded by; ``again()`` is a context for the second."""

    def __init__(self, preserve_rng: bool) -> None:
        self.random = RandomState() if preserve_rng else None
        self.casters = tuple(o for o in modes().watchers if isinstance(o, Caster))
        self.device = innermost()

    @contextmanager
    def again(self) -> Iterator[None]:
        """Random numbers and casts as they were."""
        now = RandomState() if self.random is not None else None
        before, functions = modes().watchers, modes().functions
        casts = exchange_casts(None)  # what is cast inside is not kept: the region may have ended
        try:
            # a backward is passed to modes as a whole
            change(watchers=(*(o for o in before if not isinstance(o, Caster)), *self.casters), functions=())
            if self.random is not None:
                self.random.restore()
            yield
        finally:
            change(watchers=before, functions=functions)
            exchange_casts(casts)
            if now is not None:
                now.restore()

    def holds(self) -> bool:
        """Whether casts and the default device are now as they were, with no modes and no random numbers to restore."""
        now = modes()
        return (not now.functions and self.random is None and self.device is innermost()
            and not self.casters and not any(isinstance(o, Caster) for o in now.watchers))

    def device_again(self) -> Any:
        """A context in which new tensors go where they went."""
        return nullcontext() if self.device is None else DeviceContext(self.device)


class DefaultDeviceType:
    """The kind of device that ``checkpoint`` assumes where no argument has one: the CPU, unless one is set."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """What it is."""
        if not DefaultDeviceType._default_device_type:
            DefaultDeviceType._default_device_type = "cpu"
        return DefaultDeviceType._default_device_type


def infer_device_type(*args: Any) -> str:
    """The kind of device of the tensors among ``args``, or ``DefaultDeviceType``'s if all are on the CPU."""
    kinds = [leaf.device.type for leaf in tree_leaves(args) if isinstance(leaf, Tensor) and leaf.device.type != "cpu"]
    if len(set(kinds)) > 1:
        import warnings

        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will "
            "only be saved for devices of a single device type, and the remaining devices will be ignored. "
            "Consequently, if any checkpointed functions involve randomness, this may result in incorrect "
            f"gradients.\nDevice types: {sorted(set(kinds))} first device type: {kinds[0]}",
            stacklevel=2,
        )
    return kinds[0] if kinds else DefaultDeviceType.get_device_type()


def get_device_states(*args: Any) -> tuple[list[int | None], list[Any]]:
    """The numbers of the devices of the tensors among ``args``, the CPU apart, and the states of their generators."""
    found = dict.fromkeys(leaf.device for leaf in tree_leaves(args) if isinstance(leaf, Tensor)
        and leaf.device.type not in ("cpu", "meta"))
    states = generators.device_states()
    return [d.index for d in found if d in states], [states[d] for d in found if d in states]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Put back what ``get_device_states`` gave."""
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    if kind == "meta":
        return
    module = get_device_module(kind)
    for device, state in zip(devices, states):
        with module.device(device):
            module.set_rng_state(state)


def get_device_module(device: str = "cuda") -> Any:
    """``torch.cuda`` for ``"cuda"``; ``"meta"`` has no module, so the device itself."""
    if device == "meta":
        from ...tensor.types import device as device_type

        return device_type("meta")
    return getattr(sys.modules[__name__.partition(".")[0]], device)


def get_autocast_kwargs(device_type: str = "cuda") -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The arguments of ``torch.amp.autocast`` as it is now: for ``device_type`` (None: casts nothing), and the CPU."""
    def now(kind: str) -> dict[str, Any]:
        return {"enabled": is_autocast_enabled(kind), "dtype": get_autocast_dtype(kind),
            "cache_enabled": is_autocast_cache_enabled()}

    return now(device_type) if is_autocast_available(device_type) else None, now("cpu")
