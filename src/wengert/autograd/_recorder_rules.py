"""What gradient rules do while a profiler is on: their steps on raw arrays become events, as operators on tensors do.

The backward runs in a namespace whose functions are recorded, and rules get arrays that record the arithmetic that
is done with them. Both call what a walk without a profiler calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops.operator import TABLE, Composite
from ..tensor.namespaces import ArrayNamespace
from ._recorder_facts import flops
from ._recorder_names import event_name, product_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._recorder import Event, Recorder


class WatchedNamespace(ArrayNamespace):
    """Operators on arrays that notify the ``recorders``."""

    watches = True

    def __init__(self, recorder: Recorder) -> None:
        self.recorders = [recorder]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = super().__getattr__(name)
        op = TABLE[name]
        whole = isinstance(op, Composite) and op.raw is None  # its steps are to be seen
        step = event_name(op)
        product = name == "matmul"

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if not whole:
                args, kwargs = tuple(map(unwatched, args)), {k: unwatched(v) for k, v in kwargs.items()}
            seen = product_name(np.ndim(args[0]), np.ndim(args[1])) if product else step
            return self.watch(call(*args, **kwargs) if seen is None else self.timed(seen, call, args, kwargs))

        setattr(self, name, recorded)
        return recorded

    def begin(self, name: str, inputs: tuple[Any, ...]) -> list[tuple[Recorder, Event]]:
        """An event begins, in each profile."""
        return [(r, r.begin(name, inputs=inputs)) for r in self.recorders if r.on and r.collecting]

    def timed(self, name: str, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``call(*args, **kwargs)`` as an event."""
        events = self.begin(name, (*args, *kwargs.values()))
        try:
            answer = call(*args, **kwargs)
            for r, event in events:
                if r.flops:
                    event.flops = flops(name, args, answer)
            return answer
        finally:
            for r, event in reversed(events):
                r.finish(event)

    def watch(self, value: Any) -> Any:
        """``value`` with its arrays (in a list or tuple, too) as those that record what is done with them."""
        kind = type(value)
        if kind is np.ndarray:
            seen = value.view(Watched)
            seen.inner, seen.namespace = value, self
            return seen
        return kind(map(self.watch, value)) if kind is list or kind is tuple else value

    # what the engine does between the nodes

    def conform(self, g: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:  # type: ignore[override]
        if g.shape == shape:
            return ArrayNamespace.conform(g, shape, dtype)
        answer: np.ndarray = self.timed("aten::sum", ArrayNamespace.conform, (g, shape, dtype), {})
        return answer

    def accumulate(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        """In ``a``'s memory if nothing else refers to it, as without a profiler; the event's name says which it was."""
        events = self.begin("aten::add", (a, b))
        box, first = [a], id(a)
        del a
        try:
            answer = ArrayNamespace.accumulate(box.pop(), b)
            if id(answer) == first:
                for _, event in events:
                    event.name = "aten::add_"
            for r, event in events:
                if r.flops:
                    event.flops = flops(event.name, (b,), answer)
            return answer
        finally:
            for r, event in reversed(events):
                r.finish(event)


class Watched(np.ndarray):
    """An array whose arithmetic is recorded. ``inner``: the array that it stands for."""

    inner: np.ndarray | None = None
    namespace: Any = None

    def __array_finalize__(self, source: Any) -> None:
        self.namespace = getattr(source, "namespace", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        args = tuple(map(unwatched, inputs))
        if out is not None:
            kwargs["out"] = tuple(map(unwatched, out))
        name = _UFUNCS.get(ufunc.__name__)
        if method != "__call__" or self.namespace is None or name is None:
            return getattr(ufunc, method)(*args, **kwargs)
        answer = self.namespace.timed("aten::" + name, ufunc, args, kwargs)
        return self.namespace.watch(answer) if out is None else out[0]

    def swapaxes(self, *axes: Any) -> Any:
        name = "aten::t" if self.ndim == 2 else "aten::transpose"
        inner: Any = unwatched(self)
        return self.namespace.watch(self.namespace.timed(name, lambda a: a.swapaxes(*axes), (inner,), {}))


def unwatched(value: Any) -> Any:
    """``value`` with the arrays that ``WatchedSpace.watch`` was given."""
    kind = type(value)
    if kind is Watched:
        return value.view(np.ndarray) if value.inner is None else value.inner
    return kind(map(unwatched, value)) if kind is list or kind is tuple else value


# -- names ------------------------------------------------------------------------------------------------------------

_UFUNCS = {
    "multiply": "mul", "subtract": "sub", "divide": "div", "negative": "neg", "power": "pow", "float_power": "pow",
    "conjugate": "_conj", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "equal": "eq",
    "not_equal": "ne", "floor_divide": "div", "absolute": "abs", "invert": "bitwise_not", "arctan2": "atan2",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "rint": "round", "fabs": "abs", **{name: name for name in (
        "add", "matmul", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "sign", "square", "reciprocal", "floor", "ceil", "trunc", "maximum", "minimum", "fmax", "fmin",
        "hypot", "logaddexp", "logaddexp2", "isnan", "isinf", "isfinite", "signbit", "copysign", "nextafter",
        "remainder", "fmod", "heaviside", "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and",
        "bitwise_or", "bitwise_xor", "frexp", "ldexp", "gcd", "lcm", "deg2rad", "rad2deg")},
}
