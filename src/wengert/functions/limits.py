"""``finfo`` and ``iinfo``: the limits of types."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..tensor.types import type_of


class finfo:
    """Limits of a floating (or complex) type: ``eps``, ``max``, ``min``, ``tiny``, ``resolution``, ``bits``."""

    def __init__(self, type: Any = None) -> None:
        d = dt.get_default_dtype() if type is None else type
        if not isinstance(d, dt.dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {type_of(d)}")
        if not (d.is_floating_point or d.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d!r}'")

        if d is dt.bfloat16 or d in dt.FLOAT8:
            import ml_dtypes

            info: Any = ml_dtypes.finfo(d.np)
        else:
            info = np.finfo(d.to_real().np)
        self.dtype, self.bits = d.to_real().name, info.bits
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(str(info.resolution))  # the decimal number, not what rounding makes of it
        if d in dt.FLOAT8:  # no decimal digit survives; and one eps is PyTorch's own
            self.resolution, self.eps = 1.0, 0.125 if d is dt.float8_e5m2fnuz else self.eps

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """Limits of an integer type: ``max``, ``min``, ``bits``."""

    def __init__(self, type: Any) -> None:
        if not isinstance(type, dt.dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type_of(type)}")
        if type is dt.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type!r}'")
        info = np.iinfo(type.np)
        self.dtype, self.bits, self.max, self.min = type.name, info.bits, int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
