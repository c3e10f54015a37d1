"""What happens while a profiler is on: operators, backward steps and labelled blocks become events.

The recorder is an observer of the modes (see ``graph.modes``), so a program without a profiler pays nothing: operators
take their fast paths. It follows the thread or async task that switched it on.
"""

from __future__ import annotations

import itertools
import re
import sys
import threading
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ..arrays import memory
from ..graph.engine import below
from ..graph.modes import change, modes
from ..graph.node import NodeHooks
from ..tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.node import Node

FUNCTION, BACKWARD, USER = 0, 1, 7  # scopes, with PyTorch's numbers


class _Thread(threading.local):
    """A small number for each thread that was recorded, from 1."""

    numbers = itertools.count(1)

    def __init__(self) -> None:
        self.number = next(self.numbers)


_thread = _Thread()


class Event:
    """Something that is being, or has been, recorded. Times in nanoseconds, ``bytes``: allocated less freed."""

    __slots__ = (
        "allocated", "bytes", "concrete", "dtypes", "end", "flops", "fwd_thread", "name", "parent", "scope", "seq", "shapes", "stack", "start",
        "thread", "thread_at_end",
    )  # fmt: skip

    def __init__(self, name: str, scope: int, parent: Event | None) -> None:
        self.name, self.scope, self.parent = name, scope, parent
        self.thread = self.thread_at_end = _thread.number
        self.start = self.end = self.bytes = self.flops = 0
        self.seq, self.fwd_thread = -1, 0
        self.shapes: Any = None
        self.dtypes: Any = None
        self.concrete: Any = None
        self.stack: Any = None
        self.allocated: int | None = None


class Recorder:
    """One profile while it is taken."""

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False, flops: bool = False) -> None:
        self.shapes, self.memory, self.stack, self.flops = shapes, memory, stack, flops
        self.events: list[Event] = []
        self.on = False
        self.collecting = True
        self._open = threading.local()  # the events that a thread is in, outermost first
        self._rest = 0  # bytes allocated when the last event ended
        self._makers: dict[int, int] = {}  # sequence number -> the thread of the forward

    # -- on and off ---------------------------------------------------------------------------------------------------

    def begin_recording(self) -> None:
        """Watch this thread or task from now on."""
        from ._creation_watch import watch_creation

        self.start = perf_counter_ns()
        self.on = True
        self._rest = self._allocated()
        change(observers=(*modes().observers, self))
        watch_creation()

    def end_recording(self) -> None:
        """Watch no longer."""
        from ._creation_watch import unwatch_creation

        self.on = False
        self.end = perf_counter_ns()
        observers = modes().observers
        if self in observers:
            change(observers=tuple(o for o in observers if o is not self))
        unwatch_creation()

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
        if inputs is not None and self.shapes:
            describe(event, inputs)
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
        around = event.parent
        if event.seq >= 0 and event.scope == FUNCTION and around is not None and around.seq < 0 and around.scope == FUNCTION:
            around.seq = event.seq  # an operator made of others has the number of its first step

    def _between(self, allocated: int) -> None:
        """Memory that came or went outside of all events."""
        event = Event("[memory]", FUNCTION, None)
        event.start = event.end = perf_counter_ns()
        event.bytes, event.allocated = allocated - self._rest, allocated
        self.events.append(event)

    # -- operators ----------------------------------------------------------------------------------------------------

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """An operator's call, recorded."""

        def recorded(op: Any, args: Any, out: Any, m: Any) -> Any:
            if not (self.on and self.collecting):
                return call(op, args, out, m)
            event = self.begin(event_name(op), FUNCTION, args)
            try:
                answer = call(op, args, out, m)
                self._made(event, args, answer)
                return answer
            finally:
                self.finish(event)

        return recorded

    def inplace(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call of an operator's in-place form, recorded."""

        def recorded(op: Any, args: Any, m: Any) -> Any:
            if not (self.on and self.collecting):
                return call(op, args, m)
            event = self.begin(event_name(op) + "_", FUNCTION, args)
            try:
                answer = call(op, args, m)
                self._made(event, (), answer)
                return answer
            finally:
                self.finish(event)

        return recorded

    def custom(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call of a custom ``Function``, recorded."""

        def recorded(cls: Any, separate: bool, args: Any, seen: bool) -> Any:
            if not (self.on and self.collecting):
                return call(cls, separate, args, seen)
            event = self.begin(cls.__name__, FUNCTION, args)
            try:
                answer = call(cls, separate, args, seen)
                self._made(event, args, answer)
                return answer
            finally:
                self.finish(event)

        return recorded

    def composite(self, name: str, define: Callable[..., Any]) -> Callable[..., Any]:
        """The call of an operator that is made of others, recorded around theirs."""
        return self.function("aten::" + name, define, 1)

    def function(self, name: str, call: Callable[..., Any], skip: int = 0) -> Callable[..., Any]:
        """``call`` recorded as an operator; its first ``skip`` arguments are none of the user's."""

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if not (self.on and self.collecting):
                return call(*args, **kwargs)
            event = self.begin(name, FUNCTION, (*args[skip:], *kwargs.values()))
            try:
                answer = call(*args, **kwargs)
                if self.flops:
                    event.flops = flops(name, args[skip:], answer)
                return answer
            finally:
                self.finish(event)

        return recorded

    def _made(self, event: Event, args: Any, answer: Any) -> None:
        """Note the number of the step that an operator has left on the tape."""
        first = answer[0] if isinstance(answer, (tuple, list)) and answer else answer
        edge = getattr(first, "_edge", None)
        if edge is not None and not any(first is a for a in args):
            event.seq = edge[0]._sequence_nr()
            self._makers[event.seq] = event.thread
        if self.flops:
            event.flops = flops(event.name, args, answer)

    # -- the backward -------------------------------------------------------------------------------------------------

    def watch(self, walk: Callable[..., None], roots: Any, space: Any, *rest: Any) -> None:
        """Run ``walk`` with every node's work recorded: PyTorch's two events for each, one in the other."""
        if not (self.on and self.collecting):
            walk(roots, space, *rest)
            return
        thread = threading.get_ident()
        current: list[Any] = [None, None]  # the node being evaluated, and its event

        def enter(node: Node) -> None:
            if current[0] is not node and threading.get_ident() == thread:
                leave()
                current[:] = node, self.begin(f"autograd::engine::evaluate_function: {shown(node)}", FUNCTION, None, number(node))
                current[1].fwd_thread = self._makers.get(current[1].seq, 0)

        def leave() -> None:
            if current[1] is not None:
                self.finish(current[1])
                current[:] = None, None

        timed = []
        try:
            for node in below(edge for edge, _ in roots):
                timed.append((node, {m: node.__dict__[m] for m in _METHODS if m in node.__dict__}))
                self._time(node, enter, thread)
            walk(roots, space, *rest)
        finally:
            leave()
            for node, before in timed:
                for method in _METHODS:
                    node.__dict__.pop(method, None)
                node.__dict__.update(before)
                if isinstance(node.hooks, _Arrival):
                    node.hooks = node.hooks.inner

    def _time(self, node: Node, enter: Callable[[Node], None], thread: int) -> None:
        """Have the node tell when it is reached and when it works."""
        # The functions below hand the gradient on without keeping it: a gradient that nobody else sees is not copied.
        name, seq = shown(node), number(node)

        def begin(g: Any) -> Event:
            enter(node)
            event = self.begin(name, BACKWARD, g if type(g) is list else (g,), seq)
            event.fwd_thread = self._makers.get(seq, 0)
            return event

        def timed(method: Callable[..., Any]) -> Callable[..., Any]:
            def run(g: Any, *needs: Any) -> Any:
                if threading.get_ident() != thread:
                    return method(g, *needs)
                event = begin(g)
                box = [g]
                del g
                try:
                    return method(box.pop(), *needs) if needs else method(box.pop())
                finally:
                    self.finish(event)

            return run

        node.__dict__.update({method: timed(getattr(node, method)) for method in _METHODS})
        if node.hooks is not None:
            node.hooks = _Arrival(node.hooks, enter)


_METHODS = ("raw", "partial", "recorded")


class _Arrival(NodeHooks):
    """The hooks of a node, whose first call tells that the node has been reached."""

    __slots__ = ("enter", "inner")

    def __init__(self, inner: NodeHooks, enter: Callable[[Node], None]) -> None:
        self.tensor, self.retain, self.pre, self.post = inner.tensor, inner.retain, inner.pre, inner.post
        self.inner, self.enter = inner, enter

    def arrive(self, node: Node, g: Any, space: Any) -> Any:
        self.enter(node)
        return self.inner.arrive(node, g, space)

    def before(self, node: Node, g: Any, space: Any) -> Any:
        return self.inner.before(node, g, space)

    def after(self, node: Node, grads: Any, g: Any, space: Any) -> Any:
        return self.inner.after(node, grads, g, space)


# -- names ------------------------------------------------------------------------------------------------------------

_names: dict[str, str] = {
    "cast": "aten::to", "copy": "aten::copy", "assign": "aten::copy", "drawn_from": "aten::bernoulli", "drawn_from_two": "aten::normal",
    "unique": "aten::_unique2", "cross_entropy_index": "aten::cross_entropy_loss", "layer_norm_over": "aten::native_layer_norm",
    "basic_index": "aten::slice", "basic_scatter": "aten::slice_scatter", "masked_scale": "aten::_masked_scale",
}  # fmt: skip


def event_name(op: Any) -> str:
    """``aten::mul``. A variant of an operator is called as its backward step is: ``sum_dim`` is ``aten::sum``."""
    name = _names.get(op.name)
    if name is None:
        known = op.name
        if not op.places:
            known = re.sub(r"Backward\w*$", "", op.node_name)
            known = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", known).lower()
        name = _names[op.name] = "aten::" + known
    return name


def shown(node: Node) -> str:
    """PyTorch's name of a node in a profile."""
    name = node.name()
    return f"torch::autograd::{name}" if name in ("AccumulateGrad", "CopySlices") else name


def number(node: Node) -> int:
    """The sequence number that a node shares with its forward; a leaf has none."""
    return -1 if type(node).__name__ == "AccumulateGrad" else node._sequence_nr()


# -- facts about a call -----------------------------------------------------------------------------------------------

_TYPES = {"f4": "float", "f8": "double", "f2": "c10::Half", "i8": "long int", "i4": "int", "i2": "short int", "i1": "signed char",
          "u1": "unsigned char", "b1": "bool", "c8": "c10::complex<float>", "c16": "c10::complex<double>"}  # fmt: skip


def describe(event: Event, inputs: Any) -> None:
    """Note the shapes and types of the arguments: an empty shape for what is no tensor."""
    shapes: list[Any] = []
    dtypes: list[str] = []
    concrete: list[Any] = []
    for v in inputs:
        a = v._data if isinstance(v, Tensor) else v
        if hasattr(a, "dtype") and hasattr(a, "shape"):
            shapes.append(list(a.shape))
            dtypes.append(_TYPES.get(a.dtype.str[1:], str(a.dtype)))
            concrete.append(None)
        else:
            listed = isinstance(v, (list, tuple))
            shapes.append([])
            dtypes.append("" if v is None else ("TensorList" if v and isinstance(v[0], Tensor) else "ScalarList") if listed else "Scalar")
            concrete.append(v if isinstance(v, (int, float, bool, str)) else None)
    event.shapes, event.dtypes, event.concrete = shapes, dtypes, concrete


_OURS = __file__[: -len("autograd/_recorder.py")]
_MACHINERY = tuple(_OURS + part for part in ("tensor", "graph", "ops", "autograd", "profiler")) + ("<wengert ",)


def python_stack() -> list[tuple[Any, int]]:
    """The code and lines that this call stands in, innermost first, from the first that is not our machinery."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_MACHINERY):
        frame = frame.f_back  # type: ignore[assignment]
    rows = []
    while frame is not None:
        rows.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return rows


def flops(name: str, args: Any, answer: Any) -> int:
    """The floating point operations of a matrix product, convolution, sum or product; 0 for other operators."""
    out = getattr(answer, "_data", None)
    tensors = [v._data for v in args if isinstance(v, Tensor)]
    if out is None or not tensors:
        return 0
    kind = name.removeprefix("aten::").rstrip("_")
    if kind in ("mul", "add"):
        return int(tensors[0].size)
    if kind in ("mm", "bmm", "matmul", "linear", "mv", "dot"):
        return 2 * int(out.size) * int(tensors[0].shape[-1] if tensors[0].ndim else 1)
    if kind in ("addmm", "baddbmm", "addmv") and len(tensors) > 1:
        return 2 * int(out.size) * int(tensors[1].shape[-1])
    if kind in ("conv1d", "conv2d", "conv3d") and len(tensors) > 1:
        return 2 * int(out.size) * int(tensors[1][0].size)
    return 0
