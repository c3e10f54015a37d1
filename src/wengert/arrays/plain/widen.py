"""Half-precision inputs are computed in float32, and results are delivered the way a NumPy ufunc delivers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]


def result_type(*arrays: Array) -> np.dtype[Any]:
    """Return the dtype of an elementwise result: NumPy's promotion, with integers and booleans giving float64."""
    dtype = np.result_type(*arrays)
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


def wide(x: Array, to: type[Any] | None = None) -> Array:
    """Return ``x`` in the precision to compute in: ``to``, or float32 for the half-precision types."""
    if to is not None and x.dtype.kind != "c":
        return x.astype(to, copy=False)
    if x.dtype.kind in "biu":
        return x.astype(np.float64)
    # bfloat16 (an ml_dtypes type) is of kind "V" or "f" depending on the version, always of two bytes.
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def deliver(value: Array, dtype: np.dtype[Any], out: Array | None) -> Array:
    """Return ``value`` as ``dtype``, or write it to ``out`` and return that."""
    if out is None:
        return value.astype(dtype, copy=False)
    out[...] = value
    return out
