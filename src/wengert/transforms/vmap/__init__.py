"""Vectorised mapping: tensors with a hidden batch dimension, and how each operator treats it.

Loaded when somebody first maps a function; see ``batched`` for the tensors and ``dispatch`` for the operators.
"""

from __future__ import annotations

import sys

from ...graph.modes import install
from ...tensor import classes
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
from .custom_functions import apply_function, check_rule
from .dispatch import Maps, each_example, holds_batched, innermost, refuse_write

__all__ = ["Batched", "Level", "apply_function", "check_rule", "decomposed", "each_example", "expanded",
    "holds_batched", "innermost", "lowered", "mapped_over", "plain", "raised", "refuse_write", "repeated", "without",
    "wrapped"]

classes.Batched_, classes.mapping = Batched, sys.modules[__name__]
classes.KNOWN.add(Batched)
install(Maps())
