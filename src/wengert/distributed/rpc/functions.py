"""``async_execution``: functions that give a future of their result."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...futures import Future

if TYPE_CHECKING:
    from collections.abc import Callable


def async_execution(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that returns a ``Future``: the caller gets its value, and no thread waits for it here.

    >>> @torch.distributed.rpc.functions.async_execution
    ... def add_elsewhere(to, x, y):
    ...     return torch.distributed.rpc.rpc_async(to, torch.add, (x, y)).then(lambda done: done.wait() + 1)
    """
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    wrapper._wrapped_async_rpc_function = fn  # type: ignore[attr-defined]
    return wrapper


def call(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function; a future of it if it was marked with ``async_execution``."""
    result = function(*args, **kwargs)
    if getattr(function, "_wrapped_async_rpc_function", None) is None:
        return Plain(result) if isinstance(result, Future) else result
    if not isinstance(result, Future):
        raise RuntimeError("Functions decorated with @rpc.async_function must return a torch.futures.Future object, "
            f"but got {type(result)}")
    return result


class Plain:
    """A future that is the result itself, which cannot travel."""

    def __init__(self, future: Future[Any]) -> None:
        self.future = future

    def __reduce__(self) -> Any:
        return self.future.__reduce_ex__(4)
