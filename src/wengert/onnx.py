"""``torch.onnx``: programs are not exported; queries whether one is being exported return False.

>>> torch.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

from .names.missing import missing_from

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """Whether a program is being exported: no."""
    return False

__getattr__ = missing_from(__name__)
