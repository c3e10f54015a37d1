"""Values in another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.arrays.float8 import converted

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    from wengert.arrays.plain.widen import Array


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return a new array with the values of ``x`` as ``dtype``; to fewer bits they are rounded to nearest even."""
    return converted(x, dtype)
