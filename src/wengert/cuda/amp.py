"""Mixed precision on a graphics card. Without one, both of its halves say so and step aside, as PyTorch's do."""

from __future__ import annotations

import warnings
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


_MOVED = "`torch.cuda.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('cuda', args...)` instead."


class autocast:
    """A context, or a decorator, in which operations keep the dtypes they would have anyway."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True):
        warnings.warn(_MOVED.format("autocast"), FutureWarning, stacklevel=2)
        if enabled:
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc_info: object) -> None:
        return None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


class GradScaler:
    """A loss scaler that is switched off: losses pass unscaled, and ``step`` is the optimizer's own.

    >>> from wengert.cuda.amp import GradScaler
    >>> scaler = GradScaler(enabled=False)
    >>> scaler.scale(3.0), scaler.get_scale(), scaler.is_enabled()
    (3.0, 1.0, False)
    """

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
            growth_interval: int = 2000, enabled: bool = True):
        warnings.warn(_MOVED.format("GradScaler"), FutureWarning, stacklevel=2)
        if enabled:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)

    def is_enabled(self) -> bool:
        """``False``."""
        return False

    def get_scale(self) -> float:
        """The factor that losses are multiplied by: 1."""
        return 1.0

    def scale(self, outputs: Any) -> Any:
        """The losses as they are."""
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Nothing to undo."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """One step of the optimizer; returns what it returns."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Nothing to adjust."""

    def state_dict(self) -> dict[str, Any]:
        """An empty dict."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing to restore."""


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """Of old: ``torch.amp.custom_fwd`` for graphics cards."""
    from ..amp import custom_fwd

    _say_where("custom_fwd")
    return custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Of old: ``torch.amp.custom_bwd`` for graphics cards."""
    from ..amp import custom_bwd

    _say_where("custom_bwd")
    return custom_bwd(bwd, device_type="cuda")


def _say_where(name: str) -> None:
    text = (f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}(args..., "
        "device_type='cuda')` instead.")
    warnings.warn(text, FutureWarning, stacklevel=3)
