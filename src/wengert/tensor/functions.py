"""The function of every operator, made from its declaration.

A function starts as a stub. Its first call compiles the specialised code (see ``specialise``) and puts it in the
stub's place; the function object stays the same, so every reference to it becomes fast at once and import pays nothing
for operators that a program never calls.
"""

from __future__ import annotations

import threading
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.ghost import Ghost
from ..arrays.layouts import lay
from ..graph.interceptors import Call, answer
from ..graph.modes import modes
from ..graph.node import next_sequence
from ..ops.operator import TABLE, Composite, Operator
from ..ops.spellings import OTHER_NAMES, renamed
from . import classes
from .classes import DISPATCHING, KNOWN, PLAIN, is_known
from .namespaces import RECORDED
from .refusals import refuse_gradient
from .subgraph_node import enclose

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}


def function(name: str) -> Callable[..., Any]:
    """The public function of the operator ``name``."""
    found = FUNCTIONS.get(name)
    if found is None:
        op = TABLE.get(name)
        if op is None:
            raise AttributeError(f"no operator {name!r} in the table")
        found = FUNCTIONS.setdefault(name, _composite(op) if isinstance(op, Composite) else _stub(op, "call"))
    return found


def inplace_function(name: str) -> Callable[..., Any]:
    """The in-place form of the operator ``name``: ``add_`` for ``add``."""
    key = name + "_"
    found = FUNCTIONS.get(key)
    if found is None:
        found = FUNCTIONS.setdefault(key, _stub(TABLE[name], "inplace"))  # type: ignore[arg-type]
    return found


def method(name: str) -> Callable[..., Any]:
    """The same as a method: another object, so that who overrides ``torch.add`` and ``Tensor.add``
    can tell them apart.
    """
    found = METHODS.get(name)
    if found is None:
        op = TABLE[name]
        found = METHODS[name] = _composite(op, True) if isinstance(op, Composite) else _stub(op, "call", True)
    return found


def own_function(name: str) -> Callable[..., Any]:
    """The same once more, for another namespace: those who override functions tell them apart."""
    op = TABLE[name]
    return _composite(op) if isinstance(op, Composite) else _stub(op, "call", True)


def own_method(name: str, special: str) -> Callable[..., Any]:
    """The operator ``name`` as a special method that is known by that name."""
    found = _stub(TABLE[name], "call", True)  # type: ignore[arg-type]
    found.__name__ = found.__qualname__ = special
    return found


def inplace_method(name: str) -> Callable[..., Any]:
    """The in-place form of the operator ``name`` as a method."""
    key = name + "_"
    found = METHODS.get(key)
    if found is None:
        found = METHODS[key] = _stub(TABLE[name], "inplace", True)  # type: ignore[arg-type]
    return found


def dunder(name: str, reflected: bool = False, inplace: bool = False,
        public: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The operator ``name`` as a special method, which answers ``NotImplemented`` to operands it does not know.

    ``public``: what it is called by where it is overridden, if not by its own name.
    """
    kind = "reflected" if reflected else "augmented" if inplace else "dunder"
    return _stub(TABLE[name], kind, True, public)  # type: ignore[arg-type]


def _stub(op: Operator, kind: str, method: bool = False, public: Callable[..., Any] | None = None) -> Callable[...,
        Any]:
    name = op.name + ("_" if kind in ("inplace", "augmented") else "")
    scope: dict[str, Any] = {"_op": op, "_kind": kind, "_compile": _compile, "__name__": "wengert"}
    f = FunctionType(_first_call.__code__, scope, name)
    f.__qualname__ = name
    f.__doc__ = op.doc or None
    f.__module__ = "torch"
    scope["_self"] = f
    if method:
        scope["_public"] = f if public is None else public
        if kind == "reflected":
            scope["_public"].reflected = True  # the operator's arguments are the method's turned around
    return f


def _first_call(*args: Any, **kwargs: Any) -> Any:
    _compile(_self, _op, _kind)  # type: ignore[name-defined]  # noqa: F821  bound in each stub's own globals
    return _self(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


_compiling = threading.RLock()


def _compile(f: Any, op: Operator, kind: str) -> None:
    from .specialise import specialise

    with _compiling:
        if f.__code__ is not _first_call.__code__:
            return  # another thread was quicker
        made = specialise(op, kind, f.__globals__)
        f.__defaults__, f.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        f.__code__ = made.__code__


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
            # one is always there, who asks the classes of arguments
            if len(interceptors) == 1 and _known(args, kwargs):
                return run(args, kwargs, out)
            asked = Call("composite", op, args, lambda call: run(call.args, call.kwargs, call.out), out,
                public if op.places else None, kwargs)
            return answer(asked, interceptors)
        except Exception as error:
            better = classes.told(op.name, params, args, kwargs, error)
            if better is None:
                raise
            raise better from error

    public = call
    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = op.doc or None
    if op.grad is not None:
        from .fused_gradient import one_step

        return one_step(op, call)
    return call


def _known(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether no class of an argument overrides anything."""
    for v in args:
        if type(v) not in KNOWN and not is_known(v):
            return False
    return not kwargs or all(type(v) in KNOWN or is_known(v) for v in kwargs.values())


def _runner(op: Composite) -> Callable[[tuple[Any, ...], dict[str, Any], Any], Any]:
    """What runs the composite ``op``: its definition, then what makes its result one operator's."""
    define = op.define if not op.by_example else by_example(op.define)

    def run(args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        since = next_sequence() if op.whole else 0
        found = define(RECORDED, *args, **kwargs)
        if op.layout is not None:
            found = laid(found, op.layout, args[0] if args else next(iter(kwargs.values())))
        if op.whole:
            _as_one(op, found, args, kwargs, since)
        return found if out is None else _write(found, out, op.name)

    return run


def laid(answer: Any, layout: str, source: Any) -> Any:
    """The result of a composite in the layout that it declares: a copy, where it is not."""
    if type(answer) not in PLAIN or type(source) not in PLAIN:
        return answer
    y = answer._wg_data
    if type(y) is Ghost and y.meta:
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
    if first is None or first._wg_edge is None or op.node is None:
        return
    given = op.defaults | dict(zip(op.params, args), **kwargs)
    if op.fixed:
        refuse_gradient(op.name, **{p: given.get(p) for p in op.fixed})
    enclose(answer, op.node, [given.get(p) for p in op.whole], since, given)


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
    from .autograd_meta import requires_grad
    from .inplace import into
    from .results import out_row

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
