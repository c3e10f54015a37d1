"""The operators that exist for PyTorch's own tests of how gradients are registered and warnings come through."""

from __future__ import annotations

import warnings
from typing import Any

from .autograd.function import Function

__all__ = [
    "_test_autograd_multiple_dispatch", "_test_autograd_multiple_dispatch_view", "_test_autograd_multiple_dispatch_view_copy",
    "_test_warn_in_autograd",
]  # fmt: skip


class _OneMore(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g + 1

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t.clone()


class _Warns(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        warnings.warn("Warn from backward", stacklevel=2)
        return g.clone()


def _test_autograd_multiple_dispatch(input: Any, b: bool | None = None) -> Any:
    """A copy, whose gradient is one more than it should be; with ``b`` the copy that ``clone`` makes."""
    return _OneMore.apply(input) if b is None else input.clone()


def _test_autograd_multiple_dispatch_view(input: Any) -> Any:
    """A flat view."""
    return input.view(-1)


def _test_autograd_multiple_dispatch_view_copy(input: Any) -> Any:
    """A flat copy."""
    return input.view(-1).clone()


def _test_warn_in_autograd(input: Any) -> Any:
    """A copy; its backward warns."""
    return _Warns.apply(input)
