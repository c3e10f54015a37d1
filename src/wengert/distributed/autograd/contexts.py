"""Contexts: what each process remembers of one distributed forward, and the gradients of its leaves.

Where a tensor leaves for another process, that process' backward will come back: the context keeps its edge, by the
number of the message (a ``Sent``). Where it arrives, a node leads there (``RecvRpcBackward``).
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ...graph.modes import modes
from ...graph.node import Node, next_sequence
from ...tensor.autograd_meta import edge_of, requires_grad
from ..rpc import agent as agents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph.node import Edge
    from ...tensor.tensor import Tensor
    from .walk import Pass


@dataclass
class Sent:
    """Tensors that have left in one message: where their gradients go, and when they left, as nodes count."""

    seq: float
    edges: list[Edge | None]


class RecvRpcBackward(Node):
    """Tensors that have come in one message: their gradients go back to the worker ``source``."""

    __slots__ = ("context_id", "message", "source")

    context_id: int
    message: int
    source: int

    def name(self) -> str:
        return "torch::distributed::autograd::RecvRpcBackward"

    def raw(self, g: Any) -> NoReturn:
        raise RuntimeError("this backward comes to a tensor from another process, where it ends: run it with "
            "torch.distributed.autograd.backward(context_id, [loss])")

    def recorded(self, g: Any, needs: Any = None) -> NoReturn:
        self.raw(g)


class DistAutogradContext:
    """One forward, as this process has seen it."""

    def __init__(self, number: int) -> None:
        self.number, self.lock = number, threading.RLock()
        self.sent: dict[int, Sent] = {}
        self.workers: set[int] = set()  # which know of the context as well
        self.gradients: dict[Tensor, Tensor] = {}
        self.passes: dict[Any, Pass] = {}

    def _context_id(self) -> int:
        return self.number

    def _known_worker_ids(self) -> set[int]:
        return self.workers

    def _send_functions(self) -> dict[int, Sent]:
        return self.sent


class _Here(threading.local):
    context: DistAutogradContext | None = None


class Contexts(agents.Context):
    """All contexts of this process, and the one that each thread is in."""

    def __init__(self) -> None:
        self.here, self.lock = _Here(), threading.Lock()
        self.all: dict[int, DistAutogradContext] = {}
        self.numbers = itertools.count()

    def unique(self) -> int:
        """A number that no other process draws."""
        return agents.current().rank << 48 | next(self.numbers)

    def new(self) -> DistAutogradContext:
        """A new context."""
        made = DistAutogradContext(self.unique())
        self.all[made.number] = made
        return made

    def get(self, number: int) -> DistAutogradContext:
        """The context of a number; ``RuntimeError`` if there is none."""
        found = self.all.get(number)
        if found is None:
            raise RuntimeError(f"Could not find autograd context with id: {number}")
        return found

    def release(self, number: int) -> None:
        """Forget a context, here and wherever it is known."""
        with self.lock:
            found = self.all.pop(number, None)
        if found is not None and agents.is_set():
            agent = agents.current()
            for mine in list(found.passes.values()):
                mine.fail(RuntimeError(f"autograd context {number} has been left before its backward has ended"))
            for worker in found.workers - {agent.rank}:
                agent.call_later(worker, "autograd.release", number)

    # -- messages -----------------------------------------------------------------------------------------------------

    def current(self) -> DistAutogradContext | None:
        return self.here.context

    def enter(self, context: DistAutogradContext | None) -> DistAutogradContext | None:
        before, self.here.context = self.here.context, context
        return before

    def outgoing(self, context: DistAutogradContext | None, tensors: Sequence[Tensor], to: int) -> Any:
        if context is None:
            return None
        marked = tuple(i for i, t in enumerate(tensors) if requires_grad(t)) if modes().grad else ()
        message = None
        if marked:
            message = self.unique()
            edges = [edge_of(tensors[i]) for i in marked]
            context.sent[message] = Sent(next_sequence(), edges)
        context.workers.add(to)
        return context.number, message, marked

    def incoming(self, note: Any, tensors: Sequence[Tensor], source: int) -> DistAutogradContext | None:
        if note is None:
            return None
        number, message, marked = note
        with self.lock:
            context = self.all.get(number)
            if context is None:
                context = self.all[number] = DistAutogradContext(number)
        context.workers.add(source)
        if message is not None:
            _attach([tensors[i] for i in marked], number, message, source)
        return context


def _attach(tensors: list[Tensor], context_id: int, message: int, source: int) -> None:
    """Have the history of tensors begin with what has sent them."""
    node = RecvRpcBackward()
    node.edges, node.saved, node.hooks, node.seq = (), None, None, next_sequence()
    node.context_id, node.message, node.source = context_id, message, source
    arrays = [t._wg_data for t in tensors]
    if len(tensors) == 1:
        node.shape, node.dtype = arrays[0].shape, arrays[0].dtype
    else:
        node.outputs = len(tensors)
        node.shape, node.dtype = tuple(a.shape for a in arrays), tuple(a.dtype for a in arrays)
    for i, t in enumerate(tensors):
        t._wg_meta, t._wg_edge = None, (node, i)


CONTEXTS = Contexts()


@agents.handles("autograd.release", inline=True)
def _release(agent: agents.Agent, source: int, number: int, _: Any) -> None:
    CONTEXTS.release(number)
