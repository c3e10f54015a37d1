"""Profiles of training loops: ``profile``, ``schedule``, traces for Perfetto and TensorBoard. See ``docs/profiler.md``."""

from __future__ import annotations

from typing import Any

from ..autograd.profiler import KinetoStepTracker, kineto_available, record_function
from ..autograd.profiler_util import DeviceType
from . import itt
from .profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from .profiler import _KinetoProfile as _KinetoProfile

__all__ = [
    "DeviceType", "KinetoStepTracker", "ProfilerAction", "ProfilerActivity", "itt", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from .._absent import absent_name

    return absent_name(__name__, name)
