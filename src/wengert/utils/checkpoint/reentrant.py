"""The older form of checkpointing: the recomputed part gets a backward of its own, inside the backward."""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...graph.engine import current_graph_task
from ...graph.modes import enable_grad, modes, no_grad, set_modes
from ...tensor.backward import backward as run_backward
from ...tensor.tensor import Tensor
from .state import Surroundings


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors cut out of their graphs, as leaves that require gradients where they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    row = []
    for x in inputs:
        if isinstance(x, Tensor):
            needs, x = x.requires_grad, x.detach()
            x.requires_grad = needs
        row.append(x)
    return tuple(row)


def check_backward_validity(inputs: Any) -> None:
    """Warn if no input requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        import warnings

        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """``CheckpointFunction.apply(function, preserve_rng_state, *args)``."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = Surroundings(preserve_rng_state)
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.where = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.where])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        walk = current_graph_task()
        if walk is not None and walk.captures is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        args = list(ctx.others)
        for i, t in zip(ctx.where, ctx.saved_tensors):
            args[i] = t
        args = list(detach_variable(tuple(args)))
        around = modes()
        try:
            with ctx.surroundings.again(), enable_grad():
                outputs = ctx.run_function(*args)
        except BaseException:  # an interrupt may come on the way into or out of any context
            set_modes(around)
            raise
        row = (outputs,) if isinstance(outputs, Tensor) else outputs
        live = [(o, g) for o, g in zip(row, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not live:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([o for o, _ in live], [g for _, g in live])
        return (None, None, *[a.grad if isinstance(a, Tensor) else None for a in args])
