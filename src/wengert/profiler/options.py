"""What PyTorch's compiled profiler takes and says: options for its tracing library, and the kinds of recorded
functions.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


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

    def __init__(self, profiler_metrics: Sequence[str] = (), profiler_measure_per_kernel: bool = False,
            verbose: bool = False, performance_events: Sequence[str] = (), enable_cuda_sync_events: bool = False,
            adjust_profiler_step: bool = False, disable_external_correlation: bool = False,
            profile_all_threads: bool = False, capture_overload_names: bool = False,
            record_python_gc_info: bool = False, expose_kineto_event_metadata: bool = False,
            custom_profiler_config: str = "", adjust_timestamps: bool = False, trace_only: bool = False) -> None:
        self.custom_profiler_config, self.trace_only = custom_profiler_config, trace_only
