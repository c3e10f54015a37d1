"""Profiles of training loops: ``profile``, ``schedule``, traces for Perfetto and TensorBoard. See
``docs/profiler.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.profiler import KinetoStepTracker as KinetoStepTracker
from ..autograd.profiler import kineto_available, record_function
from ..autograd.profiler_util import DeviceType
from . import itt as itt
from .profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from .profiler import RecordScope as RecordScope
from .profiler import _ExperimentalConfig as _ExperimentalConfig
from .profiler import _KinetoProfile as _KinetoProfile

if TYPE_CHECKING:
    from .observer import ExecutionTraceObserver

__all__ = [
    "DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile",
    "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]


def __getattr__(name: str) -> Any:
    if name == "ExecutionTraceObserver":
        from .observer import ExecutionTraceObserver

        return ExecutionTraceObserver
    from ..names.absent import absent_name

    return absent_name(__name__, name)
