"""The engine: runs the nodes of a graph newest first and passes each its gradient.

Every node's sequence number lies after those of its inputs, so popping the newest pending node is a topological order
without a counting pass, and a node is popped exactly when its gradient is complete. Nothing here recurses, and nothing
that was consumed is kept.
"""

from __future__ import annotations

import itertools
from _thread import _local as local  # what threading.local is, without importing threading
from functools import partial
from heapq import heappop, heappush
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..arrays import kernels
from ..arrays.flags import IGNORED, quieten, restore
from . import anomaly as anomaly_mode
from .interceptors import Interceptor
from .modes import modes
from .node import leaf_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .node import Edge, Node


# How many backwards may be inside each other in one thread: the next one gets a thread of its own, so that however deep
# they go, Python's recursion limit (which counts per thread) is not met.
_DEPTH = 20
_by_sequence = attrgetter("seq")


class GraphTask:
    """State of one run of the engine (PyTorch's graph task), which hooks and rules can query."""

    _seen: set[Node] | None = None  # these four stand on the class: few runs set them
    awaited: dict[Node, int] | None = None  # see ``leaf_uses``
    _number: int | None = None
    callbacks: list[Callable[[], Any]] | None = None

    __slots__ = ("__dict__", "__weakref__", "captures", "depth", "needed", "node", "retain", "roots")

    node: Node | None  # whose rule, or hook, is running
    retain: bool  # whether the nodes keep what they remember

    def __init__(self, roots: list[tuple[Edge, Any]], retain: bool, needed: set[Node] | None, captures: Any = None,
            depth: int = 0) -> None:
        self.roots, self.retain, self.needed, self.captures, self.depth = roots, retain, needed, captures, depth
        self.node = None

    def reaches(self, node: Node) -> bool:
        """Whether this run hands a gradient to ``node``."""
        if self._seen is None:
            ends = self.captures or ()
            edges = [e for e, _ in self.roots]
            self._seen = (reachable_nodes(edges, ends) if self.needed is None
                else self.needed.union(reachable_nodes(edges).intersection(ends)))
        return node in self._seen

    @property
    def number(self) -> int:
        """A number unique to this run, drawn at the first access."""
        if self._number is None:
            self._number = next(_numbers)
        return self._number


_numbers = itertools.count()
_leaf_order = itertools.count()
# called with the roots of every run; returns a function to call at its end
listener: Callable[[Any], Callable[[], None]] | None = None


class _Current(local):
    walk: GraphTask | None = None


_current = _Current()


def current_graph_task() -> GraphTask | None:
    """The run that this thread is in, if any."""
    return _current.walk


def current_node() -> Node | None:
    """The node whose rule (or hook) is running in this thread, if any."""
    return None if _current.walk is None else _current.walk.node


def keeps_graph() -> bool:
    """Whether the run that this thread is in keeps what its nodes remember; True outside of any."""
    return _current.walk is None or _current.walk.retain


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call ``callback`` when the present run is over, or its ``abandoned``, if any, when that fails."""
    walk = _current.walk
    if walk is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    if walk.callbacks is None:
        walk.callbacks = []
    walk.callbacks.append(callback)


def run(roots: list[tuple[Edge, Any]], namespace: Any, retain: bool = False, needed: set[Node] | None = None,
        captures: dict[Node, dict[int, Any]] | None = None) -> None:
    """Send the gradients of ``roots`` down the graph.

    ``namespace`` is what gradients are computed with: operators on arrays, or recorded operators. ``needed`` limits the
    walk to those nodes. ``captures`` maps a node to ``{output number: None}``; the gradient that arrives there is put
    in, and the walk stops there unless the node is also in ``needed``. Without ``needed`` everything leads to a
    captured node.

    A rule or a hook may call ``run`` again. What it raises ends the run, when the leaves whose gradients
    are complete have them; the graph can be used afterwards.
    """
    outer = _current.walk
    if outer is None:
        walk = GraphTask(roots, retain, needed, captures)
    elif outer.depth < _DEPTH:
        walk = GraphTask(roots, retain, needed, captures, outer.depth + 1)
    else:
        _in_own_thread(run, roots, namespace, retain, needed, captures)
        return
    watch, interceptors = anomaly_mode.current, modes().interceptors
    before = None if watch is None else watch.enter()
    ended = None if listener is None else listener(roots)
    if leaf_hooks and any(hooks() for hooks in leaf_hooks.copy().values()):
        walk.awaited = leaf_gradient_counts(roots, needed, captures)
    flags = quieten(IGNORED)
    try:
        try:
            _current.walk = walk
            walk_as = _intercepted(interceptors) if interceptors else _run
            walk_as(roots, namespace, retain, needed, captures, watch)
        except Exception:
            if watch is not None:
                watch.failed()
            for callback in walk.callbacks or ():
                getattr(callback, "abandoned", tuple)()
            raise
        finally:
            _current.walk = outer
    finally:  # Ctrl-C may have come just before that line
        _current.walk = outer
        restore(flags)
        if watch is not None:
            watch.leave(before)
        if ended is not None:
            ended()
    if walk.callbacks is not None:
        _finish(walk, walk.callbacks)


def _finish(walk: GraphTask, callbacks: list[Callable[[], Any]]) -> None:
    outer = _current.walk
    _current.walk = walk
    try:
        for callback in callbacks:  # the list may grow meanwhile
            callback()
    finally:
        _current.walk = outer


def _intercepted(interceptors: tuple[Interceptor, ...]) -> Any:
    """The walk as the interceptors run it that have a way of their own."""
    walk: Any = _run
    for interceptor in reversed(interceptors):
        if type(interceptor).walk is not Interceptor.walk:
            walk = partial(interceptor.walk, walk)
    return walk


def _in_own_thread(work: Callable[..., None], *args: Any) -> None:
    """Run ``work`` in a fresh thread, in a copy of this one's context; its error is raised here, with its traceback."""
    import threading
    from contextvars import copy_context

    context, failed = copy_context(), []

    def body() -> None:
        try:
            context.run(work, *args)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, name="wengert-backward", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed.pop()


class _Arrivals:
    """The gradients that have arrived at nodes, and the order in which those come next, in the general case: several
    outputs, several edges into one node, undefined gradients, leaves that wait for all of theirs.
    """

    __slots__ = ("awaited", "heap", "namespace", "pending", "walk")

    def __init__(self, namespace: Any, captures: Any) -> None:
        self.namespace, self.walk = namespace, _current.walk or GraphTask([], True, None)
        self.awaited: Any = () if type(captures) is _SubgraphCaptures else self.walk.awaited or ()
        self.pending: dict[Node, Any] = {}
        self.heap: list[Any] = []

    def begin(self, roots: Any, needed: Any, captures: Any) -> Node | None:
        """Deliver the gradients of the roots; gives the last of these. (Hooks of a single root run in any case.)"""
        node: Any = None
        for (node, nr), g in roots:
            if (needed is None or node in needed or node in captures
                    or (len(roots) == 1 and node.hooks is not None)):
                self.deliver(node, nr, g)
        return node  # type: ignore[no-any-return]

    def deliver(self, node: Node, nr: int, g: Any) -> None:
        """Add ``g`` to what has arrived at the output ``nr`` of ``node``."""
        pending, awaited = self.pending, self.awaited
        if node.outputs > 1:
            if node not in pending:
                pending[node] = [None] * node.outputs
                heappush(self.heap, (node.seq, node))
            row = pending[node]
            row[nr] = g if row[nr] is None else row[nr] if g is None else self.namespace.plus(row[nr], g)
        elif node in pending:
            if pending[node] is None:
                pending[node] = g
            elif g is not None:
                pending[node] = self.namespace.accumulate(pending.pop(node), g)
        else:
            pending[node] = g
            if node not in awaited:
                heappush(self.heap, (node.seq, node))
        if node in awaited:
            awaited[node] -= 1
            if not awaited[node]:
                heappush(self.heap, (-inf, next(_leaf_order), node))  # before all others


def _run(roots: Any, namespace: Any, retain: bool, needed: Any, captures: Any, watch: Any) -> None:
    raw, arrivals = namespace.raw, _Arrivals(namespace, captures)
    walk, pending, heap, awaited = arrivals.walk, arrivals.pending, arrivals.heap, arrivals.awaited
    deliver = arrivals.deliver
    node: Any = arrivals.begin(roots, needed, captures)
    g: Any = None
    try:
        while heap:
            node = walk.node = heappop(heap)[-1]
            hooks = node.hooks
            if watch is not None:
                watch.running(node)
            if hooks is None and (captures is None or node not in captures):
                g = pending.pop(node)
            else:
                g = _arrived(node, pending.pop(node), namespace, needed, captures)
                if g is _STOP:
                    continue
            if g is None and not node.wants_undefined and node.outputs == 1:
                grads: Any = node.without_gradient()
            elif needed is None:
                grads = node.raw(g) if raw else node.recorded(g)
            else:
                needs = _needs(node, needed, captures)
                grads = node.partial(g, needs) if raw else node.recorded(g, needs)
            if hooks is not None:
                grads = _left(node, grads, g, namespace, hooks)
            if watch is not None:
                watch.check(node, grads, raw, g)
            if not retain:
                node.release()

            i = -1
            for edge in node.edges:
                i += 1
                if edge is None:
                    continue
                to, nr = edge
                if needed is not None and to not in needed and to not in captures:
                    continue
                gi = grads[i]
                if gi is not None:
                    a = gi if raw else gi._wg_data
                    if to.outputs == 1 and a.shape == to.shape and a.dtype is to.dtype:
                        if to not in pending and to not in awaited:
                            pending[to] = gi
                            heappush(heap, (to.seq, to))
                            continue
                    else:
                        gi = _fitted(namespace, gi, edge, node, i)
                deliver(to, nr, gi)
            g = gi = a = grads = None  # nothing consumed outlives its step
    except Exception as error:
        _deliver_complete_leaves(node, pending, namespace, needed, captures)
        walk.node = node  # which has failed, not the last of these leaves
        _raise_explained(node, error, g)
        raise


_STOP: Any = object()


def _needs(node: Node, needed: Any, captures: Any) -> tuple[bool, ...]:
    """Which gradients of ``node`` are wanted."""
    return tuple([e is not None and (e[0] in needed or e[0] in captures) for e in node.edges])


def _arrived(node: Node, g: Any, namespace: Any, needed: Any, captures: Any) -> Any:
    """What ``node`` gets where captures or hooks see the gradient ``g``; ``_STOP`` if the walk stops there."""
    hooks = node.hooks
    if captures is not None and node in captures:
        g = _capture(captures, node, g, needed is not None and node in needed, namespace)
        if needed is None:
            return _STOP
    elif hooks is not None:
        g = hooks.arrive(node, g, namespace)
    if needed is not None and node not in needed:
        return _STOP
    if hooks is not None and hooks.pre:
        g = hooks.before(node, g, namespace)
    return g


def _left(node: Node, grads: Any, g: Any, namespace: Any, hooks: Any) -> Any:
    """The gradients ``grads`` that ``node`` gave for ``g``, as its hooks leave them."""
    return hooks.after(node, _conformed(node, grads, namespace), g, namespace) if hooks.post else grads


def _raise_explained(node: Node, error: Exception, g: Any) -> None:
    """Raise what says better what is wrong with the gradient ``g``, if the node knows it."""
    if g is not None and type(error) in (ValueError, TypeError):
        better = node.explain_error(error, g)
        if better is not None:
            raise better from error


def _deliver_complete_leaves(failed: Node, pending: dict[Node, Any], namespace: Any, needed: Any,
        captures: Any) -> None:
    """Hand over the gradients of leaves that were complete when ``failed`` raised, as PyTorch does."""
    if failed.is_leaf or type(captures) is _SubgraphCaptures:
        return
    edges = [(node, 0) for node in (failed, *pending)]
    left = reachable_nodes(edges) if needed is None else reachable_nodes(edges) & needed
    waiting = {e[0] for node in left for e in node.edges if e is not None}
    ready = [((node, 0), g) for node, g in pending.items() if node.is_leaf and node not in waiting]
    if ready:
        if _current.walk is not None:
            _current.walk.awaited = None
        _run(ready, namespace, True, needed, captures, None)


class _SubgraphCaptures(dict["Node", dict[int, Any]]):
    """Captures of a walk inside of a node: what arrives there belongs to the walk around it, and so do the hooks."""


def run_subgraph(roots: list[tuple[Edge, Any]], namespace: Any, parts: set[Node] | None,
        captures: dict[Node, dict[int, Any]]) -> None:
    """Walk the ``parts`` of one node, as a part of the walk that has come to it; they keep their memory. See ``run``.

    Without ``parts``: all that lies above what is captured.
    """
    _run(roots, namespace, True, parts, _SubgraphCaptures(captures), None)


def _capture(captures: dict[Node, dict[int, Any]], node: Node, g: Any, passing: bool, namespace: Any) -> Any:
    """Store what arrives at ``node``: as its hooks leave it, or, if the walk goes on from it, as it comes."""
    arrived = g if node.hooks is None or type(captures) is _SubgraphCaptures else node.hooks.arrive(node, g, namespace)
    wanted = captures[node]
    for nr in wanted:
        wanted[nr] = (g if passing else arrived) if node.outputs == 1 else (g if passing else arrived)[nr]
    return arrived


def _conform(namespace: Any, g: Any, shape: tuple[int, ...], dtype: Any, node: Node, i: int) -> Any:
    """The gradient in the shape and dtype of its tensor: broadcasting and promotion are undone here, for every
    operator.

    Without a ``dtype`` (a leaf that takes gradients of any) it stays what it is.
    """
    given = tuple(g.shape)
    if given != shape:
        check_shape(given, shape, node, i)
    return namespace.conform(g, shape, namespace.dtype_of(g) if dtype is None else dtype)


def check_shape(given: tuple[int, ...], shape: tuple[int, ...], node: Node, i: int) -> None:
    """Refuse a gradient, the ``i``-th that ``node`` gave, whose shape is not that of its tensor broadcast."""
    if not _expands(shape, given):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {i} - got {list(given)} but expected shape "
            f"compatible with {list(shape)}"
        )


def _fitted(namespace: Any, g: Any, edge: Edge, node: Node, i: int) -> Any:
    """The ``i``-th gradient of ``node`` in the shape and dtype of the output that ``edge`` leads to."""
    to, nr = edge
    shape, dtype = (to.shape, to.dtype) if to.outputs == 1 else (to.shape[nr], to.dtype[nr])
    return _conform(namespace, g, shape, dtype, node, i) if namespace.differs(g, shape, dtype) else g


def _conformed(node: Node, grads: Any, namespace: Any) -> tuple[Any, ...]:
    """The gradients as hooks see them: in the shapes and dtypes of the inputs."""
    return tuple([g if g is None or edge is None else _fitted(namespace, g, edge, node, i)
        for i, (g, edge) in enumerate(zip(grads, node.edges))])


def _expands(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """Whether an array of shape ``small`` broadcasts to ``large``."""
    if len(small) > len(large):
        return False
    return all(a in (b, 1) for a, b in zip(reversed(small), reversed(large)))


def leaf_gradient_counts(roots: list[tuple[Edge, Any]], needed: set[Node] | None, captures: Any) -> dict[Node, int]:
    """How many gradients a walk hands to each leaf's accumulator.

    An accumulator that was made for an earlier graph has an old sequence number, and its turn would come at the end of
    the walk. Hooks of leaves (optimizers that step inside the backward, gradient buckets) need the gradient as soon as
    it is complete, which these counts determine.
    """
    uses: dict[Node, int] = {}
    seen: set[Node] = set()

    def reached(nodes: Iterable[Node]) -> list[Node]:
        for node in nodes:
            if node.is_leaf:
                uses[node] = uses.get(node, 0) + 1
        return [node for node in nodes if node not in seen]

    def wanted(node: Node) -> bool:
        return needed is None or node in needed or (captures is not None and node in captures)

    stack = reached([node for (node, _), _ in roots if len(roots) == 1 or wanted(node)])
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if captures is not None and node in captures and (needed is None or node not in needed):
            continue
        stack += reached([e[0] for e in node.edges if e is not None and wanted(e[0])])
    return uses


def needed_for(roots: list[Edge], targets: Any) -> set[Node] | None:
    """The nodes below ``roots`` that lead to ``targets``; None for all, where every way down ends at one of these, each
    of them is met, and none has hooks, which are called in an order of their own.
    """
    nodes = [node for node, _ in roots]
    plain = set(nodes).isdisjoint(targets) and not any(node.hooks is not None for node in targets)
    return None if plain and ends_at(nodes, targets) else nodes_leading_to(roots, set(targets))


def _ends_at(nodes: list[Node], targets: Any) -> bool:
    """Whether every way down from ``nodes`` ends at a target, and each is met, of which several lead nowhere."""
    seen = reachable_nodes([(node, 0) for node in nodes], targets)
    met = seen.intersection(targets)
    return (len(met) == len(targets) and all(any(node.edges) for node in seen - met)
        and (len(met) == 1 or not any(node.edges for node in met)))


ends_at: Any = getattr(kernels._native, "ends_at", _ends_at)


def nodes_leading_to(roots: Iterable[Edge], targets: set[Node]) -> set[Node]:
    """The nodes below ``roots`` from which others of ``targets`` can be reached."""
    needed: set[Node] = set()
    below = reachable_nodes(roots, oldest=max(map(_by_sequence, targets), default=0))  # what is older leads to none
    for node in sorted(below, key=_by_sequence, reverse=True):  # oldest first: inputs before their users
        for edge in node.edges:
            if edge is not None and (edge[0] in needed or edge[0] in targets):
                needed.add(node)
                break
    return needed


def reachable_nodes(roots: Iterable[Edge], ends: Any = (), oldest: float = inf) -> set[Node]:
    """All nodes that can be reached from ``roots``, they included, without going on from ``ends`` or as old ones."""
    seen: set[Node] = set()
    stack = [node for node, _ in roots]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            if node in ends or node.seq >= oldest:
                continue
            stack += [e[0] for e in node.edges if e is not None and e[0] not in seen]
    return seen
