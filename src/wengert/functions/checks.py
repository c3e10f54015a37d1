"""``torch._check`` and its kin, and the error of a device without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor, bool_

if TYPE_CHECKING:
    from collections.abc import Callable


class OutOfMemoryError(RuntimeError):
    """Raised by PyTorch when a device has no memory left; here, never."""

    __module__ = "torch"


def _check_with(error: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``error`` unless ``cond``, a truth value, holds; ``message()`` is its text.

    >>> _check_with(ValueError, 1 > 2, lambda: "one is less")
    Traceback (most recent call last):
    ValueError: one is less
    """
    if not isinstance(cond, bool):
        hint = ""
        if isinstance(cond, Tensor):
            hint = ". For tensor conditions, use torch._check_tensor_all() to assert that all elements are true."
        raise TypeError(f"cond must be a bool, but got {'a Tensor' if hint else type(cond)}{hint}")
    if cond:
        return
    if message is None:
        text = (
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    else:
        if not callable(message):
            raise TypeError("message must be a callable")
        text = str(message())
    raise error(text)


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``RuntimeError`` unless ``cond`` holds."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: Any, message: Callable[[], Any] | None = None, *, max: Any = None) -> None:
    """Raise ``RuntimeError`` unless ``i`` can be a size."""
    _check_with(RuntimeError, bool(i >= 0), message)
    if max is not None:
        _check_with(RuntimeError, bool(i <= max), message)


def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``IndexError`` unless ``cond`` holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``ValueError`` unless ``cond`` holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``TypeError`` unless ``cond`` holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``NotImplementedError`` unless ``cond`` holds."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``error`` unless every element of ``cond``, a tensor of truth values, holds."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``RuntimeError`` unless every element of ``cond`` holds."""
    _check_tensor_all_with(RuntimeError, cond, message)
