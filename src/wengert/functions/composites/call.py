"""Composites: operators that are expressions in others. How one is called, and what makes its result one operator's."""

from __future__ import annotations

from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import kernels as K
from ...arrays.layouts import lay
from ...arrays.storageless import StoragelessArray
from ...graph.interceptors import Call, run_interceptors
from ...graph.modes import modes
from ...graph.node import next_sequence
from ...ops.arrange import several
from ...ops.errors import must_be
from ...ops.operator import TABLE
from ...ops.spellings import OTHER_NAMES, renamed
from ...tensor import classes, functions
from ...tensor.autograd_meta import AccumulateGrad, edge_of, requires_grad
from ...tensor.classes import DISPATCHING, KNOWN, PLAIN, is_known
from ...tensor.functions import function
from ...tensor.inplace import into
from ...tensor.namespaces import TRACED_OPS
from ...tensor.results import out_row
from .fused_gradient import one_step
from .subgraph_node import wrap_in_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...ops.operator import Composite

#: The native short cut of a composite, given its name, parameters and defaults, if it has one: ``native/composed.c``.
native_composed: Any = getattr(getattr(K._native, "_kernels", None), "composed", lambda *args: None)

native_equal: Any = getattr(getattr(K._native, "_kernels", None), "equal", None)

_VARIADIC = 4  # inspect.CO_VARARGS, of a function with *arguments

KNOWN.add(FunctionType)  # as attention is given the function of dropout


def _composite(op: Composite, method: bool = False) -> Callable[..., Any]:
    code = getattr(op.define, "__code__", None)
    params = () if code is None else code.co_varnames[1 : code.co_argcount]
    respell = op.name in OTHER_NAMES or (params and params[0] != "input")
    run = _runner(op)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and respell:
            args, kwargs = renamed(op.name, params, args, kwargs)
        out = kwargs.pop("out", None) if kwargs else None
        interceptors = modes().interceptors
        try:
            if (len(interceptors) == 1 or all(i.by_class or (i.passes is not None and i.passes.get(op.name) is True)
                    for i in interceptors)) and _known(args, kwargs):
                return run(args, kwargs, out)
            asked = Call("composite", op, args, lambda call: run(call.args, call.kwargs, call.out), out,
                public if op.places else None, kwargs)
            return run_interceptors(asked, interceptors)
        except Exception as error:
            better = classes.annotated(op.name, params, args, kwargs, error)
            if better is None:
                raise
            raise better from error

    public = first_native(_short_cut(op, params), call)
    public.__name__ = public.__qualname__ = op.name
    public.__doc__ = op.doc or None
    if op.grad is not None:
        return one_step(op, public)
    return public


def _short_cut(op: Composite, params: tuple[str, ...]) -> Any:
    """The native call of a composite, if it has one: one of an operator, with what its plan makes of the arguments."""
    if op.plan is None:
        return native_composed(op.name, params, op.defaults)
    (target, plan), more = op.plan[:2], op.plan[2:]
    unrecorded, tensors = more[:1] == (True,), more[1] if more[1:] else 0
    if type(target) is tuple:
        code, how = op.define.__code__, 3 if more[:1] == ("kind",) else 1 + unrecorded
        if code.co_flags & _VARIADIC:
            named = code.co_varnames[1 : 1 + code.co_kwonlyargcount]
            return _of_several(native_composed(op.name, ("tensors", *named), op.defaults, (None, plan), True, 0, how))
        return native_composed(op.name, params, op.defaults, (None, plan), True, tensors, how)
    exact = not unrecorded and op.node in (None, getattr(TABLE.get(target), "node_name", None))
    return native_composed(op.name, params, op.defaults, (target, plan), exact, tensors)


def _of_several(native: Any) -> Any:
    """``native``, a function of a list of tensors, for ``f(a, b)`` and ``f([a, b])``."""
    return native and (lambda *tensors, **named: native(several(tensors), **named))


def first_native(native: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, for which a native short cut is asked first if there is one."""
    if native is None:
        return call

    @wraps(call)
    def quickly(*args: Any, **kwargs: Any) -> Any:
        found = native(*args, **kwargs)
        return call(*args, **kwargs) if found is NotImplemented else found

    return quickly


def _known(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether no class of an argument overrides anything."""
    for v in args:
        if type(v) not in KNOWN and not is_known(v):
            return False
    return not kwargs or all(type(v) in KNOWN or is_known(v) for v in kwargs.values())


def _runner(op: Composite) -> Callable[[tuple[Any, ...], dict[str, Any], Any], Any]:
    """What runs the composite ``op``: its definition, then what makes its result one operator's."""
    define = op.define if not op.by_example else by_example(op.define)
    first = (op.plan or (None,))[0]
    planned = first if type(first) is tuple else () if first is None else (first,)

    def run(args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        if op.flags and (kwargs or len(args) > op.flags[0][1]):  # else none is given
            refuse_flags(op, args, kwargs)
        for name in planned:
            if name not in classes.NATIVE_CALLS:
                functions.compile_stub(function(name))  # which the definition may not call
        since = next_sequence() if op.whole else 0
        found = define(TRACED_OPS, *args, **kwargs)
        if op.layout is not None:
            found = laid(found, op.layout, args[0] if args else next(iter(kwargs.values())))
        if op.whole:
            _as_one(op, found, args, kwargs, since)
        return found if out is None else _write(found, out, op.name)

    return run


def refuse_flags(op: Composite, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse anything but bools for parameters whose default is one, as the conversion of other operators does."""
    for p, i in op.flags:
        v = args[i] if i < len(args) else kwargs.get(p, True)
        if v is not True and v is not False and not isinstance(v, np.bool_):
            raise must_be(op.name, p, i + 1 if i < len(args) else 0, v, "bool")


def laid(answer: Any, layout: str, source: Any) -> Any:
    """The result of a composite in the layout that it declares: a copy, where it is not."""
    if type(answer) not in PLAIN or type(source) not in PLAIN:
        return answer
    y = answer._wg_data
    if type(y) is StoragelessArray and y.meta:
        answer._wg_data = y.laid(lay(y.window, layout, (getattr(source._wg_data, "window", source._wg_data),)))
    if type(y) is not np.ndarray:
        return answer
    if layout != "columns" and y.flags.c_contiguous and (layout == "rows" or source._wg_data.flags.c_contiguous):
        return answer
    found = lay(y, layout, (source._wg_data,))
    return answer if found.strides == y.strides else function("relaid")(answer, layout, source._wg_data)


def _as_one(op: Composite, answer: Any, args: Any, kwargs: Any, since: int) -> None:
    """Give a composite that is one operator of PyTorch's one node."""
    first = next((t for t in answer if t is not None), None) if type(answer) is tuple else answer
    if op.fixed:
        given = op.defaults | dict(zip(op.params, args), **kwargs)
        refuse_gradient(op.name, **{p: given.get(p) for p in op.fixed})
    if first is None or first._wg_edge is None or op.node is None or _is_one(op, answer, args, since):
        return
    given = op.defaults | dict(zip(op.params, args), **kwargs)
    wrap_in_node(answer, op.node, [given.get(p) for p in op.whole], since, given)


def _is_one(op: Composite, answer: Any, args: Any, since: int) -> bool:
    """Whether, as one sees at once, the one node that was made is as the composite's must be."""
    if op.fixed or type(answer) is tuple or len(op.whole) != 1 or not args or op.params[0] != op.whole[0]:
        return False
    node = answer._wg_edge[0]
    if node.seq >= since or type(node) is AccumulateGrad or node.outputs != 1 or len(node.edges) != 1:
        return False
    return node.name() == op.node and requires_grad(args[0]) and node.edges[0] == edge_of(args[0])


def by_example(define: Callable[..., Any]) -> Callable[..., Any]:
    """``define``, which looks at the numbers of its arguments, for a mapped function: called for one example after the
    other.
    """

    @wraps(define)
    def each(*args: Any, **kwargs: Any) -> Any:

        if classes.mapping is not None and classes.mapping.holds_batched((*args, *kwargs.values())):
            if define.__name__.endswith("_"):
                level = classes.mapping.innermost((*args, *kwargs.values()))
                classes.mapping.refuse_write(args[0], level, f"aten::{define.__name__}")
            return classes.mapping.each_example(each, args, kwargs)
        return define(*args, **kwargs)

    return each


def _write(answer: Any, out: Any, name: str) -> Any:
    """``out=`` of a composite."""
    results, targets = (list(answer), list(out)) if isinstance(out, (tuple, list)) else ([answer], [out])
    if any(requires_grad(t) for t in (*results, *targets)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if DISPATCHING and any(type(t) in DISPATCHING for t in (*results, *targets)):
        for r, t in zip(results, targets):
            t.copy_(r)
        return out_row(name, out)
    shim = type("op", (), {"name": name})
    into(shim, [r._wg_data for r in results], targets, {}, modes())  # type: ignore[arg-type]
    return out_row(name, out)


def refuse_gradient(function: str, **arguments: Any) -> None:
    """Refuse arguments that require a gradient where ``function`` (PyTorch's name) has none."""
    for name, t in arguments.items() if modes().grad else ():
        if isinstance(t, classes.Tensor_) and t.requires_grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )


functions.composite = _composite
