"""Neighbours in a ``Sequential`` that are one pass over memory where nothing is recorded or watched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.functions.overloads_functional import fit_plainly
from wengert.graph.modes import INFERENCE, SILENT, modes
from wengert.nn import functional as F
from wengert.ops.conv import of_integers
from wengert.tensor import classes
from wengert.tensor.functions import function

from .activation import Hardswish, ReLU, ReLU6, SiLU
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _statistics
from .conv import Conv1d, Conv2d, Conv3d
from .module import Module, _global_forward_hooks, _global_forward_pre_hooks, weight_and_bias

#: What makes the call of a module, and of the functions that it looks up, as long as nobody has replaced it.
_CALL = Module.__call__
_ACTIVATIONS: dict[Any, str] = {ReLU: "relu", ReLU6: "relu6", SiLU: "silu", Hardswish: "hardswish"}
_NORMS = {BatchNorm1d, BatchNorm2d, BatchNorm3d}
_CONVOLUTIONS: dict[Any, str] = {Conv1d: "conv1d", Conv2d: "conv2d", Conv3d: "conv3d"}
_FORWARDS = {kind: kind.forward for kind in (*_NORMS, *_ACTIVATIONS, *_CONVOLUTIONS)}
_CONVOLVE = Conv2d._conv_forward
_FUNCTIONS = {name: getattr(F, name) for name in (*_ACTIVATIONS.values(), *_CONVOLUTIONS.values(), "batch_norm")}


def is_silent() -> bool:
    """Whether nothing is recorded and nobody watches calls."""
    m = modes()
    return m is SILENT or m is INFERENCE


def _as_declared(module: Any) -> bool:
    """Whether a call of the module does what its class says, and no more."""
    state = module.__dict__
    return not (state["_forward_hooks"] or state["_forward_pre_hooks"] or "forward" in state) and (
        type(module).forward is _FORWARDS[type(module)])


def _as_ever(name: str) -> bool:
    """Whether the function of ``nn.functional`` is the one that was there first."""
    return getattr(F, name) is _FUNCTIONS[name]


def run_silently(modules: Iterable[Any], input: Any) -> Any:
    """The modules one after the other; a convolution, a batch norm in evaluation and the activation are one pass."""
    conv: Any = None
    norm: Any = None
    untouched = Module.__call__ is _CALL and not (_global_forward_hooks or _global_forward_pre_hooks)
    for module in modules:
        kind = type(module)
        if untouched and kind in _FORWARDS and _as_declared(module):
            if kind in _ACTIVATIONS:
                if conv is not None or norm is not None:
                    input = _run(conv, norm, module, input)
                    conv = norm = None
                    continue
            elif kind in _CONVOLUTIONS:
                input = _run(conv, norm, None, input)
                conv, norm = module, None
                continue
            elif not module.training and norm is None:
                norm = module
                continue
        input = module(_run(conv, norm, None, input))
        conv = norm = None
    return _run(conv, norm, None, input)


def _run(conv: Any, norm: Any, activation: Any, input: Any) -> Any:
    """What the modules that there are make of the input, one after the other."""
    if conv is not None and not (norm is None and activation is None):
        found = _convolved(conv, norm, activation, input)
        if found is not None:
            return found
    if conv is not None:
        input = conv(input)
    if norm is not None and activation is not None:
        found = _normalised(norm, activation, input)
        if found is not None:
            return found
    for module in (norm, activation):
        if module is not None:
            input = module(input)
    return input


def _then(activation: Any) -> str | None:
    """The name of the function; "" if there is none, None if it was replaced."""
    name = "" if activation is None else _ACTIVATIONS[type(activation)]
    return name if not name or _as_ever(name) else None


def _normalised(norm: Any, activation: Any, input: Any) -> Any:
    """What the activation makes of what the batch norm does; None where it is more than the everyday case."""
    then = _then(activation)
    (mean, var), (weight, bias) = _statistics(norm), weight_and_bias(norm)
    if then is None or not _as_ever("batch_norm") or mean is None or var is None:
        return None
    if not fit_plainly(input, mean, var, weight, bias):
        return None
    norm._check_input_dim(input)
    return function("batch_norm_then")(input, weight, bias, mean, var, norm.eps, then)


def _known(conv: Any, input: Any, weight: Any, bias: Any) -> Any:
    """Stride, padding and dilation of each dimension, of plain tensors in rows that fit; else None."""
    shapes: list[Any] = []
    for t in (input, weight, bias):
        if t is None:
            shapes.append(None)
            continue
        if type(t) not in classes.PLAIN or type(t._wg_data) is not np.ndarray:
            return None
        a = t._wg_data
        if a.dtype is not input._wg_data.dtype or a.dtype.char not in "fd" or not a.flags.c_contiguous:
            return None
        shapes.append(a.shape)
    return of_integers(tuple(shapes), conv.stride, conv.padding, conv.dilation, conv.groups, conv._dims)


def _convolved(conv: Any, norm: Any, activation: Any, input: Any) -> Any:
    """The same for a convolution, before a batch norm or an activation."""
    then, name = _then(activation), _CONVOLUTIONS[type(conv)]
    if then is None or not _as_ever(name) or conv.padding_mode != "zeros" or "_conv_forward" in conv.__dict__ or (
            type(conv)._conv_forward is not _CONVOLVE):
        return None
    weight, bias = weight_and_bias(conv)
    known = _known(conv, input, weight, bias)
    if known is None:
        return None
    statistics = None
    if norm is not None:
        (mean, var), (scale, shift) = _statistics(norm), weight_and_bias(norm)
        if not _as_ever("batch_norm") or mean is None or var is None or norm._dims != conv._dims:
            return None
        if not fit_plainly(input, mean, var, scale, shift, tuple(weight._wg_data.shape[:1])):
            return None
        statistics = (*(None if t is None else t._wg_data for t in (mean, var, scale, shift)), norm.eps)
    return function("convolution_then")(input, weight, bias, *known, conv.groups, statistics, then)
