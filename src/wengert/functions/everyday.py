"""The native short cuts of functions that make tensors (``native/factories.c``): everyday arguments, on the CPU.

They are called with all arguments in order, those that nothing is made of in the end, and answer ``NotImplemented`` to
what is not everyday: the functions then do as they are defined.
"""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..graph.modes import map_levels
from ..tensor.native_call import rebuilder
from ..tensor.types import CPU, strided

_native: Any = getattr(K._native, "_kernels", None)


def _not_native(*args: Any) -> Any:
    return NotImplemented


filled, full, identity, counted, listed, spaced, logspaced, drawn, chosen = (getattr(_native, name, _not_native)
    for name in ("filled", "full", "identity", "counted", "listed", "spaced", "logspaced", "drawn", "chosen"))
draw_in: Any = getattr(_native, "draw_in", lambda *args: False)
UNIFORM, NORMAL, INTEGERS, ORDER, TRUTHS, WAITS, CAUCHY, LOG_NORMAL, TRIALS = range(9)  # kinds of random numbers


def register(generator: Any) -> None:
    """Tell the extension the default generator, and what else it cannot know."""
    if rebuilder() is not None:  # the extension is there, and knows what a tensor is
        _native.factories(vars(dt), CPU, strided, map_levels.variable, generator)
