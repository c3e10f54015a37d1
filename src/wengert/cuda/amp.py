"""Mixed precision on a graphics card under its old name; without a card, both of its parts warn and do nothing."""

from __future__ import annotations

import warnings
from typing import Any

from .. import amp
from ..arrays.dtypes import NAMES

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_MOVED = "`torch.cuda.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}({1})` instead."


class autocast(amp.autocast):
    """``torch.amp.autocast("cuda", …)``."""

    def __init__(self, enabled: bool = True, dtype: Any = NAMES["float16"], cache_enabled: bool = True) -> None:
        warnings.warn(_MOVED.format("autocast", "'cuda', args..."), FutureWarning, stacklevel=2)
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cuda", …)``, switched off: losses pass unscaled, ``step`` is the optimizer's own.

    >>> from wengert.cuda.amp import GradScaler
    >>> scaler = GradScaler(enabled=False)
    >>> scaler.scale(3.0), scaler.get_scale(), scaler.is_enabled()
    (3.0, 1.0, False)
    """

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
            growth_interval: int = 2000, enabled: bool = True) -> None:
        warnings.warn(_MOVED.format("GradScaler", "'cuda', args..."), FutureWarning, stacklevel=2)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """Of old: ``torch.amp.custom_fwd`` for graphics cards."""
    warnings.warn(_MOVED.format("custom_fwd", "args..., device_type='cuda'"), FutureWarning, stacklevel=2)
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Of old: ``torch.amp.custom_bwd`` for graphics cards."""
    warnings.warn(_MOVED.format("custom_bwd", "args..., device_type='cuda'"), FutureWarning, stacklevel=2)
    return amp.custom_bwd(bwd, device_type="cuda")


class common:
    """A module of PyTorch's, which spacy-curated-transformers asks."""

    @staticmethod
    def amp_definitely_not_available() -> bool:
        """``True``: there is no card."""
        return True
