"""``TorchFunctionMode``: code of the user's that takes every call of an operator, above the tape."""

from __future__ import annotations

import inspect
from typing import Any

from .graph.modes import modes, set_modes
from .tensor.watched import watch_forever

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode"]


class TorchFunctionMode:
    """Base of modes: as a context, ``__torch_function__`` takes every operator that is called inside.

    It receives the function, the types that override operators, and the arguments, and gives the result;
    ``func(*args, **kwargs)`` does what would have been done, seen by the modes further out. Unlike a dispatch mode it
    stands above the tape: what it calls is recorded.

    >>> import wengert as torch
    >>> from wengert.overrides import TorchFunctionMode
    >>> class Show(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Show():
    ...     y = torch.nn.functional.softplus(x) * 2
    softplus
    mul
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run ``func`` and give its result."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        if inspect.ismethod(self.__torch_function__) and self.__torch_function__.__self__ is type(self):
            raise RuntimeError(
                "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method"
            )
        watch_forever()
        m = modes()
        set_modes(m.with_(functions=(*m.functions, self)))
        return self

    def __exit__(self, *exc: object) -> None:
        m = modes()
        stack = m.functions
        at = max((i for i, mode in enumerate(stack) if mode is self), default=None)
        if at is not None:
            set_modes(m.with_(functions=stack[:at] + stack[at + 1 :]))


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    """The innermost active mode, or None."""
    stack = modes().functions
    return stack[-1] if stack else None


def _get_current_function_mode_stack() -> list[Any]:
    """The active modes, outermost first."""
    return list(modes().functions)


def _is_torch_function_mode_enabled() -> bool:
    """Whether some mode is active."""
    return bool(modes().functions)


def _len_torch_function_stack() -> int:
    """How many modes are active."""
    return len(modes().functions)
