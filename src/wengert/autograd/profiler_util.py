"""What a profile consists of: events, lists of them, averages, and the text table."""

from __future__ import annotations

import warnings
from collections import defaultdict, namedtuple
from enum import Enum
from typing import Any

from ._profiler_text import (  # noqa: F401  where PyTorch has them
    MEMORY_EVENT_NAME,
    _format_memory,
    _format_time,
    _format_time_share,
    save_spans,
    table,
)

__all__ = [
    "EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel",
]

OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"


class ProfilerActivity(Enum):
    """What can be profiled; here the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 4
    CUDA = 2
    HPU = 3
    PrivateUse1 = 5


class DeviceType(Enum):
    """Where an event ran; here always on the CPU."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    MTIA = 19
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    PrivateUse1 = 20


_WITH_KERNELS = ("CUDA", "PrivateUse1", "MTIA", "HPU", "XPU")


def _replaced(old: str, new: str) -> property:
    """What ``new`` gives, under the name that it had."""

    def read(self: Any) -> Any:
        verb = ", please use" if old == "cuda_time" else ". Use"
        warnings.warn(f"`{old}` is deprecated{verb} `{new.lstrip('_')}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(read)


def _time_text(name: str) -> property:
    return property(lambda self: _format_time(getattr(self, name)))


class FormattedTimesMixin:
    """Times as text, and averages over ``count``."""

    count: int
    cpu_time_total: float
    device_time_total: float

    cpu_time_str = _time_text("cpu_time")
    device_time_str = _time_text("device_time")
    cpu_time_total_str = _time_text("cpu_time_total")
    device_time_total_str = _time_text("device_time_total")
    self_cpu_time_total_str = _time_text("self_cpu_time_total")
    self_device_time_total_str = _time_text("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """Microseconds for each call, those of its children included."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Microseconds on a device for each call."""
        return self.device_time_total / self.count if self.count else 0.0

    cuda_time = _replaced("cuda_time", "device_time")


# -- events -----------------------------------------------------------------------------------------------------------


class Interval:
    """From ``start`` to ``end``, in microseconds since the profile began."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length."""
        return self.end - self.start


Kernel = namedtuple("Kernel", ["name", "device", "duration"])


class FunctionEvent(FormattedTimesMixin):
    """One call of an operator, one step of a backward, or one labelled block.

    ``start_us``, ``end_us``: microseconds. ``input_shapes``: a list for each argument, empty for what is no tensor.
    ``sequence_nr`` is shared by an operator and the node that it recorded; -1 where there is none.
    ``cpu_children`` and ``cpu_parent`` are filled by the ``EventList``.
    """

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float,
            overload_name: str | None = None, fwd_thread: int | None = None, input_shapes: Any = None,
            stack: Any = None, scope: int = 0, use_device: str | None = None, cpu_memory_usage: int = 0,
            device_memory_usage: int = 0, is_async: bool = False, is_remote: bool = False, sequence_nr: int = -1,
            node_id: int = -1, device_type: Any = DeviceType.CPU, device_index: int = 0,
            device_resource_id: int | None = None, is_legacy: bool = False, flops: int | None = None,
            trace_name: str | None = None, concrete_inputs: Any = None, kwinputs: Any = None,
            is_user_annotation: bool = False, activity_type: str | None = None, flow_id: int | None = None,
            flow_type: int | None = None, flow_start: bool | None = None, input_dtypes: Any = None) -> None:
        self.id, self.node_id, self.name = id, node_id, name
        self.overload_name, self.trace_name = overload_name, trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread, self.fwd_thread = thread, fwd_thread
        self.kernels: list[Any] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes, self.input_dtypes = input_shapes, input_dtypes
        self.concrete_inputs, self.kwinputs = concrete_inputs, kwinputs
        self.stack, self.scope, self.use_device = stack, scope, use_device
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.is_legacy = is_async, is_remote, is_legacy
        self.sequence_nr, self.flops, self.is_user_annotation = sequence_nr, flops, is_user_annotation
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.activity_type = activity_type
        self.flow_id, self.flow_type, self.flow_start = flow_id, flow_type, flow_start
        self.self_cpu_percent: Any = -1  # a table that shows this event notes what it says
        self.total_cpu_percent: Any = -1
        self.total_device_percent: Any = -1
        self.allocated: int | None = None  # bytes in use when it ended

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Note a kernel that this event started on a device."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Note an event that ran inside this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Note the event that this one ran inside."""
        self.cpu_parent = parent

    def _own(self, name: str) -> Any:
        """A number of this event on the CPU less those of its children; 0 for other events."""
        if self.is_async or self.device_type is not DeviceType.CPU:
            return 0
        return getattr(self, name) - sum(getattr(child, name) for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds, children included."""
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without those of the children."""
        return round(self._own("cpu_time_total"), 3)  # type: ignore[no-any-return]  # nanoseconds: no -1e-12

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated less bytes freed, without those of the children."""
        return self._own("cpu_memory_usage")  # type: ignore[no-any-return]

    @property
    def self_device_memory_usage(self) -> int:
        """Bytes on a device, without those of the children."""
        return self._own("device_memory_usage")  # type: ignore[no-any-return]

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        """Microseconds on a device, children included: of the kernels, or of an event that is one."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type is DeviceType.CPU:
            below = 0 if self.is_legacy else sum(child.device_time_total for child in self.cpu_children)
            return sum(kernel.duration for kernel in self.kernels) + below
        if self.device_type.name not in _WITH_KERNELS:
            raise AssertionError("Expected device_type to be CUDA, PrivateUse1, MTIA, HPU or XPU, but got "
                f"{self.device_type}")
        return self.time_range.elapsed_us()

    @property
    def self_device_time_total(self) -> float:
        """Microseconds on a device, without those of the children."""
        on_the_cpu = self.device_type is DeviceType.CPU
        return self._own("device_time_total") if on_the_cpu and self.use_device else self.device_time_total

    cuda_time_total = _replaced("cuda_time_total", "device_time_total")
    self_cuda_time_total = _replaced("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _replaced("self_cuda_memory_usage", "self_device_memory_usage")

    @property
    def key(self) -> str:
        """What averages are taken by: the name."""
        return self.name

    def __repr__(self) -> str:
        device = self.use_device
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """Events of one name (and perhaps one shape or place) taken together: sums, and averages over ``count``."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = self.node_id = 0
        self.is_async = self.is_remote = self.is_legacy = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.flops: int | None = 0

    _FIRST = ("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name", "input_shapes",
        "stack", "scope", "device_type", "is_legacy", "use_device", "is_user_annotation")
    _SUMS = ("cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total", "cpu_memory_usage",
        "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "count")

    def add(self, other: Any) -> FunctionEventAvg:
        """Take in an event, or another average of the same key."""
        if self.key is None:
            for name in self._FIRST:
                setattr(self, name, getattr(other, name))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        sums = [getattr(other, name) for name in self._SUMS]  # first all, then the sums: ``other`` may be ``self``
        for name, value in zip(self._SUMS, sums):
            setattr(self, name, getattr(self, name) + value)
        self.flops = other.flops if self.flops is None else self.flops + (other.flops or 0)
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>")


# -- lists of events --------------------------------------------------------------------------------------------------


class EventList(list[Any]):
    """A list of events (or averages) with methods for averages, a table, a trace."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._use_device = kwargs.pop("use_device", None)
        self._profile_memory = kwargs.pop("profile_memory", False)
        self._with_flops = kwargs.pop("with_flops", False)
        super().__init__(*args, **kwargs)
        self._tree_built = False

    def __str__(self) -> str:
        return self.table()

    def _build_tree(self) -> None:
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Find for each event the innermost of its thread that it lies within. Events that overlap are no family."""
        threads: dict[Any, list[FunctionEvent]] = defaultdict(list)
        for event in self:
            if not event.is_async and event.device_type is DeviceType.CPU:
                threads[event.thread, event.node_id].append(event)
        for events in threads.values():
            events.sort(key=lambda e: (e.time_range.start, -e.time_range.end))
            around: list[FunctionEvent] = []
            for event in events:
                span = event.time_range
                while around and (span.start >= around[-1].time_range.end or span.end > around[-1].time_range.end):
                    around.pop()
                if around:
                    if event.cpu_parent is not None:
                        raise AssertionError(f"There is already a CPU parent event for {event.key}")
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """Take out an event that is the only child of one of the same name: an operator that was recorded twice."""
        while True:
            again = {i for i, event in enumerate(self) if event.cpu_parent is not None
                and event.cpu_parent.name == event.name and len(event.cpu_parent.cpu_children) == 1}
            if not again:
                return
            for i in again:
                event = self[i]
                event.cpu_parent.cpu_children = event.cpu_children
                event.cpu_parent.kernels = event.kernels
                for child in event.cpu_children:
                    child.cpu_parent = event.cpu_parent
            self[:] = [event for i, event in enumerate(self) if i not in again]

    def _set_backward_stacktraces(self) -> None:
        """A step of the backward shows the lines that made it."""
        stacks: dict[tuple[int, int], Any] = {}
        for e in self:
            if e.sequence_nr >= 0 and e.stack and e.scope != 1 and not e.name.startswith("autograd::engine"):
                stacks.setdefault((e.sequence_nr, e.thread), e.stack)
        for event in self:
            around = event
            while around is not None and not (around.scope == 1 or around.name.startswith("autograd::engine")):
                around = around.cpu_parent
            if around is not None:
                if around.scope == 1 and around.fwd_thread is None:
                    raise AssertionError("Expected fwd_thread to be set for backward parent")
                event.stack = stacks.get((around.sequence_nr, around.fwd_thread), [])

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
            group_by_overload_name: bool = False) -> EventList:
        """Averages over events of one name; of one name and shapes; of one name and the innermost ``n`` lines."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        groups: dict[tuple[str, ...], FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = [str(event.key), str(event.node_id), str(event.device_type), str(event.is_legacy),
                str(event.is_user_annotation)]
            if group_by_overload_name:
                key.append(str(event.overload_name))
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key += (event.stack or [])[:group_by_stack_n]
            groups[tuple(key)].add(event)
        averages = EventList(groups.values(), use_device=self._use_device, profile_memory=self._profile_memory,
            with_flops=self._with_flops)
        for average in averages:
            average.stack = (average.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """Everything taken together."""
        total = FunctionEventAvg()
        for event in self:
            total.key = None
            total += event
        total.key = "Total"
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int | None = 75,
            max_name_column_width: int | None = 55, max_shapes_column_width: int | None = 80, header: str | None = None,
            top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        """The events as text, the largest first if ``sort_by`` names a number of them, such as "self_cpu_time_total".

        ``row_limit``: how many rows at most, -1 for all. ``top_level_events_only``: leave out what ran inside another
        event. ``time_unit``: "s", "ms" or "us" for all rows. The widths are limits, None for none.
        """
        widths = max_src_column_width, max_name_column_width, max_shapes_column_width
        return table(self, sort_by, row_limit, widths, header, top_level_events_only, time_unit)

    def export_chrome_trace(self, path: str) -> None:
        """Write the named events as a list of spans, which https://ui.perfetto.dev and chrome://tracing show.

        ``profile.export_chrome_trace`` writes more: arrows, arguments and memory.
        """
        save_spans(path, self)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What ``export_stacks`` can count."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write ``outer;…;inner number`` for each call stack, the format of flame graph tools."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        unsafe = str.maketrans(" ;\t\n", "____")
        metric = metric if metric.startswith("self_cpu") else "self_device_time_total"
        with open(path, "w") as file:
            for event in self:
                if event.stack and (value := int(getattr(event, metric))) > 0:
                    file.write(";".join(entry.translate(unsafe) for entry in reversed(event.stack)) + f" {value}\n")
