"""Vectorised mapping: tensors with a hidden batch dimension, and how each operator treats it.

Loaded at the first call of ``vmap``; see ``batched`` for the tensors and ``dispatch`` for the operators.
"""

from __future__ import annotations

import sys

from ...graph.modes import install
from ...tensor import classes
from .batched import (
    Batched,
    VmapLevel,
    batched_as,
    expanded,
    mapped_over,
    plain,
    repeated,
    unwrap_all,
    unwrap_levels,
    without,
    wrap_levels,
    wrapped,
)
from .call import each_example, holds_batched, innermost, refuse_write
from .custom_functions import apply_function, check_rule
from .dispatch import Maps
from .random import made, randomly, randomly_inplace, refuse_out

__all__ = ["Batched", "VmapLevel", "apply_function", "batched_as", "check_rule", "each_example", "expanded",
    "holds_batched", "innermost", "made", "mapped_over", "plain", "randomly", "randomly_inplace", "refuse_out",
    "refuse_write", "repeated", "unwrap_all", "unwrap_levels", "without", "wrap_levels", "wrapped"]

classes.Batched_, classes.mapping = Batched, sys.modules[__name__]
classes.KNOWN.add(Batched)
install(Maps())
