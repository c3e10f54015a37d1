"""An optimizer that averages the parameters over processes after its steps."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from wengert.optim import Optimizer

if TYPE_CHECKING:
    from wengert.distributed.algorithms.model_averaging.averagers import ModelAverager

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """``optim``, and after each of its steps ``averager``: what goes with ``post_localSGD_hook``."""

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the optimizer."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The state of the optimizer, and the averager's count of steps."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; without ``"step"`` in it the averager begins at 0, with a warning."""
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warnings.warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to "
                "0.", stacklevel=2)
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        """A step, and an average if it is time."""
        loss = self.optim.step(closure) if closure is not None else self.optim.step()
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self.optim.add_param_group(param_group)
