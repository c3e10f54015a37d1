"""``torch.utils._contextlib``: context managers that are decorators too; what ``no_grad`` and its kin are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.modes import _Mode as _DecoratorContextManager
from ..graph.modes import decorate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without arguments, which can decorate a function without being called."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func`` run inside ``ctx``, a context manager that can be entered many times or a function that makes one.

    Raises ``RuntimeError`` for a class as ``func``, ``AssertionError`` for a ``ctx`` that is both a context manager and
    callable.

    >>> from wengert.utils._contextlib import context_decorator
    >>> double = context_decorator(lambda: torch.no_grad(), lambda x: x * 2)
    >>> double(torch.ones(1, requires_grad=True)).requires_grad
    False
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous "
            "which interface to use.  If you intended to pass a context manager factory, rewrite your call as "
            "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call "
            "as context_decorator(lambda: ctx)"
        )
    if isinstance(func, type):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have "
            "the context manager applied; additionally, decorating a class at definition-site will prevent use of the "
            "identifier as a conventional type.  To specify which methods to decorate, decorate each of them "
            "individually."
        )
    return decorate(ctx if callable(ctx) else lambda: ctx, func)
