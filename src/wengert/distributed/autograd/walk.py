"""The backward across processes.

First it is found out which messages the gradients will go back over: every worker looks at its part of the graph, and
asks those whose messages it leads to to do the same. Then each walks its part, newest nodes first. A node is run when
the gradients of all messages that left after it was made have come back; only later nodes can have contributed to it.
What arrives at a tensor from another process is sent back there.
"""

from __future__ import annotations

import threading
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.flags import IGNORED, quieten, restore
from ...functions.composites.subgraph_node import nodes_inside
from ...futures import Future
from ...graph.engine import run, run_subgraph
from ...tensor.autograd_meta import edge_of, meta_of, requires_grad
from ...tensor.namespaces import ARRAY_OPS
from ...tensor.tensor import Tensor
from ..rpc import agent as agents
from .contexts import CONTEXTS, DistAutogradContext, RecvRpcBackward, Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...graph.node import Edge, Node


_accumulating = threading.RLock()


class Pass:
    """One backward in one process."""

    def __init__(self, context: DistAutogradContext, key: Any, retain: bool) -> None:
        self.context, self.key, self.retain = context, key, retain
        self.lock = threading.RLock()
        self.seen: set[Node] = set()
        self.awaited: dict[int, Sent] = {}  # messages whose gradients have yet to come back
        self.pending: dict[Node, dict[int, Any]] = {}
        self.done: Future[None] = Future()

    # -- which messages -----------------------------------------------------------------------------------------------

    def prepare(self, edges: Iterable[Edge | None]) -> set[int]:
        """Look through the graph above ``edges``, here and where it leads to; the workers that take part."""
        by_worker: dict[int, list[int]] = {}
        with self.lock:
            for node in self._above(edges):
                if type(node) is RecvRpcBackward:
                    by_worker.setdefault(node.source, []).append(node.message)
        agent = agents.current()
        asked = [agent.call(worker, "autograd.prepare", (self.context.number, self.key, self.retain), messages)
            for worker, messages in by_worker.items()]
        return {agent.rank}.union(*(future.wait() for future in asked))

    def _above(self, edges: Iterable[Edge | None]) -> list[Node]:
        new, todo = [], [e[0] for e in edges if e is not None]
        while todo:
            node = todo.pop()
            if node not in self.seen:
                self.seen.add(node)
                new.append(node)
                todo.extend(e[0] for e in node.edges if e is not None)
        return new

    # -- the walk -----------------------------------------------------------------------------------------------------

    def add(self, edges: Sequence[Edge | None], grads: Sequence[Any]) -> None:
        """Bring gradients, as arrays, to where edges lead."""
        for edge, g in zip(edges, grads, strict=True):
            if edge is not None and g is not None:
                row = self.pending.setdefault(edge[0], {})
                row[edge[1]] = g if edge[1] not in row else ARRAY_OPS.plus(row[edge[1]], g)

    def arrive(self, message: int, grads: Sequence[Any]) -> None:
        """The gradients of what a message has taken away have come back."""
        with self.lock:
            self.add(self.awaited.pop(message).edges, grads)
            self.advance()

    def advance(self) -> None:
        """Walk as far as what is there allows."""
        try:
            with self.lock:
                while True:
                    newest = min((s.seq for s in self.awaited.values()), default=inf)  # numbers count down
                    ready = [n for n in self.pending if n.seq < newest and not n.is_leaf]
                    inner = [n for n in ready if type(n) is not RecvRpcBackward]
                    if inner:
                        self._walk(inner, newest)
                    elif ready:
                        for node in ready:
                            self._send_back(node)
                    else:
                        break
                if not self.awaited and not self.done.done():
                    self._store()
                    self.done.set_result(None)
        except BaseException as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """End with an error, unless it has ended."""
        if not self.done.done():
            self.done.set_exception(error)

    def _walk(self, starts: list[Node], newest: float) -> None:
        """Run the nodes from ``starts`` on that are newer than ``newest``."""
        parts, leaving = nodes_inside(starts,
            lambda to: not (to.is_leaf or type(to) is RecvRpcBackward or to.seq >= newest))
        ends: dict[Node, dict[int, Any]] = {}
        for to, nr in leaving:
            ends.setdefault(to, {})[nr] = None
        roots = [((node, nr), g) for node in starts for nr, g in self.pending.pop(node).items()]
        flags = quieten(IGNORED)
        try:
            run_subgraph(roots, ARRAY_OPS, parts, ends)
        finally:
            restore(flags)
        for node, row in ends.items():
            self.add([(node, nr) for nr in row], list(row.values()))
        if not self.retain:
            for node in parts:
                node.release()

    def _send_back(self, node: Node) -> None:
        assert type(node) is RecvRpcBackward
        row = self.pending.pop(node)
        grads = [ARRAY_OPS.wrap(row[i]) if i in row else None for i in range(node.outputs)]
        future = agents.current().call(node.source, "autograd.gradients", (self.context.number, self.key, node.message),
            grads, 0)
        future.add_done_callback(self._sent_back)

    def _sent_back(self, future: Future[Any]) -> None:
        try:
            future.value()
        except BaseException as error:
            self.fail(error)

    def _store(self) -> None:
        """Add to the context's gradients what has come to leaves."""
        watched = []
        for node, row in self.pending.items():
            leaf = getattr(node, "variable", None)
            if leaf is not None and meta_of(leaf).post_hooks is not None:
                watched.append(((node, 0), row[0]))
                continue
            g = row[0] if node.hooks is None else node.hooks.arrive(node, row[0], ARRAY_OPS)
            if leaf is not None and g is not None:
                self._keep(leaf, g)
        self.pending.clear()
        if watched:
            self._accumulate(watched)

    def _keep(self, leaf: Tensor, g: Any) -> None:
        with self.context.lock:
            old = self.context.gradients.get(leaf)
            self.context.gradients[leaf] = ARRAY_OPS.wrap(g.copy() if old is None else ARRAY_OPS.plus(old._wg_data, g))

    def _accumulate(self, watched: list[tuple[Edge, Any]]) -> None:
        """Leaves with hooks of after the accumulation, as DDP has, get their ``.grad`` for as long as these run."""
        leaves = [edge[0].variable for edge, _ in watched]  # type: ignore[attr-defined]
        with _accumulating:
            before = [leaf.grad for leaf in leaves]
            for leaf in leaves:
                leaf.grad = None
            try:
                run(watched, ARRAY_OPS, True)
                for leaf in leaves:
                    if leaf.grad is not None:
                        self._keep(leaf, leaf.grad._wg_data)
            finally:
                for leaf, old in zip(leaves, before, strict=True):
                    leaf.grad = old


def _pass(number: int, key: Any, retain: bool = False) -> Pass:
    context = CONTEXTS.get(number)
    with context.lock:
        return context.passes.setdefault(key, Pass(context, key, retain))


@agents.handles("autograd.prepare")
def _prepare(agent: agents.Agent, source: int, meta: Any, messages: list[int]) -> set[int]:
    mine = _pass(*meta)
    with mine.lock:
        found = {message: mine.context.sent[message] for message in messages}
        mine.awaited.update(found)
    return mine.prepare([edge for sent in found.values() for edge in sent.edges])


@agents.handles("autograd.gradients")
def _gradients(agent: agents.Agent, source: int, meta: Any, grads: list[Any]) -> None:
    number, key, message = meta
    _pass(number, key).arrive(message, [None if g is None else g._wg_data for g in grads])


@agents.handles("autograd.finish", inline=True)
def _finish(agent: agents.Agent, source: int, meta: Any, _: Any) -> Future[None]:
    number, key = meta
    mine = _pass(number, key)
    mine.done.add_done_callback(lambda _: mine.context.passes.pop(key, None))
    return mine.done


@agents.handles("autograd.abort", inline=True)
def _abort(agent: agents.Agent, source: int, meta: Any, _: Any) -> None:
    number, key, text = meta
    context = CONTEXTS.all.get(number)
    mine = None if context is None else context.passes.get(key)
    if mine is not None:
        mine.fail(RuntimeError(text))


def backward(context_id: int, roots: Sequence[Tensor], retain_graph: bool = False) -> None:
    """Run the backward of the context from ``roots``, scalars, through all processes. The gradients of leaves are in
    the context of the process where the leaf is (``get_gradients``), not in ``.grad``.
    """
    CONTEXTS.get(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for root in roots:
        if not isinstance(root, Tensor):
            raise TypeError(f"backward(): incompatible function arguments: roots are tensors, and one is {root!r}")
        if not requires_grad(root):
            raise RuntimeError("requires_grad not set on root")
        if root.numel() != 1:
            raise RuntimeError(f"{root} is not a scalar, all roots need to be scalar")
    agent = agents.current()
    mine = _pass(context_id, agent.unique(), retain_graph)
    edges = [edge_of(root) for root in roots]
    workers = sorted(mine.prepare(edges))
    ends = [agent.call(worker, "autograd.finish", (context_id, mine.key), None, 0) for worker in workers]
    over = _first_error(ends, workers)
    with mine.lock:
        mine.add(edges, [np.ones_like(root._wg_data) for root in roots])
        mine.advance()
    try:
        over.wait()
    except BaseException as error:
        for worker in workers:  # the others wait for gradients that will not come
            agent.call_later(worker, "autograd.abort", (context_id, mine.key, str(error)))
        raise


def _first_error(futures: Sequence[Future[Any]], workers: Sequence[int]) -> Future[None]:
    """A future that is done when all are, or when one has failed."""
    over: Future[None] = Future()
    lock, left = threading.Lock(), len(futures)

    def one(future: Future[Any], worker: int) -> None:
        nonlocal left
        error = None
        try:
            future.value()
        except Exception as failure:
            error = RuntimeError(f"Error on Node {worker}: {failure}")
            error.__cause__ = failure
        with lock:
            left -= 1
            if over.done() or (left and error is None):
                return
            over._complete(None, error)

    for future, worker in zip(futures, workers, strict=True):
        future.add_done_callback(partial(one, worker=worker))
    return over
