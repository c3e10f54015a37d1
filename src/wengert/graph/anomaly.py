"""Whether anomaly mode is on, for all threads.

``current`` is None, or an object with ``made(node)``, called for each new node, and for the engine ``enter()`` and
``leave(before)`` around a walk, ``running(node)`` and ``check(node, grads, raw)`` around a node, and ``failed()``. Code
that makes nodes without reading ``current`` (see ``tensor.specialise``) registers in ``listeners`` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

current: Any = None
listeners: list[Callable[[Any], None]] = []


def switch(new: Any) -> Any:
    """Put ``new`` in force everywhere; gives what was in force before."""
    global current
    before, current = current, new
    for listener in listeners:
        listener(new)
    return before
