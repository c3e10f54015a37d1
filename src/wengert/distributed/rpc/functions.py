"""``async_execution``: functions that give a future of their result."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

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
