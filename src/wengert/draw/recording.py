"""What is noted while a drawn program runs: the line and the modules of each node, and norms of gradients."""

from __future__ import annotations

import threading
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from ..arrays.flags import IGNORED, quieten, restore
from ..diagnose.nodes import Watch
from ..diagnose.places import recorder
from ..diagnose.record import ByIdentity
from ..diagnose.snapshot import norm_at
from ..graph import anomaly
from ..graph.node import next_sequence
from ..nn.modules import module as hooks

if TYPE_CHECKING:
    from ..nn import Module

NORMS = "_draw_norms"  # in the dictionary of a node: the norms of the gradients that it gave, an entry for each edge


calls: ByIdentity[list[int]] = ByIdentity()  # of a module: the numbers of nodes at which its calls have begun


def call_of(module: Module, number: float) -> int:
    """In the how-manieth call of a module that was recorded the node with this number was made; 0: in none."""
    return bisect_right(calls.get(module) or [], -number)


class _Here(threading.local):
    """What a thread is in: the modules that are running."""

    def __init__(self) -> None:
        self.modules: list[Module] = []


class recording(Watch):
    """A context in which nodes are made that know their lines and modules, and walks note the norms of gradients.

    ``draw`` shows what it finds; where a diagnosis is on, that has noted lines already.

    >>> import wengert as torch
    >>> with torch.draw.recording():
    ...     x = torch.ones(2, requires_grad=True)
    ...     y = (x * x).sum()
    >>> len(torch.draw(y).graph.items)
    4
    """

    def __init__(self) -> None:
        self._here = _Here()
        self.made = recorder(self._here)
        self._handles: list[Any] = []
        self._on = False

    def __enter__(self) -> recording:
        self._on = anomaly.watch is None
        if self._on:
            anomaly.set_watch(self)
        self._handles = [hooks.register_module_forward_pre_hook(self._begins),
            hooks.register_module_forward_hook(self._ended, always_call=True)]
        return self

    def __exit__(self, *exc: object) -> None:
        if self._on:
            anomaly.set_watch(None)
        for handle in self._handles:
            handle.remove()
        self._here.modules.clear()

    def _begins(self, module: Module, args: Any) -> None:
        self._here.modules.append(module)
        begun = calls.get(module)
        if begun is None:
            calls.put(module, begun := [])
        begun.append(-next_sequence())

    def _ended(self, module: Module, args: Any, output: Any) -> None:
        running = self._here.modules
        for i in range(len(running) - 1, -1, -1):
            if running[i] is module:
                del running[i:]
                return

    # -- what the engine asks of who watches nodes ---------------------------------------------------------------------

    def running(self, node: Any) -> None:
        """The walk has come to ``node``."""

    def check(self, node: Any, grads: Any, raw: bool, g: Any = None) -> None:
        """``node`` gave ``grads``."""
        if node.is_leaf or grads is None:
            return
        quiet = quieten(IGNORED)
        try:
            node.__dict__[NORMS] = tuple(None if e is None or x is None else norm_at(x, e)
                for x, e in zip(grads, node.edges))
        finally:
            restore(quiet)
