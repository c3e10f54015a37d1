"""``autocast``: matrix products and convolutions in half precision, what needs precision in float32, the rest as it
comes.

An autocast region is an observer of the operators called in it (see ``graph.modes``): it casts their arguments, as
recorded operations, so that gradients come back in the precision of the tensors they belong to. Of float64 it keeps
off.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..graph.modes import Scope, decorate
from ..tensor import Tensor
from ..tensor.types import device as _device
from .autocast_settings import (
    autocast_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_nesting,
)
from .caster import ELIGIBLE

if TYPE_CHECKING:
    from collections.abc import Callable


class autocast(Scope):
    """A context, or a decorator, in which operators choose their precision.

    ``device_type``: ``"cpu"`` (for any other device the region does nothing, with a warning). ``dtype``: ``bfloat16``
    (default) or ``float16``. ``cache_enabled``: a weight is cast once in a region rather than at each use. Run the
    forward and the loss inside; call ``backward`` outside.

    >>> a = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     (a @ a).dtype, (a + a).dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
            cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = _device(device_type).type
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and self.device != "cpu":
            warnings.warn(f"{self.device.upper()} is not available or torch_xla is imported. Disabling autocast.",
                stacklevel=2)
            enabled = False
        elif enabled and str(self.fast_dtype) not in ("torch.bfloat16", "torch.float16"):
            warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.", stacklevel=2)
            enabled = False
        self._enabled = enabled

    def _states(self, now: Any) -> tuple[Any, Any, autocast]:
        device, nesting = self.device, autocast_nesting()
        before = is_autocast_enabled(device), get_autocast_dtype(device), is_autocast_cache_enabled(), nesting
        return (self._enabled, self.fast_dtype, self._cache_enabled, nesting + 1), before, self

    def _put(self, state: tuple[bool, Any, bool, int]) -> None:
        """Enabled or not, in which precision, with a cache or without, as how many regions inside each other."""
        enabled, dtype, cached, nesting = state
        set_autocast_nesting(nesting)
        if nesting == 0:
            clear_autocast_cache()
        set_autocast_dtype(self.device, dtype)
        set_autocast_enabled(self.device, enabled)
        set_autocast_cache_enabled(cached)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return decorate(lambda: self, func)


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the ``forward`` of a custom Function: its autocast state is remembered for ``custom_bwd``.

    ``cast_inputs``: in an autocast region, cast floating inputs to this dtype and run ``forward`` outside of the
    region.
    """
    import functools

    _check_device(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        inside = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if not inside or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast_all(args, cast_inputs), **_cast_all(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a custom Function: it runs in the autocast state of its ``forward``."""
    import functools

    _check_device(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _check_device(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def _cast_all(x: Any, dtype: Any) -> Any:
    if isinstance(x, Tensor):
        return x.to(dtype) if str(x.dtype) in ELIGIBLE else x
    if isinstance(x, dict):
        return {k: _cast_all(v, dtype) for k, v in x.items()}
    return type(x)(_cast_all(v, dtype) for v in x) if type(x) in (list, tuple) else x
