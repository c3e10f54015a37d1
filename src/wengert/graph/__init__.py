"""Nodes, edges, modes, interceptors, hooks, and the engine that walks the graph. Independent of operators."""

from __future__ import annotations

from .engine import run
from .handles import RemovableHandle
from .modes import (
    INFERENCE,
    RECORD,
    SILENT,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    modes,
    no_grad,
    set_grad_enabled,
)
from .node import Node, next_sequence

__all__ = [
    "INFERENCE", "Node", "RECORD", "RemovableHandle", "SILENT", "enable_grad", "inference_mode", "is_grad_enabled",
    "is_inference_mode_enabled", "modes", "next_sequence", "no_grad", "run", "set_grad_enabled",
]
