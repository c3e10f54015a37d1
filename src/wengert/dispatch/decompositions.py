"""Operators of ours that PyTorch makes of others, so that dispatch modes see the parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.lazy import window
from ..graph.modes import modes
from ..ops.views import as_view, axis, resolve_shape
from ..tensor.functions import function
from ..tensor.namespaces import ARRAY_OPS, TRACED_OPS
from ..tensor.types import contiguous_format
from .meta_device import all_without
from .torch_dispatch import ask, aten

if TYPE_CHECKING:
    from collections.abc import Callable


def _linear(x: Any, w: Any, b: Any = None) -> Any:
    if b is None or x.dim() < 1 or w.dim() < 2:
        y = _matmul(x, w.t() if w.dim() == 2 else w)
        return y if b is None else y + b
    flat = x if x.dim() == 2 else x.reshape(_count(x.shape[:-1]), x.shape[-1])
    y = function("addmm")(b, flat, w.t())
    return y if x.dim() == 2 else y.reshape(*x.shape[:-1], w.shape[0])


def _matmul(x: Any, y: Any) -> Any:
    a, b = x.dim(), y.dim()
    if a == 1 and b == 1:
        return function("dot")(x, y)
    if a <= 2 and b <= 2:
        return (function("mv")(x, y) if b == 1 else function("mm")(x, y) if a == 2
            else function("mm")(x.unsqueeze(0), y).squeeze(0))
    if a > 2 and b <= 2:  # one factor for all: a single product
        flat = x.reshape(_count(x.shape[:-1]), x.shape[-1])
        return function("unsafe_view")(_matmul(flat, y), (*x.shape[:-1], *y.shape[1:]))
    x = x.unsqueeze(0) if a == 1 else x
    batch = np.broadcast_shapes(tuple(x.shape[:-2]), tuple(y.shape[:-2]))
    left = x.expand(*batch, *x.shape[-2:]).reshape(_count(batch), *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:]).reshape(_count(batch), *y.shape[-2:])
    z = function("unsafe_view")(function("bmm")(left, right), (*batch, x.shape[-2], y.shape[-1]))
    return z.squeeze(-2) if a == 1 else z


def _numpy_T(x: Any) -> Any:
    return x.permute(*reversed(range(x.dim())))


def _count(shape: Any) -> int:
    return math.prod(shape)


def _index(x: Any, key: tuple[Any, ...]) -> Any:
    """``x[key]`` of integers, slices, None and Ellipsis, in one step for each part that does something."""
    if _is_step(key):
        return NotImplemented
    dim = 0
    for i, k in enumerate(key):
        if k is Ellipsis:
            dim = x.dim() - sum(1 for rest in key[i + 1 :] if rest is not None)
        elif k is None:
            x = function("unsqueeze")(x, dim)
            dim += 1
        elif type(k) is int:
            x = function("select")(x, dim, k)
        else:
            if k != slice(None):
                x = _cut(x, dim, k.start, k.stop, k.step)
            dim += 1
    return x


def _cut(x: Any, dim: int, start: Any, end: Any, step: Any) -> Any:
    start, end = 0 if start is None else start, 9223372036854775807 if end is None else end
    return function("basic_index")(x, (*[slice(None)] * dim, slice(start, end, step)))


def _is_step(key: tuple[Any, ...]) -> bool:
    """Whether this subscript is one step: a slice of one dimension, with both ends."""
    last = key[-1] if key else None
    return (type(last) is slice and last.start is not None and last.stop is not None
        and all(k == slice(None) for k in key[:-1]))


def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return _cut(x, axis(dim, x.dim()), start, end, step)


def slice_backward(grad_output: Any, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    """Zeros with ``grad_output`` where a slice was taken."""
    whole = grad_output.new_zeros(tuple(input_sizes))
    _slice(whole, dim, start, end, step).copy_(grad_output)
    return whole


def select_backward(grad_output: Any, input_sizes: Any, dim: int, index: int) -> Any:
    """Zeros with ``grad_output`` at one place of ``dim``."""
    whole = grad_output.new_zeros(tuple(input_sizes))
    whole.select(dim, index).copy_(grad_output)
    return whole


def _narrow(x: Any, dim: int, start: int, length: int) -> Any:
    dim %= max(x.dim(), 1)
    start += x.shape[dim] if start < 0 else 0
    return _cut(x, dim, start, start + length, None)


def _reshape(x: Any, shape: Any = ()) -> Any:
    shape = resolve_shape(shape, x.numel())
    if as_view(window(x._wg_data), shape) is not None:
        return function("view")(x, shape)
    return function("unsafe_view")(x.clone(memory_format=contiguous_format), tuple(shape))


def _asked(func: Any, run: Any, *args: Any) -> Any:
    """``run(*args)`` under the name ``func``, seen by the modes that are active."""
    m = modes()
    return (ask(func, run, False, args, {}, m) if m.dispatch or any(hasattr(type(v), "_wg_dispatches") for v in args)
        else run(*args))


def _isfinite(x: Any) -> Any:
    return (x == x) * (x.abs() != math.inf)


def _sum_to(x: Any, shape: Any) -> Any:
    lead = x.dim() - len(shape)
    summed = [*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and x.shape[i + lead] != 1)]
    y = function("sum_dim")(x, tuple(summed), True) if summed else x
    return function("view")(y, tuple(shape)) if lead else y


def _scatter(g: Any, shape: Any, key: tuple[Any, ...]) -> Any:
    """The gradient of ``_index``: its steps from the last to the first."""
    sizes, dim = list(shape), 0
    steps: list[tuple[Any, ...]] = []
    for i, k in enumerate(key):
        if k is Ellipsis:
            dim = len(sizes) - sum(1 for rest in key[i + 1 :] if rest is not None)
        elif k is None:
            steps.append((None, dim))
            sizes.insert(dim, 1)
            dim += 1
        elif type(k) is int:
            steps.append((aten.select_backward.default, select_backward, list(sizes), dim, k))
            sizes.pop(dim)
        else:
            if k != slice(None):
                start, end = 0 if k.start is None else k.start, 9223372036854775807 if k.stop is None else k.stop
                steps.append((aten.slice_backward.default, slice_backward, list(sizes), dim, start, end,
                    1 if k.step is None else k.step))
                sizes[dim] = len(range(*k.indices(sizes[dim])))
            dim += 1
    for func, *rest in reversed(steps):
        g = function("squeeze")(g, *rest) if func is None else _asked(func, rest[0], g, *rest[1:])
    return g


def _cross_entropy(x: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    return function("nll")(function("log_softmax")(x, 1), target, weight, reduction, ignore_index)


def _softmax(name: str) -> Callable[..., Any]:
    def lower(x: Any, dim: Any, dtype: Any = None) -> Any:
        """In another type: converted first."""
        return (NotImplemented if dtype is None or dtype == x._wg_data.dtype
            else function(name)(function("cast")(x, dtype), dim))

    return lower


#: Made of others above autograd, so that it is those which are recorded.
COMPOSED: dict[str, Callable[..., Any]] = {
    "linear": _linear, "matmul": _matmul, "numpy_T": _numpy_T, "basic_index": _index, "select_index": _index,
    "unsqueeze_index": _index, "narrow": _narrow, "reshape": _reshape, "isfinite": _isfinite,
    "cross_entropy_index": _cross_entropy, **{name: _softmax(name) for name in ("softmax", "log_softmax")},
}
#: Made of others below autograd.
LOWER: dict[str, Callable[..., Any]] = {**COMPOSED, "sum_to": _sum_to, "basic_scatter": _scatter}

#: Rules in one kernel, which PyTorch has as operators.
BACKWARD: dict[str, str] = {
    "relu_grad": "threshold_backward", "sigmoid_grad": "sigmoid_backward", "tanh_grad": "tanh_backward",
    "gelu_grad": "gelu_backward", "silu_grad": "silu_backward", "leaky_relu_grad": "leaky_relu_backward",
    "elu_grad": "elu_backward", "hardtanh_grad": "hardtanh_backward", "softmax_grad": "_softmax_backward_data",
    "log_softmax_grad": "_log_softmax_backward_data", "mish_grad": "mish_backward",
    "softplus_grad": "softplus_backward", "log_sigmoid_grad": "log_sigmoid_backward",
    "hardsigmoid_grad": "hardsigmoid_backward", "hardswish_grad": "hardswish_backward",
    "layer_norm_grad": "native_layer_norm_backward", "batch_norm_grad": "native_batch_norm_backward",
    "group_norm_grad": "native_group_norm_backward",
}
# The arguments of such a rule as PyTorch's operator has them, and back.
_ARRANGED: dict[str, tuple[Callable[..., tuple[Any, ...]], Callable[..., tuple[Any, ...]]]] = {
    "relu_grad": (lambda g, y: (g, y, 0), lambda g, y, *_: (g, y)),
    "leaky_relu_grad": (lambda g, x, slope: (g, x, slope, False), lambda g, x, slope, *_: (g, x, slope)),
    "elu_grad": (lambda g, x, a, s, i: (g, a, s, i, False, x), lambda g, a, s, i, _, x: (g, x, a, s, i)),
    "gelu_grad": (lambda g, x, kind: (g, x) if kind == "none" else (g, x, kind),
        lambda g, x, kind="none": (g, x, kind)),
    **{n: (lambda g, y, dim: (g, y, dim, y.dtype), lambda g, y, dim, *_: (g, y, dim))
        for n in ("softmax_grad", "log_softmax_grad")},
}
_MADE: dict[str, Callable[..., Any]] = {}


def backward(op: Any, args: tuple[Any, ...]) -> Any:
    """The composite rule ``op`` as the one operator that PyTorch has for it."""
    run = _MADE.get(op.name)
    if run is None:
        run = _MADE[op.name] = _on_arrays(op, _ARRANGED.get(op.name))
    if op.name in _ARRANGED:
        args = _ARRANGED[op.name][0](*args)
    return ask(getattr(aten, BACKWARD.get(op.name, op.name)).default, run, False, args, {}, modes())


def _on_arrays(op: Any, arranged: Any) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if arranged is not None:
            args = arranged[1](*args, *kwargs.values())
        if any(getattr(v, "is_meta", False) for v in args):  # there are no numbers for a kernel
            return all_without(op.define(TRACED_OPS, *args))
        answer = op.raw(*[ARRAY_OPS.unwrap(v) if hasattr(v, "_wg_data") else v for v in args])
        return (tuple(v if v is None else ARRAY_OPS.wrap(v) for v in answer) if type(answer) in (tuple, list)
            else ARRAY_OPS.wrap(answer))

    return run
