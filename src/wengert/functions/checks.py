"""``torch._check`` and its kin, and the error of a device without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.torch_function import overridable
from ..tensor import Tensor, bool_
from .places import described

if TYPE_CHECKING:
    from collections.abc import Callable


class OutOfMemoryError(RuntimeError):
    """Raised by PyTorch when a device has no memory left; here, never."""

    __module__ = "torch"


class AcceleratorError(RuntimeError):
    """Raised by PyTorch when work on a device has failed; here, never."""

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
        raise error("Expected cond to be True, but got False. (Could this error message be improved? If so, please "
            "report an enhancement request to PyTorch.)")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _raising(name: str, error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], Any] | None = None) -> None:
        _check_with(error, cond, message)

    return described(check, name, f"Raise ``{error.__name__}`` unless ``cond`` holds.")


_check = _raising("_check", RuntimeError)
_check_index = _raising("_check_index", IndexError)
_check_value = _raising("_check_value", ValueError)
_check_type = _raising("_check_type", TypeError)
_check_not_implemented = _raising("_check_not_implemented", NotImplementedError)


def _check_is_size(i: Any, message: Callable[[], Any] | None = None, *, max: Any = None) -> None:
    """Raise ``RuntimeError`` unless ``i`` can be a size."""
    _check_with(RuntimeError, bool(i >= 0), message)
    if max is not None:
        _check_with(RuntimeError, bool(i <= max), message)


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


@overridable
def _assert(condition: Any, message: str) -> None:
    """``assert condition, message``, as a function that can be overridden."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise ``RuntimeError`` unless ``input``, a tensor of one element, is not zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")
