"""``GradScaler``: the loss is multiplied so that small gradients survive in half precision; steps with inf or NaN are
skipped.

Micikevicius et al., "Mixed Precision Training" (2018).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.devices import HOSTED, available
from ..tensor import Tensor, wrap
from ..tensor.types import device as _device

if TYPE_CHECKING:
    from collections.abc import Iterable


class OptState(Enum):
    """How far an iteration has come with the gradients of an optimizer."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """How far the present iteration has come with one optimizer."""

    __slots__ = ("found_inf", "stage")

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.found_inf: bool | None = None  # None: nothing was checked


class GradScaler:
    """Scales losses, unscales gradients before the step, skips steps whose gradients are not finite, adapts the scale.

    After ``growth_interval`` good steps in a row the scale grows by ``growth_factor``; after a skipped one it shrinks
    by ``backoff_factor``. On a device that is not there (``"cuda"``) it warns and steps aside.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale((w * 2).sum()).backward()
    >>> w.grad
    tensor([8.])
    >>> scaler.step(optimizer); scaler.update()
    >>> w
    tensor([0.], requires_grad=True)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
            backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device, self._enabled = device, enabled
        kind = _device(device).type
        if enabled and kind != "cpu" and (kind in HOSTED or not available(kind)):
            import warnings

            name = "torch.cuda.amp.GradScaler" if device == "cuda" else "GradScaler"
            if device not in HOSTED:
                warnings.warn(f"{name} is enabled, but {device.upper()} is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._growth_factor, self._backoff_factor, self._growth_interval = (growth_factor, backoff_factor,
            growth_interval)
        self._scale: Tensor | None = None  # made at the first use
        self._growth_tracker = 0
        self._progress: dict[int, _Progress] = {}

    def _of(self, optimizer: Any) -> _Progress:
        return self._progress.setdefault(id(optimizer), _Progress())

    def _started(self, what: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """A tensor, or a nested list or tuple of them, times the scale factor."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = _number(self._init_scale)
        return self._scaled(outputs)

    def _scaled(self, outputs: Any) -> Any:
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if not hasattr(outputs, "__iter__"):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        row: Iterable[Any] = map(self._scaled, outputs)
        return type(outputs)(row) if isinstance(outputs, (list, tuple)) else row

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, once before its step (to clip them, say)."""
        if not self._enabled:
            return
        scale = self._started("unscale_")
        progress = self._of(optimizer)
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g._wg_data.dtype == np.float16 for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        inverse = np.float32(1.0 / float(scale._wg_data))
        for g in grads:
            finite = bool(np.isfinite(g._wg_data).all())
            progress.found_inf = bool(progress.found_inf) or not finite
            np.multiply(g._wg_data, inverse, out=g._wg_data, casting="same_kind")
            g._wg_vc[0] += 1
        progress.stage = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients, unless some of them are inf or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        progress = self._of(optimizer)
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if progress.found_inf is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        answer = None if progress.found_inf else optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        return answer

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale at the end of the iteration, or set it to ``new_scale``."""
        if not self._enabled:
            return
        scale = self._started("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            self._scale = _number(float(new_scale))
        else:
            checks = [p.found_inf for p in self._progress.values() if p.found_inf is not None]
            if not checks:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(checks):
                self._scale, self._growth_tracker = _number(float(scale._wg_data) * self._backoff_factor), 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    grown = _number(float(scale._wg_data) * self._growth_factor)
                    if np.isfinite(grown._wg_data):
                        self._scale = grown
                    self._growth_tracker = 0
        self._progress.clear()

    def get_scale(self) -> float:
        """The present scale; 1 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale._wg_data)

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps in a row make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many good steps in a row make the scale grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether this scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue as the scaler whose ``state_dict`` this was."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance "
                "of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale = _number(self._init_scale)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]


def _number(value: float) -> Tensor:
    return wrap(np.asarray(value, np.float32))
