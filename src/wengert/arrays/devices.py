"""Devices whose arrays are foreign: what serves each kind, and the class of its arrays.

A ``Runtime`` serves one kind of device (``"cuda"``): it says how many there are, gives the class of arrays of each, and
does what ``torch.cuda`` asks for. ``register`` names where a runtime comes from; it is loaded when the first tensor of
its kind is asked for. The methods of the base class suit a device that does everything at once, in order: its streams
are empty, its events are times.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .array_likes import FOREIGN
from .foreign import ForeignArray, install, label
from .lazy import window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Stream:
    """A queue of work that is done at once."""

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        self.index, self.priority = device, priority

    def synchronize(self) -> None:
        """Wait for the work: it is done."""

    def query(self) -> bool:
        """Whether the work is done."""
        return True

    def wait(self, event: Any) -> None:
        """Begin further work after ``event``."""

    @property
    def pointer(self) -> int:
        """What other libraries know it by; 0 is the default stream."""
        return 0


class Event:
    """A point in a stream of work that is done at once: a time."""

    def __init__(self, **options: Any) -> None:
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self.at = time.perf_counter()

    def query(self) -> bool:
        """Whether it has come."""
        return True

    def synchronize(self) -> None:
        """Wait for it."""

    def elapsed(self, end: Any) -> float:
        """Milliseconds from this event to another."""
        return float(end.at - self.at) * 1000.0


class Runtime:
    """What serves the devices of one kind. A subclass gives ``kind``, ``array_class``, and what else it can."""

    kind: ClassVar[str]
    name: ClassVar[str] = "device"
    Stream: ClassVar[Any] = Stream
    Event: ClassVar[Any] = Event
    #: ``(major, minor)`` of what its processors can do.
    capability: tuple[int, int] = (0, 0)

    def __init__(self) -> None:
        self._classes: dict[int, type[ForeignArray]] = {}
        self._current, self._stream = 0, None

    # -- arrays -------------------------------------------------------------------------------------------------------

    def array_class(self) -> type[ForeignArray]:
        """The class of arrays, from which one is made for each device."""
        raise NotImplementedError

    def arrays(self, index: int) -> type[ForeignArray]:
        """The class of the arrays of device number ``index``, known to the engine from now on."""
        found = self._classes.get(index)
        if found is None:
            base = self.array_class()
            found = self._classes[index] = type(base.__name__, (base,),
                {"__slots__": (), "device": (self.kind, index), "__module__": base.__module__})
            install(found)
        return found

    # -- devices ------------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """The number of devices."""
        return 1

    def current(self) -> int:
        """The number of the device where new tensors go."""
        return self._current

    def use(self, index: int) -> None:
        """Make a device the current one."""
        self._current = index

    def properties(self, index: int) -> dict[str, Any]:
        """What is known about a device, by PyTorch's names."""
        major, minor = self.capability
        return {"name": self.name, "major": major, "minor": minor, "total_memory": self.memory(index)[1],
            "multi_processor_count": 1, "warp_size": 32, "max_threads_per_multi_processor": 2048}

    def synchronize(self, index: int) -> None:
        """Wait for the work of a device."""

    def current_stream(self, index: int) -> Any:
        """The stream that work goes to, None for the default one."""
        return self._stream

    def use_stream(self, stream: Any) -> None:
        """Send work to a stream from now on; None for the default one."""
        self._stream = stream

    # -- memory -------------------------------------------------------------------------------------------------------

    def memory(self, index: int) -> tuple[int, int]:
        """``(free, total)`` bytes of a device."""
        return 0, 0

    def counts(self, index: int) -> dict[str, int]:
        """Bytes: ``current``, ``peak``, ``reserved``, ``peak_reserved``; ``allocations``, ``frees``."""
        return {}

    def reset_peak(self, index: int) -> None:
        """Count peaks from now on."""

    def empty_cache(self) -> None:
        """Give unused memory back to the device."""

    def limit(self, fraction: float, index: int) -> None:
        """Use at most this part of a device's memory."""


_loaders: dict[str, tuple[Any, Any]] = {}
_loaded: dict[str, Runtime] = {}


def register(kind: str, loader: Callable[[], Runtime] | str,
        missing: Callable[[], Exception | None] | str = "") -> None:
    """Devices of this kind are served by what ``loader`` returns: a function, or ``"module:function"``.

    ``missing`` gives, at little cost, the error that ``loader`` would raise if there is no such device, else None.
    """
    _loaders[kind] = loader, missing
    _loaded.pop(kind, None)


def _found(function: Any) -> Any:
    module, _, name = function.partition(":") if isinstance(function, str) else (None, "", "")
    return getattr(import_module(module), name) if module else function


def missing(kind: str) -> Exception | None:
    """Why there is no device of a kind; None if there is one. What serves it is not loaded for the question."""
    if kind not in _loaders:
        return RuntimeError(f"there are no devices of the kind {kind}")
    if kind in _loaded or not _loaders[kind][1]:
        return None
    return _found(_loaders[kind][1])()  # type: ignore[no-any-return]


def known(kind: str) -> bool:
    """Whether something may serve devices of this kind."""
    return kind in _loaders


def loaded(kind: str) -> Runtime | None:
    """What serves the devices of a kind, if a tensor or a query has asked for it."""
    return _loaded.get(kind)


def runtime(kind: str) -> Runtime:
    """What serves the devices of a kind; it is loaded at the first call."""
    found = _loaded.get(kind)
    if found is None:
        found = _loaded[kind] = _found(_loaders[kind][0])()
    return found


register("cuda", "wengert.cuda.found:load", "wengert.cuda.found:missing")


# -- arrays on devices -------------------------------------------------------------------------------------------------


def class_of(a: Any) -> Any:
    """The class of arrays of the device where ``a`` is: NumPy's for the CPU."""
    kind = type(window(a))
    return kind if kind in FOREIGN else np.ndarray


def on_cpu(a: Any) -> Any:
    """``a``, or a copy of it in NumPy if it is on a device."""
    return a.download() if type(a) in FOREIGN else a


def moved(a: Any, target: Any) -> Any:
    """The array ``a`` as an instance of ``target``: itself if it is one, else a copy on the other device."""
    if type(a) is target:
        return a
    found = np.asarray(on_cpu(a))
    return found if target is np.ndarray else target(target.upload(found))


def alike(a: Any, like: Any) -> Any:
    """The array ``a`` on the device where ``like`` is."""
    return moved(a, class_of(like))


def refuse_mixture(arguments: Any, name: str, parameters: Sequence[str], elementwise: bool) -> None:
    """Refuse arrays of several devices among the arguments of the operator ``name``; numbers may be on the CPU."""
    found: dict[Any, str] = {}
    for parameter, value in zip(parameters, arguments):
        for a in value if type(value) in (list, tuple) else (value,):
            if type(a) in FOREIGN or (type(a) is np.ndarray and a.ndim):
                found.setdefault(type(a), parameter)
    if len(found) < 2:
        return
    first, *others = sorted(found, key=lambda kind: kind is np.ndarray)
    there, other, said = label(first), label(others[0]), "Expected all tensors to be on the same device, but"
    if elementwise:
        raise RuntimeError(f"{said} found at least two devices, {there} and {other}!")
    raise RuntimeError(f"{said} got {found[others[0]]} is on {other}, "
        f"different from other tensors on {there} (when checking argument in method wrapper_CUDA_{name})")
