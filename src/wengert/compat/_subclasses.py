"""``torch._subclasses``: fake tensors, see ``library.fake_tensor``."""

from __future__ import annotations

from typing import Any

from ..library import fake_tensor as fake_tensor
from ..library.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

__path__: list[str] = []  # there are modules below
__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]


def __getattr__(name: str) -> Any:
    from ..names.absent import absent_name

    return absent_name(__name__, name)
