"""Fake tensors: see ``fake_tensor``."""

from __future__ import annotations

from typing import Any

from .fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]


def __getattr__(name: str) -> Any:
    from .._absent import absent_name

    return absent_name(__name__, name)
