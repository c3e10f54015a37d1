"""Vectorised mapping: tensors with a hidden batch dimension, and how each operator treats it.

Loaded when somebody first maps a function; see ``batched`` for the tensors and ``dispatch`` for the operators.
"""

from __future__ import annotations

from ...graph.modes import install
from ...tensor import classes
from . import dispatch
from .batched import (
    Batched,
    Level,
    decomposed,
    expanded,
    lowered,
    mapped_over,
    plain,
    raised,
    repeated,
    without,
    wrapped,
)

__all__ = ["Batched", "Level", "decomposed", "expanded", "lowered", "mapped_over", "plain", "raised", "repeated",
    "without", "wrapped"]

classes.Batched_, classes.mapping = Batched, dispatch
classes.KNOWN.add(Batched)
install(dispatch.Maps())
