"""Neighbours in a ``Sequential`` that are one pass over memory where nothing is recorded or watched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.functions.overloads_functional import fit_plainly
from wengert.graph.modes import INFERENCE, SILENT, modes
from wengert.nn import functional as F
from wengert.tensor.functions import function

from .activation import Hardswish, ReLU, ReLU6, SiLU
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _statistics
from .module import Module, _global_forward_hooks, _global_forward_pre_hooks, weight_and_bias

#: What makes the call of a module, and of the functions that it looks up, as long as nobody has replaced it.
_CALL, _NORM = Module.__call__, F.batch_norm
_FORWARDS = {kind: kind.forward for kind in (BatchNorm1d, BatchNorm2d, BatchNorm3d, Hardswish, ReLU, ReLU6, SiLU)}
_ACTIVATIONS: dict[Any, tuple[str, Any]] = {kind: (name, getattr(F, name)) for kind, name in (
    (ReLU, "relu"), (ReLU6, "relu6"), (SiLU, "silu"), (Hardswish, "hardswish"))}
_NORMS = {BatchNorm1d, BatchNorm2d, BatchNorm3d}


def is_silent() -> bool:
    """Whether nothing is recorded and nobody watches calls."""
    m = modes()
    return m is SILENT or m is INFERENCE


def _as_declared(module: Any) -> bool:
    """Whether a call of the module does what its class says, and no more."""
    state = module.__dict__
    return not (state["_forward_hooks"] or state["_forward_pre_hooks"] or "forward" in state) and (
        type(module).forward is _FORWARDS[type(module)])


def run_silently(modules: Iterable[Any], input: Any) -> Any:
    """The modules one after the other; a batch norm in evaluation and the activation behind it are one pass."""
    norm: Any = None
    untouched = Module.__call__ is _CALL and F.batch_norm is _NORM and not (
        _global_forward_hooks or _global_forward_pre_hooks)
    for module in modules:
        if norm is not None:
            last, norm = norm, None
            if type(module) in _ACTIVATIONS and _as_declared(module):
                found = _joined(last, module, input)
                if found is not None:
                    input = found
                    continue
            input = last(input)
        if untouched and type(module) in _NORMS and not module.training and _as_declared(module):
            norm = module
        else:
            input = module(input)
    return input if norm is None else norm(input)


def _joined(norm: Any, activation: Any, input: Any) -> Any:
    """What the activation makes of what the batch norm does; None where it is more than the everyday case."""
    name, usual = _ACTIVATIONS[type(activation)]
    (mean, var), (weight, bias) = _statistics(norm), weight_and_bias(norm)
    if getattr(F, name) is not usual or mean is None or var is None:
        return None
    if not fit_plainly(input, mean, var, weight, bias):
        return None
    norm._check_input_dim(input)
    return function("batch_norm_then")(input, weight, bias, mean, var, norm.eps, name)
