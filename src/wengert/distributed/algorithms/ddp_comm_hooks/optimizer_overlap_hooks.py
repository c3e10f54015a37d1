"""Steps of the optimizer as soon as the gradients of a bucket are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []


class _OptimizerHookState:
    """A functional optimizer, and the parameters that it is for (None: all)."""

    __slots__ = ("functional_optimizer", "params_to_optimize")

    def __init__(self, functional_optim: Any, params: Any = None) -> None:
        self.functional_optimizer = functional_optim
        if not hasattr(functional_optim, "step_param"):
            raise ValueError(f"Class {type(functional_optim)} must implement method step_param.")
        self.params_to_optimize = None if params is None else set(params)


def _hook_then_optimizer(hook: Callable[[Any, Any], Any], optimizer_state: _OptimizerHookState) -> Any:
    """``hook``, and then a step of the optimizer for every parameter of the bucket."""
    wanted = optimizer_state.params_to_optimize

    def hook_then_optimizer(hook_state: Any, bucket: Any) -> Any:
        def step(done: Any) -> Any:
            buffer = done.value()
            bucket.set_buffer(buffer)
            for gradient, parameter in zip(bucket.gradients(), bucket.parameters()):
                if wanted is None or parameter in wanted:
                    optimizer_state.functional_optimizer.step_param(parameter, gradient)
            return buffer

        return hook(hook_state, bucket).then(step)

    return hook_then_optimizer
