"""What the engine tells about nodes: where they were made, and what walks give."""

from __future__ import annotations

import sys
from time import get_clock_info, perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any

from ..graph.engine import current_node
from .places import recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from .watching import Watching

#: Nanoseconds that this thread has computed: where other programs are busy it waits, and the time on the wall would be
#: that of any operation at all. (Where the system counts in ticks, it is the time on the wall.)
clock = thread_time_ns if get_clock_info("thread_time").resolution <= 1e-6 else perf_counter_ns


class Watch:
    """What the engine asks of who watches nodes, with nothing to say to it: see ``graph.anomaly``."""

    made: Callable[[Any], None]  # called for every node

    def maker(self, kind: Any) -> Callable[[], Any]:
        """A function that makes a node of a class."""
        made = self.made

        def make() -> Any:
            node = kind()
            made(node)
            return node

        return make

    def beside(self, mode: Any) -> Any:
        """This one, or one that stands for it and anomaly mode."""
        return self if mode is None else Both(self, mode)

    def enter(self) -> Any:
        """A walk begins."""

    def leave(self, before: Any) -> None:
        """It has ended."""

    def failed(self) -> None:
        """The walk has raised."""


class NodeWatch(Watch):
    """What the engine tells about nodes: see ``graph.anomaly``."""

    def __init__(self, watching: Watching) -> None:
        self.watching, self.record = watching, watching.record
        self._all = watching.told("gradient"), watching.told("passed")
        self._light = tuple(watching.told(name, light=True) for name in ("gradient", "passed"))
        self.made = recorder(self.record.here)
        self._plain: set[type] = set()  # classes of nodes that nobody wants to be told of outside of windows
        self.running: Callable[[Any], None]
        self.check: Callable[..., Any]
        self.detail(False)

    def detail(self, detailed: bool) -> None:
        """A detailed window begins or ends."""
        self.detailed = detailed
        self.rules, self.passing = self._all if detailed else self._light
        self.running = self._running if detailed else self._leaf
        self.check = self._check if detailed else self._rarely

    def _running(self, node: Any) -> None:
        """The walk has come to ``node``."""
        self._leaf(node)
        self.record.here.since = clock()

    def _leaf(self, node: Any) -> None:
        """The same, outside of windows."""
        if node.is_leaf:
            self.watching.arrives(node)

    def _check(self, node: Any, grads: Any, raw: bool, g: Any = None) -> bool:
        """What ``node`` gave for ``g``; whether anybody wants to be told of such nodes."""
        wanted = False
        if node.is_leaf:
            return wanted
        try:
            for tell in self.rules:
                wanted |= tell(node, grads, raw) is not False
            for tell in self.passing:
                wanted |= tell(node, g, grads, raw) is not False
        except Exception as error:
            self.watching.failure(tell, error)
        return wanted

    def _rarely(self, node: Any, grads: Any, raw: bool, g: Any = None) -> None:
        """The same, outside of windows."""
        if node.__class__ not in self._plain and not self._check(node, grads, raw, g):
            self._plain.add(node.__class__)

    def failed(self) -> None:
        """The walk has raised."""
        here = self.record.here
        self.record.fails(sys.exc_info()[1], current_node())
        if here.backward is not None:
            here.backward.failed = True


class Both:
    """A watch and anomaly mode as one."""

    def __init__(self, watch: Any, mode: Any) -> None:
        self.parts = (watch, mode)

    def __getattr__(self, name: str) -> Any:
        parts = [getattr(part, name) for part in self.parts]

        def call(*args: Any) -> None:
            for part in parts:
                part(*args)

        return call

    def maker(self, kind: Any) -> Callable[[], Any]:
        """A function that makes a node of a class."""

        def make() -> Any:
            node = kind()
            self.made(node)
            return node

        return make

    def enter(self) -> Any:
        """A walk begins."""
        return [part.enter() for part in self.parts]

    def leave(self, before: Any) -> None:
        """It has ended."""
        for part, state in zip(self.parts, before):
            part.leave(state)
