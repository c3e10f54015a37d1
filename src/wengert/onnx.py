"""``torch.onnx``: programs are not exported; queries whether one is being exported return False.

>>> torch.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

from typing import Any

from .names.absent import absent_from as _absent_from

__all__ = ["is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]


def is_in_onnx_export() -> bool:
    """Whether a program is being exported: no."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Does nothing: what an operator is exported as is never asked."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Does nothing."""


__getattr__ = _absent_from(__name__)
