"""What the engine tells about nodes: where they were made, and what walks give."""

from __future__ import annotations

import sys
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ..graph.engine import current_node
from .places import user_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from .watching import Watching


class NodeWatch:
    """What the engine tells about nodes: see ``graph.anomaly``."""

    def __init__(self, watching: Watching) -> None:
        self.watching, self.record = watching, watching.record
        self._all = watching.told("gradient"), watching.told("passed")
        self._light = tuple(watching.told(name, light=True) for name in ("gradient", "passed"))
        self.detail(False)

    def detail(self, detailed: bool) -> None:
        """A detailed window begins or ends."""
        self.detailed = detailed
        self.rules, self.passing = self._all if detailed else self._light

    def made(self, node: Any) -> None:
        """A node has been made."""
        facts = node.__dict__
        facts["_wg_site"] = user_site(2)
        modules = self.record.here.modules
        if modules:
            facts["_wg_modules"] = tuple(modules)

    def maker(self, kind: Any) -> Callable[[], Any]:
        """A function that makes a node of a class."""
        here = self.record.here

        def make() -> Any:
            node = kind()
            facts = node.__dict__
            facts["_wg_site"] = user_site(2)
            if here.modules:
                facts["_wg_modules"] = tuple(here.modules)
            return node

        return make

    def beside(self, mode: Any) -> Any:
        """This one, or one that stands for it and anomaly mode."""
        return self if mode is None else Both(self, mode)

    def enter(self) -> None:
        """A walk begins."""

    def leave(self, before: Any) -> None:
        """It has ended."""

    def running(self, node: Any) -> None:
        """The walk has come to ``node``."""
        if node.is_leaf:
            self.watching.arrives(node)
        if self.detailed:
            self.record.here.since = perf_counter_ns()

    def check(self, node: Any, grads: Any, raw: bool, g: Any = None) -> None:
        """What ``node`` gave for ``g``."""
        if node.is_leaf:
            return
        try:
            for tell in self.rules:
                tell(node, grads, raw)
            for tell in self.passing:
                tell(node, g, grads, raw)
        except Exception as error:
            self.watching.failure(tell, error)

    def failed(self) -> None:
        """The walk has raised."""
        here = self.record.here
        self.record.fails(sys.exc_info()[1], current_node())
        if here.backward is not None:
            here.backward.failed = True


class Both:
    """A watch and anomaly mode as one."""

    def __init__(self, watch: NodeWatch, mode: Any) -> None:
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
