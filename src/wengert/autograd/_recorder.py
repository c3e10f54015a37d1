"""What happens while a profiler is on: operators, backward steps and labelled blocks become events.

The recorder is an observer of the modes (see ``graph.modes``), so a program without a profiler pays nothing: operators
take their fast paths. It follows the thread or async task that switched it on.
"""

from __future__ import annotations

import itertools
import threading
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ..arrays import memory
from ..graph.engine import reachable_nodes
from ..graph.interceptors import Interceptor
from ..graph.modes import RECORD, SILENT, Modes, change, modes, set_modes
from ..graph.node import NodeHooks
from ..tensor.classes import PLAIN
from ..tensor.functions import function, inplace_function
from ..tensor.record import OpNode
from ._recorder_facts import flops, python_stack, remember
from ._recorder_names import ACCUMULATIONS, STEPS, event_name, inner, named, product_name
from ._recorder_rules import WatchedNamespace, unwatched

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.interceptors import Call
    from ..graph.node import Node

_COUNTED = ("aten::mm", "aten::addmm", "aten::bmm")  # PyTorch counts their arithmetic, not that of what is around them
FUNCTION, BACKWARD, USER = 0, 1, 7  # scopes, with PyTorch's numbers


class _Thread(threading.local):
    """A small number for each thread that was recorded, from 1."""

    numbers = itertools.count(1)

    def __init__(self) -> None:
        self.number = next(self.numbers)


_thread = _Thread()


class Event:
    """Something that is being, or has been, recorded. Times in nanoseconds, ``bytes``: allocated less freed."""

    end = bytes = flops = fwd_thread = 0
    seq = -1
    inputs: Any = None  # what is remembered of the arguments: see ``remember``
    stack: Any = None
    allocated: int | None = None
    whole = True  # nothing was recorded inside
    steps: Any = None  # what PyTorch shows inside, if that depends on the call
    start: int
    thread_at_end: int

    def __init__(self, name: str, scope: int, parent: Event | None) -> None:
        self.name, self.scope, self.parent, self.thread = name, scope, parent, _thread.number


class Recorder(Interceptor):
    """One profile while it is taken."""

    labels = True  #: it takes the labels of ``record_function``

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False, flops: bool = False) -> None:
        self.shapes, self.memory, self.stack, self.flops = shapes, memory, stack, flops
        self.events: list[Event] = []
        self.on = False
        self.collecting = True
        self._open = threading.local()  # the events that a thread is in, outermost first
        self._rest = 0  # bytes allocated when the last event ended
        self._without: tuple[Any, Modes | None] = (None, None)  # the modes last seen, and those without this recorder
        self._makers: dict[int, int] = {}  # sequence number -> the thread of the forward

    # -- on and off ---------------------------------------------------------------------------------------------------

    def begin_recording(self) -> None:
        """Watch this thread or task from now on."""
        from ..dispatch.watch_functions import watch_functions

        self.start = perf_counter_ns()
        self.on = True
        self._rest = self._allocated()
        change(watchers=(*modes().watchers, self))
        watch_functions()

    def end_recording(self) -> None:
        """Watch no longer."""
        self.on = False
        allocated = self._allocated()
        if allocated != self._rest and not getattr(self._open, "stack", None):
            self._between(allocated)
        self.end = perf_counter_ns()
        self._without = (None, None)  # the modes refer to this recorder
        watchers = modes().watchers
        if self in watchers:
            change(watchers=tuple(w for w in watchers if w is not self))

    def _allocated(self) -> int:
        return memory.memory_allocated() if self.memory else 0

    # -- events -------------------------------------------------------------------------------------------------------

    def begin(self, name: str, scope: int = FUNCTION, inputs: Any = None, seq: int = -1) -> Event:
        """An event begins; ``inputs``: the operator's arguments."""
        here = self._open
        try:
            stack = here.stack
        except AttributeError:
            stack = here.stack = []
        event = Event(name, scope, stack[-1] if stack else None)
        event.seq = seq
        if stack:
            stack[-1].whole = False
        if inputs is not None and self.shapes:
            event.inputs = remember(inputs)
        if self.stack:
            event.stack = python_stack()
        if self.memory:
            allocated = memory.memory_allocated()
            if not stack and allocated != self._rest:
                self._between(allocated)
            event.bytes = -allocated
        stack.append(event)
        self.events.append(event)
        event.start = perf_counter_ns()
        return event

    def finish(self, event: Event) -> None:
        """An event ends, perhaps in another thread or out of turn."""
        event.end = perf_counter_ns()
        event.thread_at_end = _thread.number
        if self.memory:
            self._rest = event.allocated = memory.memory_allocated()
            event.bytes += self._rest
        stack = getattr(self._open, "stack", None)
        if stack:
            if stack[-1] is event:
                stack.pop()
            elif event in stack:
                stack.remove(event)
        if event.whole and (event.steps is not None or event.name in STEPS):
            self._inside(event, event.steps)
        around = event.parent
        if (event.seq >= 0 and event.scope == FUNCTION and around is not None and around.seq < 0
                and around.scope == FUNCTION):
            around.seq = event.seq  # an operator made of others has the number of its first step

    def _inside(self, event: Event, steps: Any = None) -> None:
        """The steps that PyTorch takes in such an operator."""

        def add(name: str, start: int, end: int, around: Event, works: bool) -> Event:
            step = Event(name, FUNCTION, around)
            step.start, step.end, step.stack, step.thread, step.thread_at_end = (start, end, event.stack, event.thread,
                event.thread_at_end)
            step.allocated = event.allocated
            if works:
                step.bytes, step.inputs = around.bytes, around.inputs
                if name in _COUNTED:
                    step.flops, event.flops = event.flops, 0
            self.events.append(step)
            return step

        inner(event, add, steps)

    def _between(self, allocated: int) -> None:
        """Memory that came or went outside of all events."""
        event = Event("[memory]", FUNCTION, None)
        event.start = event.end = perf_counter_ns()
        event.thread_at_end = event.thread
        event.bytes, event.allocated = allocated - self._rest, allocated
        self.events.append(event)

    # -- operators ----------------------------------------------------------------------------------------------------

    def applies_to(self, call: Call) -> bool:
        return self.on and self.collecting

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """A call, recorded."""
        if call.kind in ("operator", "inplace"):
            return self._operator(call, call_next)
        if call.kind == "apply":
            event = self.begin(call.op.__name__, FUNCTION, call.args)
            try:
                answer = call_next(call)
                self._made(event, call.args, answer)
                return answer
            finally:
                self.finish(event)
        seen = named(call.name)
        if seen is None:
            return call_next(call)
        event = self.begin(seen, FUNCTION, (*call.args, *call.kwargs.values()))
        try:
            answer = call_next(call)
            if self.flops:
                event.flops = flops(seen, call.args, answer)
            return answer
        finally:
            self.finish(event)

    def _operator(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """The call of an operator, or of its in-place form, recorded."""
        op, args, m = call.op, call.args, modes()
        name = event_name(op)
        if call.kind == "inplace":
            name = (name or f"aten::{op.name}").rstrip("_") + "_"
        elif name is None:
            return call_next(call)
        bare = self._bare(m, args) if call.out is None else None
        event = self.begin(name, FUNCTION, args)
        if name == "aten::matmul":
            event.steps = ([product_name(*(len(v._wg_data.shape) for v in args[:2]))], 0)
        try:
            if bare is None:
                answer = call_next(call)
            else:
                run = direct(op, "inplace" if call.kind == "inplace" else "call")
                set_modes(bare)
                try:
                    answer = run(args)
                finally:
                    set_modes(m)
            self._made(event, () if call.kind == "inplace" else args, answer)
            return answer
        finally:
            self.finish(event)

    def _bare(self, m: Modes, args: Any) -> Modes | None:
        """The modes without this recorder, if the operator can then take its fast path: times should be its
        own.
        """
        known = self._without
        if known[0] is not m:
            bare = m.with_(watchers=()) if m.watchers == (self,) else m
            known = self._without = (m, bare if bare is RECORD or bare is SILENT else None)
        plain = known[1]
        if plain is not None:
            for v in args:
                if type(v) not in PLAIN and type(v) not in _PLAIN_ARGUMENTS:
                    return None
        return plain

    def _made(self, event: Event, args: Any, answer: Any) -> None:
        """Note the sequence number of the node that an operator recorded."""
        first = answer[0] if isinstance(answer, (tuple, list)) and answer else answer
        edge = getattr(first, "_wg_edge", None)
        if edge is not None and not any(first is a for a in args):
            event.seq = edge[0]._sequence_nr()
            self._makers[event.seq] = event.thread
        if self.flops:
            event.flops = flops(event.name, args, answer)

    # -- the backward -------------------------------------------------------------------------------------------------

    def walk(self, walk: Callable[..., None], roots: Any, namespace: Any, *rest: Any) -> None:
        """Run ``walk`` with every node's work recorded: PyTorch's two events for each, one in the other."""
        if not (self.on and self.collecting):
            walk(roots, namespace, *rest)
            return
        thread = threading.get_ident()
        current: list[Any] = [None, None]  # the node being evaluated, and its event

        def enter(node: Node) -> None:
            if current[0] is not node and threading.get_ident() == thread:
                leave()
                current[:] = (node,
                    self.begin(f"autograd::engine::evaluate_function: {shown(node)}", FUNCTION, None, number(node)))
                current[1].fwd_thread = self._makers.get(current[1].seq, 0)

        def leave() -> None:
            if current[1] is not None:
                self.finish(current[1])
                current[:] = None, None

        outer = getattr(namespace, "recorders", ())  # of a profile around this one
        if outer:
            outer.append(self)
        elif namespace.raw:
            namespace = WatchedNamespace(self)
        if len(roots) > 1:
            around = self.begin("autograd::engine::evaluate_function: torch::autograd::GraphRoot")
            self.finish(self.begin("torch::autograd::GraphRoot", BACKWARD))
            self.finish(around)
        needed = rest[1]
        method = "recorded" if not namespace.raw else "raw" if needed is None else "partial"
        timed = []
        try:
            for node in reachable_nodes(edge for edge, _ in roots):
                timed.append((node, node.__dict__.get(method)))
                self._time(node, method, enter, thread, None if outer else namespace)
            walk(roots, namespace, *rest)
        finally:
            leave()
            for node, before in timed:
                if before is None:
                    node.__dict__.pop(method, None)
                else:
                    node.__dict__[method] = before
                if isinstance(node.hooks, _Arrival):
                    node.hooks = node.hooks.inner
            if outer:
                outer.remove(self)
            elif namespace.raw:
                namespace.__dict__.clear()  # its functions refer to it

    def _time(self, node: Node, method: str, enter: Callable[[Node], None], thread: int, namespace: Any) -> None:
        """Time the node from its first hook and its rule; the rule runs in ``namespace``, if that is given."""
        # The function passes the gradient on without a reference: a gradient with one reference is not copied.
        original = getattr(node, method)
        if method != "recorded" and namespace is not None and isinstance(node, OpNode) and method not in node.__dict__:
            original = partial(timed_gradients, node, namespace)

        def run(g: Any, *needs: Any) -> Any:
            if threading.get_ident() != thread:
                return original(g, *needs)
            enter(node)
            seq = number(node)
            event = self.begin(shown(node), BACKWARD, g if type(g) is list else (g,), seq)
            event.fwd_thread = self._makers.get(seq, 0)
            leaf = getattr(node, "variable", None) if seq < 0 else None
            before, given = (None, 0) if leaf is None else (leaf.grad, id(getattr(g, "_wg_data", g)))
            box = [g]
            del g
            try:
                return original(box.pop(), *needs) if needs else original(box.pop())
            finally:
                self.finish(event)
                if leaf is not None and leaf.grad is not None and event.whole:
                    first = "kept" if id(leaf.grad._wg_data) == given else "copied"
                    self._inside(event,
                        ACCUMULATIONS[first if before is None else "recorded" if method == "recorded" else "added"])

        node.__dict__[method] = run
        if node.hooks is not None:
            node.hooks = _Arrival(node.hooks, enter)


def timed_gradients(node: Any, namespace: Any, g: Any, needs: Any = None) -> Any:
    """The result of the rule of ``node`` in that namespace, as plain arrays."""
    return unwatched(node._gradients(namespace, g, node.wanted if needs is None else needs))


class _Arrival(NodeHooks):
    """The hooks of a node; their first call marks that the node was reached."""

    __slots__ = ("enter", "inner")

    def __init__(self, inner: NodeHooks, enter: Callable[[Node], None]) -> None:
        self.tensor, self.retain, self.pre, self.post = inner.tensor, inner.retain, inner.pre, inner.post
        self.inner, self.enter = inner, enter

    def arrive(self, node: Node, g: Any, namespace: Any) -> Any:
        self.enter(node)
        return self.inner.arrive(node, g, namespace)

    def before(self, node: Node, g: Any, namespace: Any) -> Any:
        return self.inner.before(node, g, namespace)

    def after(self, node: Node, grads: Any, g: Any, namespace: Any) -> Any:
        return self.inner.after(node, grads, g, namespace)


# -- names ------------------------------------------------------------------------------------------------------------


def shown(node: Node) -> str:
    """PyTorch's name of a node in a profile."""
    name = node.name()
    return f"torch::autograd::{name}" if name in ("AccumulateGrad", "CopySlices") else name


def number(node: Node) -> int:
    """The sequence number that a node shares with its forward; a leaf has none."""
    return -1 if type(node).__name__ == "AccumulateGrad" else node._sequence_nr()


# -- the common path of an operator ----------------------------------------------------------------------------------

_PLAIN_ARGUMENTS = frozenset((int, float, bool, type(None), str))
_direct: dict[tuple[str, str], Any] = {}


def direct(op: Any, kind: str) -> Callable[[Any], Any]:
    """The public function of ``op``, or its in-place form, as a function of the tuple of all arguments."""
    found = _direct.get((op.name, kind))
    if found is None:
        f = function(op.name) if kind == "call" else inplace_function(op.name)
        plain = len(op.params) - op.kwonly
        if op.variadic:
            plain = op.params.index(op.variadic) + 1
        names = op.params[plain:]
        found = (lambda args: f(*args[:plain], **dict(zip(names, args[plain:])))) if names else (lambda args: f(*args))
        _direct[op.name, kind] = found
    return found
