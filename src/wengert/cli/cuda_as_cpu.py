"""``wengert run --cuda=cpu``: a program that insists on a GPU runs on the CPU.

CUDA seems to be there, with one card, and everything that is put on it is on the CPU. So that checks of where tensors
are hold, every tensor says that it is on ``cuda:0``, except those that the program has asked to have on the CPU
(``cpu()``, ``to("cpu")``): these are copies, as they would be. Autocast and gradient scaling on the card are switched
off: the program computes in the precision of its tensors. ``install`` changes the package for the rest of the process.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .. import accelerator, cuda, version
from ..arrays import memory
from ..backends import cuda as cuda_backend
from ..backends import cudnn
from ..functions.conversion import LEGACY, _by_place
from ..functions.devices import HOSTED
from ..random import get_rng_state, initial_seed, set_rng_state
from ..tensor import Tensor
from ..tensor.types import CPU, device
from . import spawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "CPU (wengert run --cuda=cpu)"
GPU = device("cuda", 0)
LINE = "wengert: --cuda=cpu: what the program puts on CUDA devices is on the CPU"


def install() -> None:
    """Let CUDA be there in this process, and in those that ``multiprocessing`` spawns from it. Again: does nothing."""
    if "cuda" in HOSTED:
        return
    HOSTED.add("cuda")
    _tensors()
    for name, f in _functions().items():
        setattr(cuda, name, f)
    nvtx = cuda.nvtx
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        setattr(nvtx, name, _nothing)
    nvtx.range = _range
    vars(accelerator).update(is_available=_yes, device_count=_one, current_accelerator=lambda *a, **k: device("cuda"),
        current_device_index=_zero, current_device_idx=_zero, set_device_index=_nothing, set_device_idx=_nothing,
        synchronize=_nothing, current_stream=_stream, set_stream=_nothing, empty_cache=_nothing,
        **{name: getattr(cuda, name) for name in ("memory_allocated", "max_memory_allocated", "memory_reserved",
            "max_memory_reserved", "memory_stats", "reset_peak_memory_stats", "get_device_capability")})
    version.cuda = "13.0"
    vars(cudnn).update(is_available=_yes, version=lambda: 91002)
    cuda_backend.is_built = _yes
    spawn.more["wengert_cuda"] = install


# -- tensors -----------------------------------------------------------------------------------------------------------


def _tensors() -> None:
    """Where tensors say that they are."""
    where: Any = Tensor.__dict__["device"].fget
    moved, name_of = Tensor.to, Tensor.type
    members: Any = Tensor

    data: Any = Tensor.__dict__["data"]

    def set_data(t: Any, value: Any) -> None:
        data.fset(t, value)
        if isinstance(value, Tensor) and at(value) is CPU:
            t.__dict__["_wg_on_cpu"] = True
        else:
            t.__dict__.pop("_wg_on_cpu", None)

    def at(t: Any) -> Any:
        found = where(t)
        return GPU if found is CPU and "_wg_on_cpu" not in t.__dict__ else found

    def put(t: Any, target: Any, found: Any, memory_format: Any = None) -> Any:
        """``found``, or a copy of it where the program moves it from one place to the other."""
        if target is None or target.type not in ("cpu", "cuda") or (at(t).type == target.type):
            return found
        if found is t:
            found = t.clone() if memory_format is None else t.clone(memory_format=memory_format)
        if target.type == "cpu":
            found.__dict__["_wg_on_cpu"] = True
        return found

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        other = kwargs.get("other", next((a for a in args if isinstance(a, Tensor)), None))
        target = other.device if other is not None else _by_place(args, None, kwargs.get("device"))[1]
        found = moved(self, *args, **kwargs)
        if not isinstance(found, Tensor):
            return found
        if target is None:
            return _alike(self, found)
        target = device(target)
        return _alike(self, found) if at(self).type == target.type else put(self, target, found)

    def cpu(self: Any, memory_format: Any = None) -> Any:
        return put(self, CPU, moved(self, "cpu"), memory_format)

    def gpu(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        return put(self, GPU, moved(self, "cuda" if device is None else device), memory_format)

    def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            found = name_of(self)
            return found.replace("torch.", "torch.cuda.", 1) if at(self) == GPU else found
        return name_of(self, dtype.replace(".cuda", "") if isinstance(dtype, str) else dtype, non_blocking, **kwargs)

    for method, old in ((to, Tensor.to), (cpu, Tensor.cpu), (gpu, Tensor.cuda), (type_, Tensor.type)):
        method.__name__, method.__qualname__, method.__doc__ = old.__name__, old.__qualname__, old.__doc__
        setattr(members, old.__name__, method)
    members.data = property(data.fget, set_data, data.fdel, data.__doc__)
    members.device = property(at, doc=Tensor.device.__doc__)
    for legacy, kind in list(LEGACY.items()):
        setattr(cuda, legacy, kind)
        LEGACY[f"cuda.{legacy}"] = kind  # for set_default_tensor_type()


def _alike(source: Any, found: Any) -> Any:
    if found is not source and "_wg_on_cpu" in source.__dict__:
        found.__dict__["_wg_on_cpu"] = True
    return found


# -- torch.cuda --------------------------------------------------------------------------------------------------------


def _answer(value: Any) -> Callable[..., Any]:
    def query(*args: Any, **kwargs: Any) -> Any:
        return value

    return query


_nothing, _yes, _no, _zero, _one = map(_answer, (None, True, False, 0, 1))


class Stream:
    """A queue of work; here work is done at once."""

    device = GPU
    cuda_stream = stream_id = device_index = 0
    query = _yes
    synchronize = wait_stream = wait_event = _nothing
    priority_range = staticmethod(lambda: (0, -1))

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.priority = priority

    def record_event(self, event: Any = None) -> Any:
        """A mark in the queue: now."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class Event:
    """A mark in a queue of work: a time."""

    device = GPU
    query = _yes
    synchronize = wait = _nothing

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Mark now."""
        self.time = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two marks."""
        if self.time is None or end_event.time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event.time - self.time) * 1000.0


class Device:
    """Inside, a card is the current one: there is one."""

    def __init__(self, device: Any) -> None:
        self.idx, self.prev_idx = 0, -1

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


class StreamContext(Device):
    """Inside, a queue of work is the current one."""

    def __init__(self, stream: Any) -> None:
        super().__init__(None)
        self.stream = stream


class CUDAGraph:
    """Recorded work of a card, which cannot be replayed here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("CUDA graphs cannot be recorded where CUDA runs on the CPU (wengert run --cuda=cpu)")


_default = Stream()
_stream = _answer(_default)


@contextmanager
def _range(msg: str = "", *args: Any, **kwargs: Any) -> Iterator[None]:
    yield


def _counts(name: str) -> Callable[..., int]:
    """A count of memory; 0 where the native extension, which counts, is not in use."""
    def count(device: Any = None) -> int:
        try:
            found = memory.counts()
        except RuntimeError:
            return 0
        return max(0, found.current if name == "current" else found.peak)

    return count


def _reset_peak(device: Any = None) -> None:
    try:
        memory.reset_peak()
    except RuntimeError:
        pass


def _stats(device: Any = None) -> dict[str, int]:
    rows = {"current": _counts("current")(), "peak": _counts("peak")()}
    return {f"{kind}_bytes.all.{row}": n for kind in ("allocated", "reserved", "active") for row, n in rows.items()}


def _total() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 8 << 30


def _properties(device: Any = None) -> Any:
    return SimpleNamespace(name=NAME, major=8, minor=0, total_memory=_total(), warp_size=32, is_integrated=1,
        multi_processor_count=os.cpu_count() or 1, is_multi_gpu_board=0, max_threads_per_multi_processor=2048,
        gcnArchName="", L2_cache_size=0, regs_per_multiprocessor=65536, shared_memory_per_block=49152, uuid=NAME)


def _set_states(states: Any) -> None:
    for state in states:
        set_rng_state(state)


def _current_index(x: Any = None) -> None:
    """``set_device``: any number is taken."""
    device("cuda", x) if isinstance(x, int) and x >= 0 else x


def _functions() -> dict[str, Any]:
    """The members of ``torch.cuda``, as on a machine with a card."""
    now, peak, free = _counts("current"), _counts("peak"), lambda *_: (_total() - _counts("current")(), _total())
    return dict(
        is_available=_yes, is_initialized=_yes, is_bf16_supported=_yes, is_tf32_supported=_yes, device_count=_one,
        current_device=_zero, set_device=_current_index, get_device_name=_answer(NAME), init=_nothing,
        get_device_capability=_answer((8, 0)), get_device_properties=_properties, get_arch_list=lambda: ["sm_80"],
        get_gencode_flags=_answer(""), can_device_access_peer=_no, device=Device, device_of=Device,
        synchronize=_nothing, current_stream=_stream, default_stream=_stream, set_stream=_nothing, Stream=Stream,
        ExternalStream=Stream, Event=Event, StreamContext=StreamContext, stream=StreamContext, CUDAGraph=CUDAGraph,
        graph=CUDAGraph, is_current_stream_capturing=_no, make_graphed_callables=lambda callables, *a, **k: callables,
        memory_allocated=now, max_memory_allocated=peak, memory_reserved=now, max_memory_reserved=peak,
        memory_cached=now, max_memory_cached=peak, memory_stats=_stats, memory_summary=_answer(f"{NAME}: no table"),
        memory_snapshot=_answer([]), mem_get_info=free, reset_peak_memory_stats=_reset_peak, empty_cache=_nothing,
        reset_accumulated_memory_stats=_nothing, reset_max_memory_allocated=_reset_peak,
        reset_max_memory_cached=_reset_peak, set_per_process_memory_fraction=_nothing, ipc_collect=_nothing,
        list_gpu_processes=_answer(""), utilization=_zero, temperature=_zero, power_draw=_zero, clock_rate=_zero,
        initial_seed=initial_seed, get_rng_state=lambda device="cuda": get_rng_state(),
        set_rng_state=lambda new_state, device="cuda": set_rng_state(new_state),
        get_rng_state_all=lambda: [get_rng_state()], set_rng_state_all=_set_states,
        profiler=SimpleNamespace(start=_nothing, stop=_nothing, profile=_range),
    )
