"""What watches nodes as they are made and walked, in all threads: anomaly mode, and a diagnosis.

``current`` is None, or an object with ``made(node)``, called for each new node, and for the engine ``enter()`` and
``leave(before)`` around a walk, ``running(node)`` and ``check(node, grads, raw, g)`` around a node that got ``g``, and
``failed()``. Code that makes nodes without reading ``current`` (see ``tensor.specialise``) registers in ``listeners``
instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

current: Any = None
mode: Any = None  # anomaly mode
watch: Any = None  # another watcher; ``beside(mode)`` gives one that stands for both
listeners: list[Callable[[Any], None]] = []


def switch(new: Any) -> Any:
    """Put the anomaly mode ``new`` in force everywhere; gives what was in force before."""
    global mode
    before, mode = mode, new
    _inform()
    return before


def set_watch(new: Any) -> None:
    """Put a watcher in force beside anomaly mode; None ends that."""
    global watch
    watch = new
    _inform()


def _inform() -> None:
    global current
    current = mode if watch is None else watch.beside(mode)
    for listener in listeners:
        listener(current)
