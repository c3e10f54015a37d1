"""What a new subclass of Tensor is given: members that call its ``__torch_function__`` first, and what its
``__torch_dispatch__`` needs.
"""

from __future__ import annotations

import functools
from typing import Any

from ..graph.modes import install, modes
from ..tensor import classes
from ..tensor.tensor import Tensor
from . import subclass_dispatch
from .below_autograd import DISPATCHER
from .torch_function import (
    PUBLIC,
    SPECIAL,
    DeclinedError,
    Overriding,
    ask,
    ask_mode,
    disabled,
    is_public,
    own_members,
    owners_of,
)
from .watch_functions import watch_members

_BINARY = frozenset(n for n in (*PUBLIC, *SPECIAL) if n.strip("_").lstrip("ri") in ("add", "sub", "mul", "truediv",
    "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "shift", "eq", "ne", "lt", "le", "gt", "ge"))


def _method(name: str, f: Any, func: Any) -> Any:
    binary = name in _BINARY

    @functools.wraps(f)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if modes().functions:
            return _mode_first(func, (self, *args), kwargs)
        owners = owners_of((self, *args, *kwargs.values()))
        if not owners:
            return f(self, *args, **kwargs)
        try:
            return ask(func, owners, (self, *args), kwargs)
        except DeclinedError:
            if binary:
                return NotImplemented
            raise

    return method


def _mode_first(func: Any, args: Any, kwargs: Any = None) -> Any:
    """Function modes come before classes, which are called when a mode passes the call on."""
    watch_members()
    return ask_mode(func, args, kwargs or {}, modes())


def _property(prop: property) -> property:
    def get(self: Any) -> Any:
        if modes().functions:
            return _mode_first(prop.__get__, (self,))
        owners = owners_of((self,))
        return ask(prop.__get__, owners, (self,), {}) if owners else prop.__get__(self)

    def set_(self: Any, value: Any) -> Any:
        if modes().functions:
            return _mode_first(prop.__set__, (self, value))
        owners = owners_of((self, value))
        return ask(prop.__set__, owners, (self, value), {}) if owners else prop.__set__(self, value)

    def delete(self: Any) -> Any:
        owners = owners_of((self,))
        return ask(prop.__delete__, owners, (self,), {}) if owners else prop.__delete__(self)

    return property(get, set_ if prop.fset else None, delete if prop.fdel else None, prop.__doc__)


def _fill() -> None:
    """Give ``Overriding`` its methods, when the first subclass is made."""
    own = own_members()
    for name, value in own.items():
        if not is_public(name):
            continue
        if isinstance(value, property):
            setattr(Overriding, name, _property(value))
        elif callable(value) and not isinstance(value, (type, staticmethod, classmethod)):
            if name in SPECIAL and name in _BINARY:
                value.__name__ = {"__rtruediv__": "__rdiv__", "__pow__": "pow"}.get(name, name)  # PyTorch's names
            setattr(Overriding, name, _method(name, value, own.get(PUBLIC.get(name, ""), value)))


def prepare(cls: Any) -> None:
    """Make a new subclass of Tensor call its ``__torch_function__`` and its ``__torch_dispatch__``."""
    if any("__torch_dispatch__" in vars(c) for c in cls.__mro__ if c is not Tensor and issubclass(c, Tensor)):
        subclass_dispatch.prepare(cls)
        install(DISPATCHER)
    if cls is Overriding or cls.__torch_function__ is disabled or "_own_operators" in cls.__dict__:
        return
    if "__torch_function__" in vars(cls):  # which calls Tensor's own methods with instances of other such classes
        watch_members()
    if issubclass(cls, Overriding):
        return
    if "add" not in vars(Overriding):
        _fill()
    bases: list[Any] = list(cls.__bases__)
    at = next(i for i, b in enumerate(bases) if issubclass(b, Tensor))
    bases[at : at + (bases[at] is Tensor)] = [Overriding]
    cls.__bases__ = tuple(bases)


classes.prepare = prepare
