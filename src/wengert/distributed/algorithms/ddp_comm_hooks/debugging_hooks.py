"""A hook that sends nothing."""

from __future__ import annotations

from typing import Any

from wengert.futures import Future

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: Any) -> Future[Any]:
    """The gradients of this process as they are: to see what communication costs."""
    future: Future[Any] = Future()
    future.set_result(bucket.buffer())
    return future
