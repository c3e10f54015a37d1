"""What the HTML page shows of a run, beside the findings: it is collected here. This rule finds nothing.

The graph, its gradients and times in detailed windows: the last snapshot for each place that calls ``backward()``. The
norms of gradients at every step of every optimizer, thinned out as a run becomes long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...arrays.flags import IGNORED, quieten, restore
from ..nodes import clock
from ..rule import Rule
from ..snapshot import Snapshot, labelled, norm

if TYPE_CHECKING:
    from ...graph.interceptors import Call
    from ..record import Backward, Event, Record, Step

#: How many places with a ``backward()`` have a snapshot at most, and how many steps of an optimizer norms.
PLACES = 4
COLUMNS = 64


class Norms:
    """The norms of the gradients that one optimizer stepped with: a column of numbers for each step in ``steps``."""

    def __init__(self, optimizer: Any) -> None:
        self.kind = type(optimizer).__name__
        self.names: list[str] = []
        self.steps: list[int] = []
        self.columns: list[list[float | None]] = []
        self.stride = 1
        self._count = -1

    def take(self, record: Record, step: Step) -> None:
        """Take in a step that is about to be made."""
        number = step.made.steps
        parameters = [p for group in step.optimizer.param_groups for p in group["params"]]
        if len(parameters) != self._count:
            known = {id(p): label for p, _, label in labelled(record)}
            self._count = len(parameters)
            self.names = [known.get(id(p)) or record.name_of(p) or f"parameter {i}" for i, p in enumerate(parameters)]
        self.steps.append(number)
        quiet = quieten(IGNORED)
        self.columns.append([None if (meta := p._wg_meta) is None or (grad := meta.grad) is None
            else norm(grad._wg_data) for p in parameters])
        restore(quiet)
        if len(self.steps) > COLUMNS:
            self.stride *= 2
            self.steps, self.columns = self.steps[::2], self.columns[::2]


class Picture(Rule):
    """Collects what the page shows."""

    in_windows = ("gradient", "backward_begins", "backward_ended")

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        record.picture = self
        self.snapshots: dict[Any, Snapshot] = {}  # by the place of backward()
        self.norms: dict[int, Norms] = {}  # by the row of the optimizer in Record.optimizers
        self._calls: dict[Any, list[int]] = {}  # (site, name) of all calls: how many, nanoseconds
        self._before: dict[Any, dict[Any, list[int]]] = {}  # by the place of backward(): the same when it began
        self._now: Snapshot | None = None

    def called(self, event: Event, call: Call, result: Any) -> None:
        time = self.record.here.took
        key = event.site, event.name
        row = self._calls.get(key)
        if row is None:
            row = self._calls[key] = [0, 0]
        row[0] += 1
        row[1] += time
        if event.recorded:
            edge = getattr(event.tensor(), "_wg_edge", None)
            if edge is not None:
                edge[0].__dict__["_wg_forward"] = time

    def backward_begins(self, backward: Backward) -> None:
        if backward.captured or not backward.inspected:
            return
        self._now = Snapshot(self.record, backward)
        before = self._before.get(backward.site, {})
        self._before[backward.site] = {key: list(row) for key, row in self._calls.items()}
        for key, (count, time) in self._calls.items():
            old = before.get(key, (0, 0))
            if count > old[0]:
                self._now.calls[key] = [count - old[0], time - old[1]]

    def gradient(self, node: Any, grads: Any, raw: bool) -> None:
        if self._now is not None:
            self._now.gave(node, grads, clock() - self.record.here.since)

    def backward_ended(self, backward: Backward) -> None:
        now, self._now = self._now, None
        if now is None:
            return
        now.ended()
        if backward.site in self.snapshots or len(self.snapshots) < PLACES:
            self.snapshots.pop(backward.site, None)  # the last one shall come last
            self.snapshots[backward.site] = now

    def step_begins(self, step: Step) -> None:
        norms = step.made.notes.get("picture")
        if norms is None:
            norms = step.made.notes["picture"] = Norms(step.optimizer)
            self.norms[self.record.optimizers.index(step.made)] = norms
        if not step.made.steps % norms.stride:
            norms.take(self.record, step)
