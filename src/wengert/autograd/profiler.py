"""Profiles: where the time and the memory of a program go, by operator and by step of the backward.

>>> x = torch.ones(2, 2, requires_grad=True)
>>> with torch.autograd.profiler.profile() as prof:
...     with torch.autograd.profiler.record_function("loss"):
...         loss = (x * 2).sum()
...     loss.backward()
>>> [event.name for event in prof.function_events][:3]
['loss', 'aten::mul', 'aten::sum']
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from contextlib import ContextDecorator
from enum import IntEnum
from time import perf_counter_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import ops
from ..arrays import memory
from ..graph.modes import modes
from ._recorder import USER, Recorder
from ._recorder_facts import described
from .profiler_util import MEMORY_EVENT_NAME as MEMORY_EVENT_NAME
from .profiler_util import OUT_OF_MEMORY_EVENT_NAME as OUT_OF_MEMORY_EVENT_NAME
from .profiler_util import DeviceType as DeviceType
from .profiler_util import EventList, FunctionEvent, ProfilerActivity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._recorder import Event
    from .profiler_util import FunctionEventAvg

__all__ = [
    "EnforceUnique", "EventList", "FunctionEvent", "KinetoStepTracker", "emit_itt", "emit_nvtx",
    "load_nvprof", "parse_nvprof_trace", "profile", "record_function",
]


def kineto_available() -> bool:
    """Whether profiles have what PyTorch's Kineto library adds: activities, schedules, traces. Always."""
    return True


class _ProfilerStats:
    """How long the work of the profiler itself took."""

    def __init__(self) -> None:
        self.profiling_window_duration_sec = 0.0
        self.number_of_events = 0
        self.profiler_prepare_call_duration_us = self.profiler_enable_call_duration_us = 0
        self.profiler_disable_call_duration_us = 0
        self.parse_kineto_call_duration_us = self.function_events_build_tree_call_duration_us = 0


class ProfilerState(IntEnum):
    """How a profile is recorded; what is recorded here is recorded in one way."""

    Disabled, CPU, CUDA, NVTX, ITT, PRIVATEUSE1, KINETO = range(7)
    KINETO_GPU_FALLBACK, KINETO_PRIVATEUSE1_FALLBACK, KINETO_PRIVATEUSE1 = range(7, 10)


class ProfilerConfig(NamedTuple):
    """What a profile records."""

    state: ProfilerState
    report_input_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    with_modules: bool
    experimental_config: Any
    trace_id: str = ""


def without_trace_only(config: Any, with_stack: bool) -> Any:
    """``config``; with stacks, which are part of the events, a copy without ``trace_only``, and a warning."""
    if config is None or not config.trace_only or not with_stack:
        return config
    from copy import copy

    warnings.warn(
        "trace_only=True is incompatible with with_stack=True (stack traces require event post-processing). Disabling "
        "trace_only.", stacklevel=4
    )
    config = copy(config)
    config.trace_only = False
    return config


class profile:
    """Record every operator, backward step and labelled block of this thread while the ``with`` block runs.

    ``record_shapes``: also the shapes of arguments. ``profile_memory``: also how many bytes each event allocated less
    those it freed (needs the native extension). ``with_stack``: also the Python lines. ``with_flops``: also an estimate
    of the arithmetic of matrix products, convolutions, sums and products. ``enabled=False`` makes the block a plain
    one. The options that name devices and Kineto are accepted; everything runs on the CPU.
    ``post_processing_timeout_s``: how long making events may take; what is left then is left out.

    Profiles may lie within each other; each gets its own events. Entering one twice raises ``RuntimeError``.

    >>> with torch.autograd.profiler.profile(record_shapes=True) as prof:
    ...     y = torch.ones(3, 4) @ torch.ones(4, 2)
    >>> [a.input_shapes for a in prof.key_averages(group_by_input_shape=True) if a.key == "aten::matmul"]
    [[[3, 4], [4, 2]]]
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
            record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
            with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True,
            experimental_config: Any = None, acc_events: bool = False,
            custom_trace_id_callback: Callable[[], str] | None = None, post_processing_timeout_s: float | None = None,
            activity_filters: Any = None) -> None:
        self.enabled = bool(enabled)
        if not self.enabled:
            return
        self.use_cuda, self.use_device = use_cuda, use_device
        if use_cuda:
            message = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead."
            warnings.warn(message, FutureWarning, stacklevel=2)
            self.use_device = "cuda"
        if self.use_device == "mtia":
            raise AssertionError("Legacy MTIA profiling is not supported. Requires use_kineto=True on MTIA devices.")
        if self.use_device is not None:
            kind = self.use_device.upper()
            known = self.use_device in ("cuda", "xpu", "hpu")
            warnings.warn(f"{kind} is not available, disabling {kind} profiling" if known
                else f"The {self.use_device} is not a valid device option.", stacklevel=2)
            self.use_cuda, self.use_device = False, None
        if not use_cpu:
            raise AssertionError("No activities specified for the profiler" if use_kineto
                else "Device-only events supported only with Kineto (use_kineto=True)")
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.use_kineto = use_kineto
        self.use_cpu, self.acc_events, self.activity_filters = use_cpu, acc_events, activity_filters or {}
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.experimental_config = without_trace_only(experimental_config, with_stack)
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        if profile_memory and not memory.available:
            warnings.warn("profile_memory needs the native extension, which is not in use: the memory columns stay "
                "zero.", stacklevel=2)
        self.entered = False
        self.trace_id = ""
        self.profiling_start_time_ns = self.profiling_end_time_ns = 0
        self._stats = _ProfilerStats()
        self._recorder: Recorder | None = None
        self._saved = False  # whether the trace is written
        self._events: EventList | None = None
        self._earlier: list[FunctionEvent] = []  # of former recordings, with ``acc_events``

    def config(self, create_trace_id: bool = False) -> ProfilerConfig:
        """What is recorded, as one object."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        return ProfilerConfig(ProfilerState.KINETO if self.use_kineto else ProfilerState.CPU, self.record_shapes,
            self.profile_memory, self.with_stack, self.with_flops, self.with_modules, self.experimental_config,
            self.trace_id)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        """A new recording has a name of its own."""
        self.entered = True
        self.trace_id = self.create_trace_id()

    def _start_trace(self) -> None:
        if self._finished():
            self._earlier = list(self.function_events) if self.acc_events else []
            self._events = None
        self.entered, self._saved = True, False
        began = perf_counter_ns()
        self._recorder = Recorder(self.record_shapes, self.profile_memory and memory.available, self.with_stack,
            self.with_flops)
        self._recorder.begin_recording()
        self.profiling_start_time_ns = perf_counter_ns()
        self._stats.profiler_enable_call_duration_us = (self.profiling_start_time_ns - began) // 1000

    def __exit__(self, *exc: object) -> None:
        if self.enabled and self._recorder is not None and self._recorder.on:
            self.profiling_end_time_ns = perf_counter_ns()
            self._recorder.end_recording()
            self._stats.profiler_disable_call_duration_us = (perf_counter_ns() - self.profiling_end_time_ns) // 1000
            self._stats.profiling_window_duration_sec = (
                (self.profiling_end_time_ns - self.profiling_start_time_ns) / 1e9)

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[Any]) -> None:
        """Pause or resume the recording of operators inside the block, if the CPU is among ``activities``."""
        if self._recorder is not None and ProfilerActivity.CPU in set(activities):
            self._recorder.collecting = enabled

    def create_trace_id(self) -> str:
        """A name for a recording, from ``custom_trace_id_callback`` if there is one."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    def default_trace_id(self) -> str:
        """32 random hexadecimal digits."""
        import uuid

        return f"{uuid.uuid4().int:032X}"

    # -- what was recorded --------------------------------------------------------------------------------------------

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began."""
        if self.enabled and self.experimental_config is not None and self.experimental_config.trace_only:
            raise RuntimeError("events() is not available when trace_only=True in ExperimentalConfig. Use "
                "export_chrome_trace() instead.")
        return self._made()

    def _made(self) -> EventList:
        if self._events is None:
            recorder = self._recorder if self._finished() else None
            events = EventList([] if recorder is None else _events(recorder, self.post_processing_timeout_s),
                profile_memory=self.enabled and self.profile_memory, with_flops=self.enabled and self.with_flops)
            events._build_tree()
            if recorder is None:
                return events
            self._stats.number_of_events = len(events)
            events += self._earlier
            self._events = events
        return self._events

    def __repr__(self) -> str:
        return repr(self.function_events) if self._finished() else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self._finished() else repr(self)

    def _finished(self) -> bool:
        return self.enabled and self._recorder is not None and not self._recorder.on

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int | None = 75,
            max_name_column_width: int | None = 55, max_shapes_column_width: int | None = 80, header: str | None = None,
            top_level_events_only: bool = False) -> str:
        """See ``EventList.table``."""
        return self.function_events.table(sort_by, row_limit, max_src_column_width, max_name_column_width,
            max_shapes_column_width, header, top_level_events_only)

    def export_chrome_trace(self, path: str, metadata: dict[str, str] | None = None,
            use_python_export: bool = False) -> None:
        """Write a trace for https://ui.perfetto.dev; arrows lead from each operator to its step of the backward.

        ``metadata``: values, as JSON, that are written beside the events. A recording is written once
        (``RuntimeError``), as in PyTorch; with ``use_python_export`` any number of times.
        """
        if not use_python_export:
            if self._saved:
                raise RuntimeError("Trace is already saved.")
            self._saved = True
        from ._profiler_text import save_trace

        save_trace(path, self._made(), metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the call stacks with their times, for flame graph tools. Needs ``with_stack=True``."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
            group_by_overload_name: bool = False) -> EventList:
        """Averages by name; also by the shapes of the arguments, or by the innermost ``n`` lines of the stack."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """Everything taken together."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return self.function_events.self_cpu_time_total


def _events(recorder: Recorder, seconds: float | None) -> list[FunctionEvent]:
    """Raw events as the user sees them: microseconds, counted from the beginning of the profile. As many as are made in
    ``seconds``.
    """
    begin = recorder.start
    limit = None if seconds is None else perf_counter_ns() + int(seconds * 1e9)
    pid = os.getpid()
    rows: list[FunctionEvent] = []
    lines: dict[Any, str] = {}
    for number, e in enumerate(recorder.events, 1):
        if limit is not None and perf_counter_ns() >= limit:
            import logging

            logging.getLogger(__name__).warning(
                "Profiler _parse_kineto_results timed out after %.3f seconds, returning partial results with %d events",
                seconds, len(rows)
            )
            break
        stop = e.end if e.end else recorder.end  # still open when the profile ended
        name = "ProfilerStep*" if e.name.startswith("ProfilerStep#") else e.name  # all steps are averaged together
        shapes, dtypes, values = described(e.inputs)
        event = FunctionEvent(number, name, e.thread, (e.start - begin) / 1000, (stop - begin) / 1000, overload_name="",
            fwd_thread=e.fwd_thread, input_shapes=shapes, stack=_lines(e, lines), scope=e.scope,
            cpu_memory_usage=e.bytes if e.end else 0, is_async=e.end != 0 and e.thread != e.thread_at_end,
            sequence_nr=e.seq, flops=e.flops, trace_name=e.name, concrete_inputs=values or [], kwinputs={},
            input_dtypes=dtypes or [], device_index=pid, is_user_annotation=e.scope == USER,
            activity_type="user_annotation" if e.scope == USER else "cpu_op", flow_id=0, flow_type=0, flow_start=False)
        event.allocated = e.allocated
        rows.append(event)
    rows.sort(key=lambda event: event.time_range.start)
    return rows


def _lines(event: Event, known: dict[Any, str]) -> list[str]:
    """The stack of an event as text: ``file.py(12): function``, innermost first."""
    for code, line in event.stack or ():
        if (code, line) not in known:
            known[code, line] = f"{code.co_filename}({line}): {code.co_name}"
    return [known[place] for place in event.stack or ()]


class record_function(ContextDecorator):
    """A label for a block, or for the calls of a function, in profiles. Without a profiler it does next to nothing.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("my block"):
    ...         y = torch.ones(2) + 1
    >>> prof.key_averages()[0].key
    'my block'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.run_callbacks_on_exit = True
        self.record: Any = None

    def _recreate_cm(self) -> record_function:  # each call of a decorated function has an event of its own
        return type(self)(self.name, self.args)

    def __enter__(self) -> record_function:
        observers = modes().watchers
        self.record = _enter(observers, self.name) if observers else ()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.run_callbacks_on_exit:
            if self.record is None:
                raise AssertionError("Expected record to be set")
            self.record, record = (), self.record
            _exit(record)

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """Let the event end when ``fut`` is done; gives a future with the same value."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        record, self.record = self.record, ()

        def done(future: Any) -> Any:
            if record is not None:
                _exit(record)
            return future.value() if hasattr(future, "value") else future.result()

        return fut.then(done) if hasattr(fut, "then") else (fut.add_done_callback(done), fut)[1]


def _enter(observers: tuple[Any, ...], name: str, inputs: Any = None) -> list[tuple[Recorder, Event]]:
    recorders = [o for o in observers if type(o) is Recorder and o.on and o.collecting]
    return [(recorder, recorder.begin(name, USER, inputs)) for recorder in recorders]


def _exit(record: Any) -> None:
    for recorder, event in reversed(record or ()):
        if event.end == 0 and recorder.on:
            recorder.finish(event)


# -- the names below torch.autograd and torch.ops.profiler that programs of old use ------------------------------------


def _record_function_with_args_enter(name: str, *args: Any) -> Any:
    return _enter(modes().watchers, name, args)


def _record_function_enter(name: str, args: str | None = None) -> Any:
    return _enter(modes().watchers, name, ())


_record_function_with_args_exit = _exit
_exit._RecordFunction = _exit  # type: ignore[attr-defined]  # its overload has a name of its own
ops.profiler = SimpleNamespace(_record_function_enter=_record_function_enter,  # type: ignore[attr-defined]
    _record_function_enter_new=_record_function_enter, _record_function_exit=_exit)


def _is_profiler_enabled() -> bool:
    """Whether a profiler watches this thread or task."""
    return any(type(o) is Recorder and o.on for o in modes().watchers)


# -- other profilers' markers ------------------------------------------------------------------------------------------


class emit_itt:
    """Ranges for Intel's VTune around every operator. The library is not used here, so nothing is emitted.

    The block runs as it is, with every operator on its general path, as under the real thing.
    """

    _tool = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False

    def __enter__(self) -> emit_itt | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{'NVTX' if self._tool else 'ITT'} annotation context manager is not reentrant")
        self.entered = True
        self._synchronize()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            self._synchronize()

    def _synchronize(self) -> None:
        if self._tool:
            raise AssertionError(self._tool)


class emit_nvtx(emit_itt):
    """Ranges for NVIDIA's profilers: there is no CUDA here, and entering says so."""

    _tool = "Torch not compiled with CUDA enabled"


def load_nvprof(path: str) -> EventList:
    """The events of a database that ``nvprof`` wrote around ``emit_nvtx``."""
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> list[FunctionEvent]:
    """The marked ranges in a database that ``nvprof`` wrote."""
    import sqlite3

    pairs = "CUPTI_ACTIVITY_KIND_MARKER AS start INNER JOIN CUPTI_ACTIVITY_KIND_MARKER AS end ON start.id = end.id"
    connection = sqlite3.connect(path)
    try:
        names = dict(connection.execute("SELECT _id_ as id, value FROM StringTable"))
        unique = EnforceUnique()
        events = {}
        marks = (f"SELECT start.id, start.name, start.timestamp, end.timestamp FROM {pairs} WHERE start.name != 0 AND "
            "end.name = 0")
        for marker, name, start, end in connection.execute(marks):
            unique.see(marker)
            events[marker] = FunctionEvent(id=marker, node_id=0, name=names[name], start_us=start, end_us=end, thread=0)
        unique = EnforceUnique()
        kernels = (f"SELECT start.id, runtime._id_, runtime.cbid, kernel.start, kernel.end, kernel.name FROM {pairs} "
            "INNER JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS runtime ON (start.timestamp < runtime.start AND runtime.end < "
            "end.timestamp) INNER JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel ON kernel.correlationId = "
            "runtime.correlationId")
        for marker, runtime, call, start, end, name in connection.execute(kernels):
            unique.see(marker, runtime)
            if call != 211:  # the number of cudaKernelLaunch
                raise AssertionError(f"Expected cbid to be 211, but got {call}")
            events[marker].append_kernel(name, 0, end - start)
    finally:
        connection.close()
    return sorted(events.values(), key=lambda event: event.time_range.start)


class EnforceUnique:
    """Complains about a key that it has seen before."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Take note of ``key``; ``RuntimeError`` if it is not new."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts the steps of several requesters (profilers, optimizers): the overall count is the largest of theirs."""

    _current_step = 0
    _step_dict: dict[str, int] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """A requester begins at the present count."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a requester."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """A requester has made a step; gives the overall count."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        highest = max(cls._step_dict.values())
        if highest > cls._current_step + 1:
            warnings.warn("Profiler step count has increased more than 1 - current_step = "
                f"{cls._current_step} step dict =  {cls._step_dict}", stacklevel=2)
        cls._current_step = max(cls._current_step, highest)
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The overall count."""
        return cls._current_step
