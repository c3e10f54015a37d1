"""What the engine tells about nodes: where they were made, and what walks give."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .places import user_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from .watching import Watching


class NodeWatch:
    """What the engine tells about nodes: see ``graph.anomaly``."""

    def __init__(self, watching: Watching) -> None:
        self.watching, self.record = watching, watching.record
        self.rules, self.passing = watching.told("gradient"), watching.told("passed")

    def made(self, node: Any) -> None:
        """A node has been made."""
        facts = node.__dict__
        facts["_wg_site"] = user_site()
        modules = self.record.here.modules
        if modules:
            facts["_wg_modules"] = tuple(modules)

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
        return self.record.here.node

    def leave(self, before: Any) -> None:
        """It has ended."""
        self.record.here.node = before

    def running(self, node: Any) -> None:
        """The walk has come to ``node``."""
        here = self.record.here
        here.node = node
        if node.is_leaf:
            self.watching.arrives(node, here.backward)
        if self.record.detailed:
            here.since = perf_counter_ns()

    def check(self, node: Any, grads: Any, raw: bool, g: Any = None) -> None:
        """What ``node`` gave for ``g``."""
        for tell in self.rules:
            try:
                tell(node, grads, raw)
            except Exception as error:
                self.watching.failure(tell, error)
        for tell in self.passing:
            try:
                tell(node, g, grads, raw)
            except Exception as error:
                self.watching.failure(tell, error)

    def failed(self) -> None:
        """The walk has raised."""
        here = self.record.here
        self.record.failed_node = here.node
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
