"""The function of every operator, made from its declaration.

A function starts as a stub. Its first call compiles the specialised code (see ``specialise``) and puts it in the
stub's place; the function object stays the same, so every reference to it becomes fast at once and import pays nothing
for operators that a program never calls.
"""

from __future__ import annotations

from _thread import RLock  # what threading.RLock is, without importing threading
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..ops.operator import TABLE, Composite, Operator
from .namespaces import TRACED_OPS
from .specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[..., Any]] = {}
composite: Any = None  # makes the function of a composite: of the package ``functions.composites``


def function(name: str) -> Callable[..., Any]:
    """The public function of the operator ``name``."""
    found = FUNCTIONS.get(name)
    if found is None:
        op = TABLE.get(name)
        if op is None:
            raise AttributeError(f"no operator {name!r} in the table")
        found = FUNCTIONS.setdefault(name, composite(op) if isinstance(op, Composite) else _stub(op, "call"))
    return found


def inplace_function(name: str) -> Callable[..., Any]:
    """The in-place form of the operator ``name``: ``add_`` for ``add``."""
    key = name + "_"
    return FUNCTIONS.get(key) or FUNCTIONS.setdefault(key, _stub(TABLE[name], "inplace"))  # type: ignore[arg-type]


@cache
def method(name: str) -> Callable[..., Any]:
    """The same as a method: another object, so that overrides can distinguish ``torch.add`` and ``Tensor.add``."""
    return own_function(name, True)


def own_function(name: str, method: bool = False) -> Callable[..., Any]:
    """A further copy, for another namespace: overrides distinguish them."""
    op = TABLE[name]
    return composite(op, method) if isinstance(op, Composite) else _stub(op, "call", True)


def own_method(name: str, special: str) -> Callable[..., Any]:
    """The operator ``name`` as a special method that is known by that name."""
    found = _stub(TABLE[name], "call", True)  # type: ignore[arg-type]
    found.__name__ = found.__qualname__ = special
    return found


@cache
def inplace_method(name: str) -> Callable[..., Any]:
    """The in-place form of the operator ``name`` as a method."""
    return _stub(TABLE[name], "inplace", True)  # type: ignore[arg-type]


def dunder(name: str, reflected: bool = False, inplace: bool = False,
        public: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The operator ``name`` as a special method, which returns ``NotImplemented`` for operands of unknown types.

    ``public``: what it is called by where it is overridden, if not by its own name.
    """
    kind = "reflected" if reflected else "augmented" if inplace else "dunder"
    return _stub(TABLE[name], kind, True, public)  # type: ignore[arg-type]


def _stub(op: Operator, kind: str, method: bool = False,
        public: Callable[..., Any] | None = None) -> Callable[..., Any]:
    name = op.name + ("_" if kind in ("inplace", "augmented") else "")
    scope: dict[str, Any] = {"_op": op, "_kind": kind, "_compile": compile_stub, "__name__": "wengert"}
    f = FunctionType(_first_call.__code__, scope, name)
    f.__qualname__, f.__module__, f.__doc__ = name, "torch", op.doc or None
    scope["_self"] = f
    if method:
        scope["_public"] = f if public is None else public
        if kind == "reflected":
            scope["_public"].reflected = True  # the operator's arguments are the method's turned around
    return f


def _first_call(*args: Any, **kwargs: Any) -> Any:
    _compile(_self)  # type: ignore[name-defined]  # noqa: F821  bound in each stub's own globals
    return _self(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


_compiling = RLock()


def compile_stub(f: Any) -> None:
    """Compile ``f``, if it is a stub."""
    with _compiling:
        if f.__code__ is _first_call.__code__:  # no other thread was quicker
            put_code(f, specialise(f.__globals__["_op"], f.__globals__["_kind"], f.__globals__))


def put_code(f: Any, made: Any) -> None:
    """Make ``f`` do what ``made`` does, for every reference to it."""
    f.__defaults__, f.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
    f.__code__ = made.__code__


TRACED_OPS.function = function
