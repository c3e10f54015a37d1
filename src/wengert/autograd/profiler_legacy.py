"""``torch.autograd.profiler_legacy``: the profiler of before Kineto, as PyTorch still has it: its events say that they are of that kind."""

from __future__ import annotations

from typing import Any

from . import profiler
from .profiler_util import MEMORY_EVENT_NAME as MEMORY_EVENT_NAME
from .profiler_util import DeviceType as DeviceType
from .profiler_util import EventList, FunctionEvent

ProfilerConfig, ProfilerState = profiler.ProfilerConfig, profiler.ProfilerState

__all__ = ["profile"]


class profile(profiler.profile):
    """``autograd.profiler.profile`` with fewer options and an empty stack of callers for each event's averages.

    >>> import wengert as torch
    >>> from wengert.autograd.profiler_legacy import profile
    >>> with profile() as prof:
    ...     y = torch.ones(2) + 1
    >>> all(event.is_legacy for event in prof.function_events)
    True
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_modules: bool = False,
    ) -> None:  # fmt: skip
        import warnings

        if use_cuda:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        super().__init__(
            enabled, record_shapes=record_shapes, with_flops=with_flops, profile_memory=profile_memory, with_stack=with_stack,
            with_modules=with_modules,
        )  # fmt: skip

    def _made(self) -> EventList:
        events = super()._made()
        for event in events:
            if isinstance(event, FunctionEvent):
                event.is_legacy = True
        return events

    def _check_finish(self) -> None:
        if not self._finished():
            raise RuntimeError("Profiler didn't finish running")

    def __repr__(self) -> str:
        return repr(self.function_events) if self._finished() else "<unfinished profiler_legacy.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self._finished() else "<unfinished profile.profiler_legacy.profile>"

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began."""
        self._check_finish()
        return self._made()

    def config(self, create_trace_id: bool = False) -> Any:
        """What is recorded, as one object."""
        return super().config(create_trace_id)._replace(state=ProfilerState.CPU)

    def export_chrome_trace(self, path: str) -> None:  # type: ignore[override]
        """Write a trace, as often as is asked."""
        self._check_finish()
        super().export_chrome_trace(path, use_python_export=True)
