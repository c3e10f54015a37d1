"""The engine: walks the tape newest-first and hands each node its gradient.

Every node's sequence number lies after those of its inputs, so popping the newest pending node is a topological order
without a counting pass, and a node is popped exactly when its gradient is complete. Nothing here recurses, and nothing
that was consumed is kept.
"""

from __future__ import annotations

import threading
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from . import anomaly as anomaly_mode
from .modes import modes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .node import Edge, Node


class Walk:
    """One run of the engine, for those who ask about it from inside a hook."""

    __slots__ = ("__weakref__", "_seen", "captures", "needed", "roots")

    def __init__(self, roots: list[tuple[Edge, Any]], needed: set[Node] | None, captures: Any = None) -> None:
        self.roots, self.needed, self.captures = roots, needed, captures
        self._seen: set[Node] | None = None

    def reaches(self, node: Node) -> bool:
        """Whether this run hands a gradient to ``node``."""
        if self._seen is None:
            self._seen = below(e for e, _ in self.roots) if self.needed is None else self.needed.union(self.captures or ())
        return node in self._seen


class _Current(threading.local):
    walk: Walk | None = None


_current = _Current()


def current_walk() -> Walk | None:
    """The run that this thread is in, if any."""
    return _current.walk


def run(
    roots: list[tuple[Edge, Any]],
    space: Any,
    retain: bool = False,
    needed: set[Node] | None = None,
    captures: dict[Node, dict[int, Any]] | None = None,
) -> None:
    """Send the gradients of ``roots`` down the graph.

    ``space`` is the vocabulary that gradients are computed in: raw arrays, or recorded tensors. ``needed`` limits the
    walk to those nodes. ``captures`` maps a node to ``{output number: None}``; the gradient that arrives there is put
    in, and the walk stops there unless the node is also in ``needed``.
    """
    outer = _current.walk
    _current.walk = Walk(roots, needed, captures)
    watch = anomaly_mode.current
    before = None if watch is None else watch.enter()
    observers = modes().observers
    try:
        if not observers:
            _run(roots, space, retain, needed, captures, watch)
        else:
            _observed(observers)(roots, space, retain, needed, captures, watch)
    except Exception:
        if watch is not None:
            watch.failed()
        raise
    finally:
        _current.walk = outer
        if watch is not None:
            watch.leave(before)


def _observed(observers: tuple[Any, ...]) -> Any:
    """The walk as those observers run it that have a method ``watch(walk, *its arguments)``."""
    walk: Any = _run
    for observer in observers:
        if hasattr(observer, "watch"):
            walk = partial(observer.watch, walk)
    return walk


def _run(roots: Any, space: Any, retain: bool, needed: Any, captures: Any, watch: Any) -> None:
    raw = space.raw
    pending: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []

    def deliver(node: Node, nr: int, g: Any) -> None:
        """The slow half of delivery: several outputs, fan-in, undefined gradients."""
        if node.outputs > 1:
            if node not in pending:
                pending[node] = [None] * node.outputs
                heappush(heap, (node.seq, node))
            row = pending[node]
            row[nr] = g if row[nr] is None else row[nr] if g is None else space.plus(row[nr], g)
        elif node in pending:
            if pending[node] is None:
                pending[node] = g
            elif g is not None:
                pending[node] = space.accumulate(pending.pop(node), g)
        else:
            pending[node] = g
            heappush(heap, (node.seq, node))

    for (node, nr), g in roots:
        if needed is None or node in needed or (captures is not None and node in captures):
            deliver(node, nr, g)

    while heap:
        node = heappop(heap)[1]
        g = pending.pop(node)
        if watch is not None:
            watch.running(node)
        hooks = node.hooks
        if hooks is not None:
            g = hooks.arrive(node, g, space)
        if captures is not None and node in captures:
            wanted = captures[node]
            for nr in wanted:
                wanted[nr] = g if node.outputs == 1 else g[nr]
        if needed is not None and node not in needed:
            continue
        if hooks is not None and hooks.pre:
            g = hooks.before(node, g, space)

        if g is None and not node.wants_undefined and node.outputs == 1:
            grads: Any = (None,) * len(node.edges)
        elif needed is not None:
            needs = [e is not None and (e[0] in needed or e[0] in captures) for e in node.edges]  # type: ignore[operator]
            grads = node.partial(g, needs) if raw else node.recorded(g, needs)
        elif raw:
            grads = node.raw(g)
        else:
            grads = node.recorded(g)
        if not retain:
            node.release()
        if hooks is not None and hooks.post:
            grads = hooks.after(node, grads, g, space)
        if watch is not None:
            watch.check(node, grads, raw)

        i = -1
        for edge in node.edges:
            i += 1
            if edge is None:
                continue
            to, nr = edge
            if needed is not None and to not in needed and to not in captures:  # type: ignore[operator]
                continue
            gi = grads[i]
            if to.outputs == 1 and raw:
                if gi is not None:
                    if gi.shape != to.shape or gi.dtype is not to.dtype:
                        gi = _conform(space, gi, to.shape, to.dtype, node, i)
                    if to not in pending:
                        pending[to] = gi
                        heappush(heap, (to.seq, to))
                        continue
            elif gi is not None:
                shape, dtype = (to.shape, to.dtype) if to.outputs == 1 else (to.shape[nr], to.dtype[nr])
                if space.differs(gi, shape, dtype):
                    gi = _conform(space, gi, shape, dtype, node, i)
            deliver(to, nr, gi)
        g = gi = grads = None  # nothing consumed outlives its step


def _conform(space: Any, g: Any, shape: tuple[int, ...], dtype: Any, node: Node, i: int) -> Any:
    """The gradient in the shape and dtype of its tensor: broadcasting and promotion are undone here, for every operator."""
    given = tuple(g.shape)
    if given != shape and not _expands(shape, given):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {i} - got {list(given)} but expected shape "
            f"compatible with {list(shape)}"
        )
    return space.conform(g, shape, dtype)


def _expands(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """Whether an array of shape ``small`` broadcasts to ``large``."""
    if len(small) > len(large):
        return False
    return all(a in (b, 1) for a, b in zip(reversed(small), reversed(large)))


def reachable(roots: Iterable[Edge], targets: set[Node]) -> set[Node]:
    """The nodes below ``roots`` from which some node of ``targets`` can be reached (targets only if they lead on to others)."""
    seen = below(roots)
    needed: set[Node] = set()
    for node in sorted(seen, key=lambda n: -n.seq):  # oldest first: inputs before their users
        if any(e is not None and (e[0] in needed or e[0] in targets) for e in node.edges):
            needed.add(node)
    return needed


def below(roots: Iterable[Edge]) -> set[Node]:
    """All nodes that can be reached from ``roots``, they included."""
    seen: set[Node] = set()
    stack = [node for node, _ in roots]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(e[0] for e in node.edges if e is not None and e[0] not in seen)
    return seen
