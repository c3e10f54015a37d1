"""``torch.distributed.pipelining``: a model in stages, one process each, which batches pass in pieces."""

from __future__ import annotations

from typing import Any

from ._pipe import Pipe, SplitPoint, pipe_split, pipeline
from .schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
)
from .stage import PipelineStage, build_stage

__all__ = ["Pipe", "PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "SplitPoint", "build_stage", "pipe_split", "pipeline"]


def __getattr__(name: str) -> Any:
    from ...names.absent import absent_name

    return absent_name(__name__, name)
