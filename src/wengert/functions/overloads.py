"""Functions whose PyTorch signature has several forms: each form is an operator, chosen here by the arguments."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ..tensor.tensor import Tensor

FUNCTIONS: dict[str, Any] = {}
METHODS: dict[str, Any] = {}
FUNCTIONAL: dict[str, Any] = {}


def overload(*places: str) -> Any:
    """Register a function under its name (less a trailing underscore of ours) as a function, method, or both."""

    def register(f: Any) -> Any:
        name = f.__name__.removesuffix("__")
        f.__name__ = f.__qualname__ = name
        for p in places:
            {"torch": FUNCTIONS, "Tensor": METHODS, "functional": FUNCTIONAL}[p][name] = f
        return f

    return register


def by_kind(name: str, position: int, parameter: str, find: Any, *places: str) -> None:
    """A function for which a tensor as ``parameter``, at ``position``, is another operator: ``name + "_tensor"``."""
    number, tensor = find(name), find(name + "_tensor")

    @wraps(number)
    def call(*args: Any, **kwargs: Any) -> Any:
        value = args[position] if len(args) > position else kwargs.get(parameter)
        return (tensor if isinstance(value, Tensor) else number)(*args, **kwargs)

    overload(*places)(call)


_MODULES = ("overloads_pointwise", "overloads_random", "overloads_functional", "overloads_reduce", "overloads_shape",
    "overloads_linalg", "overloads_sparse", "overloads_views", "windows", "overloads_deprecated")


def load() -> None:
    """Import the files that register overloads."""
    from importlib import import_module

    for name in _MODULES:
        import_module(f"{__package__}.{name}")
