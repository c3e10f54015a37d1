"""NumPy's own elementwise functions, by their names, without reports of floating-point conditions.

PyTorch computes ``log(0)`` without a word; so do these. The functions that meet such conditions in ordinary use run
under ``np.errstate``; the others (sums, products, comparisons, extremes) are NumPy's, as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import has_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# What may divide by zero, overflow or leave its domain, with the cost of an element in nanoseconds.
_CAUTIOUS = {
    "arccos": 2.0, "arccosh": 3.0, "arcsin": 2.0, "arcsinh": 3.0, "arctan": 2.0, "arctan2": 4.0, "arctanh": 3.0,
    "cbrt": 3.0, "cos": 1.0, "cosh": 2.0, "divide": 0.2, "exp": 0.4, "exp2": 0.5, "expm1": 1.0, "float_power": 3.0,
    "floor_divide": 2.0, "fmod": 2.0, "hypot": 1.0, "log": 0.4, "log10": 1.0, "log1p": 1.0, "log2": 0.5,
    "logaddexp": 8.0, "logaddexp2": 8.0, "nextafter": 1.0, "power": 3.0, "reciprocal": 0.2, "remainder": 2.0,
    "sin": 1.0, "sinh": 2.0, "sqrt": 0.2, "square": 0.1, "tan": 2.0, "tanh": 0.6, "true_divide": 0.2,
}
# What reports nothing in ordinary use.
_CAREFREE = {
    "absolute": 0.1, "add": 0.15, "bitwise_and": 0.1, "bitwise_or": 0.1, "bitwise_xor": 0.1, "ceil": 0.1,
    "conjugate": 0.1, "copysign": 0.2, "equal": 0.1, "floor": 0.1, "fmax": 0.2, "fmin": 0.2, "greater": 0.1,
    "greater_equal": 0.1, "invert": 0.1, "isfinite": 0.1, "isinf": 0.1, "isnan": 0.1,
    "left_shift": 0.2, "less": 0.1, "less_equal": 0.1, "logical_and": 0.2, "logical_not": 0.1, "logical_or": 0.2,
    "logical_xor": 0.2, "maximum": 0.15, "minimum": 0.15, "multiply": 0.15, "negative": 0.1, "not_equal": 0.1,
    "right_shift": 0.2, "rint": 0.1, "sign": 0.2, "signbit": 0.1, "subtract": 0.15, "trunc": 0.1,
}


def _quiet(ufunc: np.ufunc) -> Callable[..., Any]:
    def function(*args: Any, **options: Any) -> Any:
        with np.errstate(all="ignore"):
            return ufunc(*args, **options)

    function.__name__ = function.__qualname__ = ufunc.__name__
    function.__doc__ = f"``numpy.{ufunc.__name__}``, without reports of floating-point conditions."
    return function


COSTS = {**_CAUTIOUS, **_CAREFREE}
globals().update({name: _quiet(getattr(np, name)) for name in _CAUTIOUS})
globals().update({name: getattr(np, name) for name in _CAREFREE})
_remainder = _quiet(np.remainder)


def remainder(a: Any, b: Any, *out: Any, **options: Any) -> Any:
    """``numpy.remainder``, but that a zero has the sign of ``a``, as in PyTorch."""
    r = _remainder(a, b, *out, **options)
    if r.dtype.kind != "f":
        return r
    if has_memory(r):
        return np.copysign(r, a, out=r, where=r == 0)
    return np.copysign(r, a) if r == 0 else r
