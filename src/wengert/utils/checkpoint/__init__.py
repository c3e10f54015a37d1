"""Gradient checkpointing: drop what a part of the network saved, and compute it again when backward needs it.

Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016). The default recomputes through saved-tensor hooks
(``recompute``), so that any graph, hook or keyword argument works; ``use_reentrant=True`` is the older form, a custom
Function that runs a backward of its own. ``selective`` keeps the results of chosen operators. What to recompute for a
budget of memory is what ``plan`` finds out (see ``wengert.memory``).
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ...graph.modes import is_grad_enabled
from .recompute import (
    CheckpointError,
    CheckpointFunction,
    Frame,
    GraphExecGroup,
    _StopRecomputationError,
    check_backward_validity,
    detach_variable,
    restored,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
    settings,
)
from .selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    _policy_from_bool,
    create_selective_checkpoint_contexts,
)
from .state import DefaultDeviceType, get_device_states, set_device_states
from .state import get_autocast_kwargs as _get_autocast_kwargs
from .state import get_device_module as _get_device_module
from .state import infer_device_type as _infer_device_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...memory.chain import Block, Chain, Option
    from ...memory.plan import BudgetError, Plan, solve
    from ...memory.planned import PlannedModule
    from ...memory.planner import plan

__all__ = [
    "SAC_IGNORED_OPS", "Block", "BudgetError", "Chain", "CheckpointError", "CheckpointFunction", "CheckpointPolicy",
    "DefaultDeviceType", "GraphExecGroup", "Option", "Plan", "PlannedModule", "SelectiveCheckpointContext",
    "_CachedTorchDispatchMode", "_CachingTorchDispatchMode", "_StopRecomputationError", "_get_autocast_kwargs",
    "_get_device_module", "_infer_device_type", "_policy_from_bool", "check_backward_validity", "checkpoint",
    "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable", "get_device_states",
    "noop_context_fn", "plan", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
    "solve",
]
# The planner, which is imported when it is first asked for: it stands on ``nn`` and ``fx``, which may import this.
_PLANNER = {"Block": "chain", "BudgetError": "plan", "Chain": "chain", "Option": "chain", "Plan": "plan",
    "PlannedModule": "planned", "plan": "planner", "solve": "plan"}


def __getattr__(name: str) -> Any:
    if name in _PLANNER:
        from importlib import import_module

        return getattr(import_module(f"...memory.{_PLANNER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: the default for ``context_fn``."""
    return nullcontext(), nullcontext()


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
        context_fn: Callable[[], Any] = noop_context_fn, determinism_check: str = "default", debug: bool = False,
        early_stop: bool = True, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)`` without keeping its intermediate values: backward computes them again.

    Args:
        use_reentrant: pass False. True gives the older form: no keyword arguments, no ``torch.autograd.grad``, and only
            tensors among ``args`` get gradients.
        preserve_rng_state: (keyword, default True) the second run draws the same random numbers, ours, NumPy's global
            ones and those of Python's ``random``.
        context_fn: gives two contexts, for the first run and for the second.
        determinism_check: ``"default"`` compares the shape and dtype of what both runs save, ``"none"`` does not.
        debug: record every operator of both runs, and show them if the runs differ.
        early_stop: the second run ends as soon as it has what backward needs.

    Raises:
        CheckpointError: when the gradient is computed, if the second run saves other tensors than the first.
        ValueError: for options that do not go together.

    >>> from wengert.utils.checkpoint import checkpoint
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> checkpoint(lambda t: t.exp() * t, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([1.0000, 5.4366])
    """
    if use_reentrant is None:
        use_reentrant = _reentrant("checkpoint", "Starting in PyTorch 2.9, calling checkpoint without use_reentrant "
            "will raise an exception.")
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        with restored():
            return CheckpointFunction.apply(function, preserve, *args)
    return _recorded_again(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop)


def _reentrant(function: str, change: str) -> bool:
    """The default of ``use_reentrant``, with a warning."""
    import warnings

    warnings.warn(f"torch.utils.{function}: the use_reentrant parameter should be passed explicitly. {change} "
        "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
        "use_reentrant=True. Refer to docs for more details on the differences between the two variants.", stacklevel=3)
    return True


def _recorded_again(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool,
        context_fn: Callable[[], Any], determinism_check: str, debug: bool, early_stop: bool) -> Any:
    """The form that is not reentrant: ``function`` runs again when backward reads the first saved value."""
    complain = None
    if debug if settings["debug"] is None else settings["debug"]:
        from .report import logs

        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn, complain = logs()
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    if not is_grad_enabled():
        return function(*args, **kwargs)  # nothing will be computed again, so the contexts are not made
    frame = Frame(function, args, kwargs, preserve, recompute_context, determinism_check == "default", early_stop,
        complain)
    with restored(), frame.recording(), forward_context:
        answer = function(*args, **kwargs)
        frame.finished = True
    if not frame.finished:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during "
            "the checkpointed forward. This is not supported because checkpoint cannot return a value for a failed "
            "forward."
        )
    return answer


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
        **kwargs: Any) -> Any:
    """Run a sequence of modules (or functions) in ``segments`` parts, all but the last of them checkpointed.

    >>> from wengert.utils.checkpoint import checkpoint_sequential
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.log, torch.exp], 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([2.7183])
    """
    if use_reentrant is None:
        use_reentrant = _reentrant("checkpoint.checkpoint_sequential", "In version 2.9 we will raise an exception if "
            "use_reentrant is not passed.")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    count = len(functions)

    def part(start: int, end: int) -> Any:
        def forward(x: Any) -> Any:
            for i in range(start, end):
                x = functions[i](x)
            return x

        return forward

    size = count // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(end, count)(input)
