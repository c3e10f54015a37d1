"""``torch._utils``: what programs take from it."""

from __future__ import annotations

from typing import Any

from .serialization.rebuild import rebuild_tensor as _rebuild_tensor
from .serialization.rebuild import rebuild_tensor_v2 as _rebuild_tensor_v2
from .utils.data.worker import ExceptionWrapper

__all__ = ["ExceptionWrapper", "_rebuild_tensor", "_rebuild_tensor_v2"]


def __getattr__(name: str) -> Any:
    from ._absent import absent_name

    return absent_name(__name__, name)
