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


class ProfilerAction(Enum):
    """What the profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def supported_activities() -> set[ProfilerActivity]:
    """``{ProfilerActivity.CPU}``."""
    return {ProfilerActivity.CPU}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """Which steps to record: skip ``skip_first``, then cycles of ``wait`` idle, ``warmup`` discarded and ``active`` recorded ones.

    ``repeat``: how many cycles, 0 for no end. ``skip_first_wait``: leave out the wait of the first cycle if not 0.

    >>> import wengert as torch
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), active={active} (need > 0), "
            f"repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
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
                              use_python_export: bool = False) -> Callable[[Any], None]:  # fmt: skip
    """For ``on_trace_ready``: write each trace into ``dir_name``, under a name that TensorBoard's plugin knows."""

    def save(p: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        p.export_chrome_trace(os.path.join(dir_name, name))

    return save


class profile:
    """Record the steps that ``schedule`` chooses, and hand each recorded cycle to ``on_trace_ready``.

    Without a schedule everything from ``start`` (or the beginning of the ``with`` block) to ``stop`` is recorded.
    Call ``step()`` at the end of each step of the program. ``record_shapes``, ``profile_memory``, ``with_stack`` and
    ``with_flops``: as in ``autograd.profiler.profile``. ``acc_events``: keep the events of earlier cycles.

    >>> import wengert as torch
    >>> seen = []
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    >>> with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: seen.append(len(p.events()))) as p:
    ...     for _ in range(4):
    ...         y = torch.ones(2) * 2
    ...         p.step()
    >>> seen  # the step itself, aten::ones with aten::empty and aten::fill_ inside, and aten::mul
    [5]
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        wanted = set(activities) if activities is not None else supported_activities()
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        if not wanted:
            raise AssertionError("No valid profiler activities found")
        self.activities = wanted
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.schedule = schedule if schedule is not None else (lambda _: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.custom_trace_id_callback = custom_trace_id_callback
        self.step_num = 0
        self.current_action = self.schedule(self.step_num)
        self.step_rec_fn: Any = None
        self.profiler: prof.profile | None = None
        self.preset_metadata: dict[str, Any] = {}
        self._kept: list[Any] = []  # the events of earlier cycles, with acc_events

    # -- from step to step --------------------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        prof.KinetoStepTracker.erase_step_count("ProfilerStep")

    def start(self) -> None:
        """Begin, with what the schedule says for step 0."""
        prof.KinetoStepTracker.init_step_count("ProfilerStep")
        self._go(None, self.current_action)
        self._label_step()

    def stop(self) -> None:
        """End; what has been recorded goes to ``on_trace_ready``."""
        self._end_label()
        self._go(self.current_action, None)

    def step(self) -> None:
        """The program begins its next step."""
        self._end_label()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._go(before, self.current_action)
        prof.KinetoStepTracker.increment_step("ProfilerStep")
        self._label_step()

    def _label_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = prof.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_label(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _go(self, before: ProfilerAction | None, after: ProfilerAction | None) -> None:
        """From one action to the next: a cycle is begun, turned from warming up to recording, ended, handed over."""
        recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if before in recording and after is not None and before is not ProfilerAction.RECORD_AND_SAVE and after not in recording:
            warnings.warn("Incorrect schedule: RECORD followed by " + after.name, stacklevel=3)
        if before is ProfilerAction.RECORD_AND_SAVE or (before in recording and after not in recording):
            self.stop_trace()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
            before = None
        elif before is ProfilerAction.WARMUP and after not in recording and after is not ProfilerAction.WARMUP:
            self.stop_trace()
        if after is ProfilerAction.WARMUP and before is not ProfilerAction.WARMUP:
            self.prepare_trace()
        elif after in recording and before not in recording:
            if before is not ProfilerAction.WARMUP:
                self.prepare_trace()
            self.start_trace()

    # -- one cycle ----------------------------------------------------------------------------------------------------

    def prepare_trace(self) -> None:
        """A new cycle, whose warm-up is the work that comes until ``start_trace``."""
        if self.profiler is not None and self.acc_events:
            self._kept += self.profiler.function_events
        self.profiler = prof.profile(
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_flops=self.with_flops,
            with_modules=self.with_modules,
            use_kineto=True,
        )

    def start_trace(self) -> None:
        """Record from here."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before starting trace")
        self.profiler._start_trace()

    def stop_trace(self) -> None:
        """Record no longer."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self.profiler.__exit__(None, None, None)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any] | None = None) -> None:
        """Pause or resume the recording of operators."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # -- what was recorded --------------------------------------------------------------------------------------------

    def _recorded(self, purpose: str) -> prof.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last cycle, or of all with ``acc_events``."""
        events = self._recorded("accessing events").function_events
        if not self._kept:
            return events
        every = EventList(self._kept + list(events), profile_memory=self.profile_memory, with_flops=self.with_flops)
        every._tree_built = True
        return every

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False) -> EventList:
        """Averages by name; also by the shapes of the arguments, or by the innermost ``n`` lines of the stack."""
        self._recorded("getting key averages")
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace for https://ui.perfetto.dev, compressed if ``path`` ends in ``.gz``."""
        from ..autograd._profiler_text import save_trace

        self._recorded("exporting chrome trace")
        save_trace(path, self.events(), self.preset_metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the call stacks with their times, for flame graph tools."""
        self._recorded("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Write how many bytes arrays held over time: ``[[microseconds …], [bytes …]]`` as JSON.

        Needs ``record_shapes``, ``profile_memory`` and ``with_stack``, as in PyTorch.
        """
        if not (self.record_shapes and self.profile_memory and self.with_stack):
            raise ValueError("record_shapes=True, profile_memory=True, with_stack=True required for memory profiling.")
        if not path.endswith((".json", ".json.gz")):
            raise ValueError("the timeline is written as .json or .json.gz")
        import gzip

        rows = sorted((e.time_range.end, e.allocated) for e in self.events() if e.allocated is not None)
        with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
            json.dump([[when for when, _ in rows], [held for _, held in rows]], file)

    # -- notes that go into the trace ---------------------------------------------------------------------------------

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace."""
        self.preset_metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace."""
        self.preset_metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Who names the traces."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the present trace, None if nobody names them."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback is not None else None


_KinetoProfile = profile
