"""``torch.onnx``: programs are not exported, and code that asks whether one is being exported learns so.

>>> torch.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """Whether a program is being exported: no."""
    return False


def __getattr__(name: str) -> Any:
    from .names.missing import missing

    raise missing(sys.modules[__name__], name)
