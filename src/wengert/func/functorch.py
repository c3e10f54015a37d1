"""What ``functorch`` was before it became ``torch.func``: the same transformations, and modules taken apart.

Programs of that time import this as ``torch._functorch``; ``functorch`` itself is ``deprecated``.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

from ..functions.creation import empty_like
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensor.functions import function
from .gradients import debug_unwrap, functionalize, grad, grad_and_value, vjp
from .jacobians import hessian, jacfwd, jacrev, jvp, linearize
from .mapping import _dims, check_out_dims, check_randomness, vmap
from .modules import (
    batch_norm_without_running_stats,
    check_alike,
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "batch_norm_without_running_stats", "chunk_vmap",
    "combine_state_for_ensemble", "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value",
    "hessian", "jacfwd", "jacrev", "jvp", "linearize", "make_functional", "make_functional_with_buffers",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]


class FunctionalModuleWithBuffers(Module):
    """A module without its state: called with the parameters, the buffers and the arguments."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
        """``(function, parameters, buffers)`` of ``model``; the values detached if ``disable_autograd_tracking``."""
        return _taken_apart(cls, model, disable_autograd_tracking)

    def forward(  # type: ignore[override]
            self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """What the module makes of the arguments with this state."""
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers)))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without its parameters: called with them and the arguments."""

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
        """``(function, parameters)`` of ``model``; the values detached if ``disable_autograd_tracking``."""
        return super()._create_from(model, disable_autograd_tracking)[:2]

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """What the module makes of the arguments with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def _taken_apart(kind: Any, model: Module, detached: bool) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    made = kind(model, params, buffers)
    empty: dict[int, Any] = {}  # by the id of a parameter or buffer, the tensor without numbers in its place
    for module in model.modules():
        for group in (module._parameters, module._buffers):
            for name, t in group.items():
                if t is None:
                    continue
                if id(t) not in empty:
                    bare = empty_like(t.detach(), device="meta")
                    empty[id(t)] = Parameter(bare, t.requires_grad) if group is module._parameters else bare
                group[name] = empty[id(t)]
    return made, tuple(p.detach() if detached else p for p in params.values()), tuple(buffers.values())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """``(function, parameters)``, with ``function(parameters, *args)`` what ``model(*args)`` gives.
    ``torch.func.functional_call`` does this.

    >>> from wengert.func.functorch import make_functional
    >>> call, parameters = make_functional(torch.nn.Linear(2, 3))
    >>> call(parameters, torch.ones(5, 2)).shape
    torch.Size([5, 3])
    """
    if dict(model.named_buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead.")
    made, params, _ = _taken_apart(FunctionalModule, model, disable_autograd_tracking)
    return made, params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """``(function, parameters, buffers)``, with ``function(parameters, buffers, *args)`` what
    ``model(*args)`` gives.
    """
    return _taken_apart(FunctionalModuleWithBuffers, model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...],
        tuple[Any, ...]]:
    """``(function, parameters, buffers)`` of models of one class, each stacked along a new first dimension and
    detached, for ``vmap``.

    Raises ``RuntimeError`` for no model, models of several classes, or some in training mode and some not.
    """
    check_alike("combine_state_for_ensemble", models)
    made, params, buffers = zip(*(_taken_apart(FunctionalModuleWithBuffers, m, False) for m in models))
    stacked = (tuple(function("stack")([t.detach() for t in column]) for column in zip(*rows))
        for rows in (params, buffers))
    return (made[0], *stacked)  # type: ignore[return-value]


def chunk_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
        chunks: int = 2) -> Callable[..., Any]:
    """``vmap`` of ``chunks`` parts of the batch, one after the other, to save memory.

    >>> from wengert.func.functorch import chunk_vmap
    >>> chunk_vmap(torch.sum, chunks=3)(torch.ones(4, 2))
    tensor([2., 2., 2., 2.])
    """
    if chunks == 1:
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness)

    check_randomness(randomness)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(func, out_dims)
        _, size = _dims(func, in_dims, args)
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(-(-size // chunks), 1))(*args, **kwargs)

    return mapped


def __getattr__(name: str) -> Any:
    if name == "control_flow":
        from . import control_flow

        return control_flow
    if name == "make_fx":
        from ..fx.experimental.proxy_tensor import make_fx

        return make_fx
    from ..names.absent import absent_name

    return absent_name(__name__, name)
