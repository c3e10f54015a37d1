"""Mixed precision on the CPU under its old name; the new one is ``torch.amp``, with ``"cpu"`` as the device."""

from __future__ import annotations

import warnings
from typing import Any

from .. import amp
from ..arrays.dtypes import NAMES

__all__ = ["GradScaler", "autocast"]

_MOVED = "`torch.cpu.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('cpu', args...)` instead."


class autocast(amp.autocast):
    """``torch.amp.autocast("cpu", …)``."""

    def __init__(self, enabled: bool = True, dtype: Any = NAMES["bfloat16"], cache_enabled: bool = True) -> None:
        warnings.warn(_MOVED.format("autocast"), FutureWarning, stacklevel=2)
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cpu", …)``."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
            growth_interval: int = 2000, enabled: bool = True) -> None:
        warnings.warn(_MOVED.format("GradScaler"), FutureWarning, stacklevel=2)
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
