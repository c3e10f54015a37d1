"""``torch.profiler``: profiles of some steps of a training loop, and what is done with each of them."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..autograd import profiler as prof
from ..autograd.profiler_util import EventList, ProfilerActivity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .observer import ExecutionTraceObserver

__all__ = ["ExecutionTraceObserver", "ProfilerAction", "profile", "schedule", "supported_activities",
    "tensorboard_trace_handler"]

PROFILER_STEP_NAME = "ProfilerStep"
_DEVICES = {"CUDA": "cuda", "XPU": "xpu", "MTIA": "mtia", "HPU": "hpu", "PrivateUse1": "privateuseone"}
_said: set[str] = set()


def _warn_once(message: str) -> None:
    if message not in _said:
        _said.add(message)
        warnings.warn(message, stacklevel=3)


class ProfilerAction(Enum):
    """What the profiler does in a step. ``DEVICE_STOPPED`` is for devices whose recording ends early, and no schedule
    may say it.
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


class RecordScope(Enum):
    """The ``scope`` of an event: an operator, a step of the backward, a block with a label (``USER_SCOPE``)."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9


class _ExperimentalConfig:
    """Options for Kineto, of which ``trace_only`` has an effect here: then there is a trace, and no list of events."""

    def __init__(self, profiler_metrics: Iterable[str] = (), profiler_measure_per_kernel: bool = False,
            verbose: bool = False, performance_events: Iterable[str] = (), enable_cuda_sync_events: bool = False,
            adjust_profiler_step: bool = False, disable_external_correlation: bool = False,
            profile_all_threads: bool = False, capture_overload_names: bool = False,
            record_python_gc_info: bool = False, expose_kineto_event_metadata: bool = False,
            custom_profiler_config: str = "", adjust_timestamps: bool = False, trace_only: bool = False) -> None:
        self.custom_profiler_config, self.trace_only = custom_profiler_config, trace_only


def supported_activities() -> set[ProfilerActivity]:
    """``{ProfilerActivity.CPU}``."""
    return {ProfilerActivity.CPU}


def _activities(given: Iterable[Any]) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, set[str]]]:
    """The activities, and which kinds of events of each; ``{activity: kinds}`` names some, an activity alone all."""
    wanted: set[ProfilerActivity] = set()
    kinds: dict[ProfilerActivity, set[str]] = {}
    for item in given:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for activity in [item] if isinstance(item, ProfilerActivity) else item:
            if activity in wanted:
                raise ValueError(f"Activity {activity} specified more than once")
            wanted.add(activity)
            if isinstance(item, dict):
                kinds[activity] = set(item[activity])
    return wanted, kinds


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
        skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Which steps to record: skip ``skip_first``, then cycles of ``wait`` idle, ``warmup`` discarded and ``active``
    recorded ones.

    ``repeat``: how many cycles, 0 for no end. ``skip_first_wait``: leave out the wait of the first cycle if not 0.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def plan(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait != 0:
            step += wait
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        step %= cycle
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False,
        use_python_export: bool = False) -> Callable[[Any], None]:
    """For ``on_trace_ready``: write each trace into ``dir_name``, under a name for TensorBoard's plugin."""
    worker = worker_name

    def save(p: Any) -> None:
        nonlocal worker
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        p.export_chrome_trace(os.path.join(dir_name, name), use_python_export=use_python_export)

    return save


class _KinetoProfile:
    """One recording, from ``start`` to ``stop``, with its options and the metadata of its trace.

    ``activities``: what to record; devices other than the CPU are accepted with a warning. The other options are those
    of ``autograd.profiler.profile``; ``execution_trace_observer`` is started and stopped together with the recording.
    """

    def __init__(self, *, activities: Iterable[Any] | None = None, record_shapes: bool = False,
            profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
            with_modules: bool = False, experimental_config: Any = None, execution_trace_observer: Any = None,
            acc_events: bool = False, custom_trace_id_callback: Callable[[], str] | None = None,
            post_processing_timeout_s: float | None = None) -> None:
        self.activities, self.activity_filters = _activities(
            supported_activities() if activities is None else activities)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.experimental_config = prof.without_trace_only(experimental_config, with_stack)
        self.execution_trace_observer = execution_trace_observer
        self.custom_trace_id_callback, self.post_processing_timeout_s = (custom_trace_id_callback,
            post_processing_timeout_s)
        self.profiler: prof.profile | None = None
        self.use_device = next((name for kind, name in _DEVICES.items() if ProfilerActivity[kind] in self.activities),
            None)
        self.preset_metadata: dict[str, str] = {}
        self._trace_metadata: dict[str, str] = {}

    # -- one recording ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """End."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """A new cycle, whose warm-up is the work that comes until ``start_trace``."""
        if self.profiler is not None and not self.acc_events:
            _warn_once(
                "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                "reported. To keep events across cycles, set acc_events=True."
            )
        if self.profiler is None or not self.acc_events:
            self.profiler = prof.profile(use_cpu=ProfilerActivity.CPU in self.activities, use_device=self.use_device,
                record_shapes=self.record_shapes, with_flops=self.with_flops, profile_memory=self.profile_memory,
                with_stack=self.with_stack, with_modules=self.with_modules, use_kineto=True,
                experimental_config=self.experimental_config, acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
                post_processing_timeout_s=self.post_processing_timeout_s,
                activity_filters=self.activity_filters or None)
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Record from here."""
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        self._recorded("starting trace")._start_trace()
        for option in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, option):
                self.add_metadata_json(option, "1")
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)

    def stop_trace(self) -> None:
        """Record no longer."""
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        self._recorded("stopping trace").__exit__(None, None, None)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Pause or resume the recording of operators, if the CPU is among ``activities``."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # -- what was recorded --------------------------------------------------------------------------------------------

    def _recorded(self, purpose: str) -> prof.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last cycle, or of all with ``acc_events``."""
        return self._recorded("accessing events").function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
            group_by_overload_name: bool = False) -> EventList:
        """Averages by name; also by the shapes of the arguments, or by the innermost ``n`` lines of the stack."""
        return self._recorded("getting key averages").key_averages(group_by_input_shape, group_by_stack_n,
            group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write a trace for https://ui.perfetto.dev, compressed if ``path`` ends in ``.gz``."""
        self._recorded("exporting chrome trace").export_chrome_trace(path, self._trace_metadata, use_python_export)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the call stacks with their times, for flame graph tools."""
        self._recorded("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Write how many bytes arrays held over time: as numbers, or as a page if ``path`` ends in ``.html``. See
        ``timeline.save``.

        Needs ``record_shapes``, ``profile_memory`` and ``with_stack``. Deprecated in PyTorch, and so here.
        """
        warnings.warn("`export_memory_timeline` is deprecated and will be removed in a future version. Please use "
            "`torch.cuda.memory._record_memory_history` and `torch.cuda.memory._export_memory_snapshot` instead.",
            FutureWarning, stacklevel=2)
        missing = [f"{name}=True" for name in ("record_shapes", "profile_memory", "with_stack")
            if not getattr(self, name)]
        if missing:
            raise ValueError(f"{', '.join(missing)} required for memory profiling.")
        from time import perf_counter_ns, time_ns

        from .timeline import save

        recorded = self._recorded("exporting memory timeline")
        save(str(path), recorded.function_events, time_ns() - perf_counter_ns() + recorded.profiling_start_time_ns)

    # -- notes that go into the trace ---------------------------------------------------------------------------------

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace."""
        self._trace_metadata[key] = json.dumps(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace."""
        self._trace_metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Have a value, given as JSON, put into the trace of each cycle."""
        self.preset_metadata[key] = value


class profile(_KinetoProfile):
    """Record the steps that ``schedule`` chooses, and hand each recorded cycle to ``on_trace_ready``.

    Without a schedule everything from ``start`` (or the beginning of the ``with`` block) to ``stop`` is recorded.
    Call ``step()`` at the end of each step of the program. ``record_shapes``, ``profile_memory``, ``with_stack`` and
    ``with_flops``: as in ``autograd.profiler.profile``. ``acc_events``: keep the events of earlier cycles.

    >>> seen = []
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    >>> with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: seen.append(len(p.events()))) as p:
    ...     for _ in range(4):
    ...         y = torch.ones(2) * 2
    ...         p.step()
    >>> seen  # the step itself, aten::ones with aten::empty and aten::fill_ inside, and aten::mul
    [5]
    """

    def __init__(self, *, activities: Iterable[Any] | None = None,
            schedule: Callable[[int], ProfilerAction] | None = None, on_trace_ready: Callable[..., Any] | None = None,
            record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False,
            with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
            execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: bool | None = None,
            custom_trace_id_callback: Callable[[], str] | None = None,
            post_processing_timeout_s: float | None = None) -> None:
        activities = None if activities is None else list(activities)
        wanted = {kind for item in activities or () if isinstance(item, (ProfilerActivity, dict))
            for kind in _listed(item)}
        if activities is None:
            wanted = supported_activities()
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
            wanted = wanted | {ProfilerActivity.CUDA} if use_cuda else wanted - {ProfilerActivity.CUDA}
        if not wanted:
            raise AssertionError("No valid profiler activities found")
        super().__init__(activities=activities, record_shapes=record_shapes, profile_memory=profile_memory,
            with_stack=with_stack, with_flops=with_flops, with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer or _observer_of_the_environment(), acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback, post_processing_timeout_s=post_processing_timeout_s)
        self.schedule = schedule or _record_all
        self.record_steps = bool(schedule)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self._planned(0)
        self.step_rec_fn: Any = None
        prof.KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    # -- from step to step --------------------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        prof.KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begin, with what the schedule says for this step."""
        self._transit_action(ProfilerAction.NONE, self.current_action)
        self._label_step()

    def stop(self) -> None:
        """End; what has been recorded goes to ``on_trace_ready``."""
        self._end_label()
        self._transit_action(self.current_action, None)

    def step(self) -> None:
        """The program begins its next step."""
        self._end_label()
        before = self.current_action
        self.current_action = self._planned(self.step_num + 1)
        self.step_num += 1
        self._transit_action(before, self.current_action)
        if os.environ.get("KINETO_USE_DAEMON"):
            prof.KinetoStepTracker.increment_step(PROFILER_STEP_NAME)
        self._label_step()

    def _planned(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError(
                "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
                "user-provided schedule"
            )
        return action

    def _label_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = prof.record_function(f"{PROFILER_STEP_NAME}#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_label(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _transit_action(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """From one action to the next: a cycle is begun, turned from warming up to recording, ended, handed over."""
        first, then = _names(before), _names(after)
        if (first, then) in _INCORRECT:
            warnings.warn(f"Incorrect schedule: {first} followed by {then}", stacklevel=3)
        for work in _TRANSITIONS.get((first, then), "").split():
            getattr(self, work)()

    def _trace_ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # -- who names the traces -----------------------------------------------------------------------------------------

    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Who names the traces of the cycles that begin from now on."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the present trace."""
        return None if self.profiler is None else self.profiler.trace_id

    def _stats(self) -> prof._ProfilerStats | None:
        return None if self.profiler is None else self.profiler._stats


def _record_all(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def _listed(item: Any) -> Iterable[ProfilerActivity]:
    return [item] if isinstance(item, ProfilerActivity) else item


def _names(action: Any) -> str:
    return getattr(action, "name", "")


def _observer_of_the_environment() -> Any:
    if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
        return None
    from .observer import ExecutionTraceObserver

    return ExecutionTraceObserver.build_execution_trace_obs_from_env()


_INCORRECT = {("WARMUP", "NONE"), ("RECORD", "NONE"), ("RECORD", "WARMUP")}
_BEGIN, _END = "prepare_trace start_trace", "stop_trace _trace_ready"
# (the action so far, the next one or "" at the end): what is done between them.
_TRANSITIONS = {
    ("NONE", "WARMUP"): "prepare_trace", ("NONE", "RECORD"): _BEGIN, ("NONE", "RECORD_AND_SAVE"): _BEGIN,
    ("WARMUP", "NONE"): "start_trace stop_trace", ("WARMUP", "RECORD"): "start_trace",
    ("WARMUP", "RECORD_AND_SAVE"): "start_trace", ("WARMUP", ""): "start_trace stop_trace",
    ("RECORD", "NONE"): "stop_trace", ("RECORD", "WARMUP"): "stop_trace", ("RECORD", ""): _END,
    ("RECORD_AND_SAVE", "NONE"): _END, ("RECORD_AND_SAVE", "WARMUP"): f"{_END} prepare_trace",
    ("RECORD_AND_SAVE", ""): _END, ("RECORD_AND_SAVE", "RECORD"): f"{_END} {_BEGIN}",
    ("RECORD_AND_SAVE", "RECORD_AND_SAVE"): f"{_END} {_BEGIN}",
}


def __getattr__(name: str) -> Any:
    if name == "ExecutionTraceObserver":
        from .observer import ExecutionTraceObserver

        return ExecutionTraceObserver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
