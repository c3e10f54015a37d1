"""CUDA devices as CuPy serves them: devices, streams, events, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays import devices
from .arrays import CudaArray, cupy

if TYPE_CHECKING:
    from ..arrays.foreign import ForeignArray


class Stream:
    """A queue of work of a device."""

    def __init__(self, device: Any = None, priority: int = 0, pointer: int | None = None) -> None:
        self.index, self.priority = device, priority
        with cupy.cuda.Device(device):
            self.inner = (cupy.cuda.Stream(non_blocking=True, priority=priority) if pointer is None
                else cupy.cuda.ExternalStream(pointer))

    def synchronize(self) -> None:
        """Wait for the work."""
        self.inner.synchronize()

    def query(self) -> bool:
        """Whether the work is done."""
        return bool(self.inner.done)

    def wait(self, event: Any) -> None:
        """Begin further work after ``event``."""
        self.inner.wait_event(event.inner)

    @property
    def pointer(self) -> int:
        """The address of CUDA's stream."""
        return int(self.inner.ptr)


class Event:
    """A point in a stream of work."""

    def __init__(self, timing: bool = False, blocking: bool = False, **options: Any) -> None:
        self.inner = cupy.cuda.Event(block=blocking, disable_timing=not timing)

    def record(self, stream: Any = None) -> None:
        """Mark what was sent to a stream so far."""
        self.inner.record(cupy.cuda.get_current_stream() if stream is None else stream.inner)

    def query(self) -> bool:
        """Whether the work before it is done."""
        return bool(self.inner.done)

    def synchronize(self) -> None:
        """Wait for the work before it."""
        self.inner.synchronize()

    def elapsed(self, end: Any) -> float:
        """Milliseconds from this event to another."""
        return float(cupy.cuda.get_elapsed_time(self.inner, end.inner))


_Hook: Any = cupy.cuda.MemoryHook


class _Counts(_Hook):  # type: ignore[misc]
    """Counts what the pool gives and takes, by device."""

    name = "wengert"

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, dict[str, int]] = {}

    def of(self, index: int) -> dict[str, int]:
        return self.rows.setdefault(index, dict.fromkeys(
            ("current", "peak", "reserved", "peak_reserved", "allocations", "frees"), 0))

    def malloc_postprocess(self, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int,
            **_: Any) -> None:
        row = self.of(device_id)
        row["current"] += mem_size
        row["peak"] = max(row["peak"], row["current"])
        row["allocations"] += 1

    def free_postprocess(self, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int, **_: Any) -> None:
        row = self.of(device_id)
        row["current"] -= mem_size
        row["frees"] += 1


class CupyRuntime(devices.Runtime):
    """Devices served by CuPy."""

    kind = "cuda"
    Stream, Event = Stream, Event

    def __init__(self) -> None:
        super().__init__()
        self._counts = _Counts()
        self._counts.__enter__()  # for the rest of the process
        if self.count():
            digits = cupy.cuda.Device(self.current()).compute_capability  # "90"
            self.capability = int(digits[:-1]), int(digits[-1])

    def array_class(self) -> type[ForeignArray]:
        return CudaArray

    def count(self) -> int:
        return int(cupy.cuda.runtime.getDeviceCount())

    def current(self) -> int:
        return int(cupy.cuda.runtime.getDevice())

    def use(self, index: int) -> None:
        cupy.cuda.runtime.setDevice(index)

    def properties(self, index: int) -> dict[str, Any]:
        found = cupy.cuda.runtime.getDeviceProperties(index)
        name = found["name"]
        return {"name": name.decode() if isinstance(name, bytes) else name, "major": found["major"],
            "minor": found["minor"], "total_memory": found["totalGlobalMem"],
            "multi_processor_count": found["multiProcessorCount"], "warp_size": found["warpSize"],
            "max_threads_per_multi_processor": found["maxThreadsPerMultiProcessor"],
            "shared_memory_per_block": found["sharedMemPerBlock"], "regs_per_multiprocessor":
            found.get("regsPerMultiprocessor", found["regsPerBlock"]), "L2_cache_size": found["l2CacheSize"],
            "is_integrated": found.get("integrated", 0), "is_multi_gpu_board": found.get("isMultiGpuBoard", 0)}

    def synchronize(self, index: int) -> None:
        cupy.cuda.Device(index).synchronize()

    def use_stream(self, stream: Any) -> None:
        super().use_stream(stream)
        (cupy.cuda.Stream.null if stream is None else stream.inner).use()

    def memory(self, index: int) -> tuple[int, int]:
        with cupy.cuda.Device(index):
            free, total = cupy.cuda.runtime.memGetInfo()
        return int(free), int(total)

    def counts(self, index: int) -> dict[str, int]:
        row = self._counts.of(index)
        with cupy.cuda.Device(index):
            row["reserved"] = cupy.get_default_memory_pool().total_bytes()
        row["peak_reserved"] = max(row["peak_reserved"], row["reserved"], row["peak"])
        return row

    def reset_peak(self, index: int) -> None:
        row = self.counts(index)
        row["peak"], row["peak_reserved"] = row["current"], row["reserved"]

    def empty_cache(self) -> None:
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()

    def limit(self, fraction: float, index: int) -> None:
        with cupy.cuda.Device(index):
            cupy.get_default_memory_pool().set_limit(fraction=fraction)
