"""``torch._subclasses``: fake tensors, see ``library.fake_tensor``."""

from __future__ import annotations

from ..library import fake_tensor as fake_tensor
from ..library.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from ..names.absent import absent_from

__path__: list[str] = []  # there are modules below
__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]

__getattr__ = absent_from(__name__)
