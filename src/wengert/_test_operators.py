"""The operators that exist for PyTorch's own tests of how gradients are registered and warnings come through."""

from __future__ import annotations

import warnings
from typing import Any

from .autograd.function import Function
from .tensor import PLACES

__all__ = [
    "_test_autograd_multiple_dispatch", "_test_autograd_multiple_dispatch_view", "_test_autograd_multiple_dispatch_view_copy",
    "_test_check_tensor", "_test_functorch_fallback", "_test_warn_in_autograd",
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


def _test_functorch_fallback(input: Any, other: Any) -> Any:
    """A copy of ``input``, which maps make example by example."""
    from .graph.modes import map_levels

    if not map_levels.get():
        return input.detach().clone()
    from .tensor.batching.dispatch import each_example, holds_batched, innermost

    if not holds_batched((input, other)):
        return input.detach().clone()
    if innermost((input, other)).size == 0:
        raise RuntimeError(
            "Batching rule not implemented for aten::_test_functorch_fallback. The fallback path does not support vmap over dims of size 0."
        )
    return each_example(_test_functorch_fallback, (input, other), {})


def _test_check_tensor(input: Any) -> Any:
    """A copy of a tensor of bools, all of which must be true."""
    if not PLACES["torch"]["_is_all_true"](input):
        raise RuntimeError("Test message for TORCH_CHECK_TENSOR_ALL")
    return input.clone()
