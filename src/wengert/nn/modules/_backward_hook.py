"""Full backward hooks: two identity nodes around a module that see the gradients of its outputs and inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from wengert.autograd import Function
from wengert.graph import is_grad_enabled
from wengert.tensor import Tensor

_DOCS = "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook"


class BackwardHookFunction(Function):
    """The tensors behind one shared node, so that a hook on it sees all their gradients at once."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


def _spread(places: Sequence[int], values: Sequence[Any], size: int) -> tuple[Any, ...]:
    """``values`` at their ``places`` in a tuple of ``size``, None elsewhere."""
    full = [None] * size
    for place, value in zip(places, values, strict=True):
        full[place] = value
    return tuple(full)


class BackwardHook:
    """The full backward hooks and pre-hooks of one call of a module.

    ``setup_input_hook`` and ``setup_output_hook`` put an identity node before and behind the call. The one behind runs
    first in backward: it keeps the gradients of the outputs. The one before then has both and calls the user's hooks.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Callable[..., Any]],
            user_pre_hooks: Sequence[Callable[..., Any]]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments to call ``forward`` with."""
        wrapped, self.input_tensors_index = self._behind_one_node(self._on_inputs, args)
        self.n_inputs = len(args)
        return wrapped

    def setup_output_hook(self, result: Any) -> Any:
        """The output to give to the caller."""
        outputs = result if isinstance(result, tuple) else (result,)
        wrapped, self.output_tensors_index = self._behind_one_node(self._on_outputs, outputs)
        self.n_outputs = len(outputs)
        return wrapped if isinstance(result, tuple) else wrapped[0]

    def _behind_one_node(self, hook: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, list[int] | None]:
        places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        if not (is_grad_enabled() and any(args[i].requires_grad for i in places)):
            return args, None
        new = BackwardHookFunction.apply(*[args[i] for i in places])
        next(t.grad_fn for t in new if t.grad_fn is not None).register_hook(hook)
        everything = list(args)
        for place, tensor in zip(places, new, strict=True):
            everything[place] = tensor
        return (tuple(everything) if type(args) is tuple else type(args)(*everything)), places

    def _on_inputs(self, grad_input: tuple[Any, ...], _: Any) -> Any:
        if self.grad_outputs is None:  # the gradient reached the input without passing the output
            return None
        places = self.input_tensors_index or []
        grads = _spread(places, grad_input, self.n_inputs)
        for user_hook in self.user_hooks:
            new = user_hook(self.module, grads, self.grad_outputs)
            if new is None:
                continue
            if len(new) != len(grads):
                raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(new)}, but "
                    f"expected {len(grads)}")
            grads = new
        self.grad_outputs = None
        return tuple(grads[i] for i in places)

    def _on_outputs(self, _: Any, grad_output: tuple[Any, ...]) -> Any:
        places = self.output_tensors_index or []
        grads: Any = _spread(places, grad_output, self.n_outputs)
        for user_hook in self.user_pre_hooks:
            new = user_hook(self.module, grads)
            if new is None:
                continue
            if len(new) != self.n_outputs:
                raise RuntimeError(f"Backward pre hook returned an invalid number of grad_output, got {len(new)}, but "
                    f"expected {self.n_outputs}")
            grads = new
        self.grad_outputs = grads
        if self.input_tensors_index is None:
            self._without_inputs()
        return tuple(grads[i] for i in places)

    def _without_inputs(self) -> None:
        """No input requires a gradient, so no node stands before the module: call the hooks now."""
        if self.user_hooks:
            warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs "
                f"since no inputs require gradients. See {_DOCS} for more details.", stacklevel=5)
        nothing = (None,) * self.n_inputs
        for user_hook in self.user_hooks:
            new = user_hook(self.module, nothing, self.grad_outputs)
            if new is not None and not (isinstance(new, tuple) and all(grad is None for grad in new)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return "
                    "None or None for all gradients.")
        self.grad_outputs = None


_FULL = " Please use register_full_backward_hook to get the documented behavior."


def warn_if_partial(inputs: Any, result: Any, node: Any) -> None:
    """Warn where a legacy hook on ``node`` cannot see all the gradients of the module."""
    outputs = (result,) if isinstance(result, Tensor) else result
    hook, missing, advice = "a non-full backward hook", "grad_output.", _FULL
    if not (isinstance(outputs, tuple) and all(isinstance(out, Tensor) for out in outputs)):
        hook, missing = "non-full backward hooks on a Module", "of the grad_output."
        why = "that does not return a single Tensor or a tuple of Tensors"
    elif not all(isinstance(arg, Tensor) for arg in inputs):
        hook, missing = "non-full backward hooks on a Module", "of the grad_input."
        why = "that does not take as input a single Tensor or a tuple of Tensors"
    elif len(nodes := {out.grad_fn for out in outputs if out.grad_fn is not None}) > 1:
        why = "when outputs are generated by different autograd Nodes"
    elif node not in nodes:
        why, advice = "when outputs are nested in python data structure", ""
    elif {arg.grad_fn for arg in inputs if arg.grad_fn is not None} != {entry[0] for entry in node.next_functions}:
        why, missing = "when the forward contains multiple autograd Nodes", "grad_input."
    else:
        return
    warnings.warn(f"Using {hook} {why} is deprecated and will be removed in future versions. This hook will be missing "
        f"some {missing}{advice}", FutureWarning, stacklevel=4)
