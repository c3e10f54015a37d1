"""``train-evaluation`` without ``no_grad``: a trained model is called in training mode, and no backward ever comes for
what it gives.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.engine import current_node
from ...graph.modes import modes
from ...tensor import Tensor
from ..findings import Finding
from ..places import place, user_site
from ..rule import Rule
from . import outputs
from .modes import differs, measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..places import Site
    from ..record import Backward, Event, Record

PENDING = 64  # outputs whose backward may still come


@dataclass
class Call:
    """A line where a model is called in training mode; ``kinds``: what in it has modes; ``step``: when it was so."""

    model: str
    site: Site
    kinds: list[str]
    step: int = 0
    given: Callable[[], Any] = lambda: None  # the array that it was given last, while that is alive


class GradEvaluation(Rule):
    """Watches what trained models give, in and outside of detailed windows."""

    in_windows = ("backward_begins",)

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.trains: set[tuple[int, int]] = set()  # lines whose results a backward has come for, or a loss was made of
        self.calls: dict[tuple[int, int], Call] = {}  # lines of which that is not known
        self.pending: list[tuple[weakref.ref[Any], tuple[int, int]]] = []
        self.results: dict[int, tuple[Event, tuple[int, int]]] = {}  # in this window, by id: the event of a result
        outputs.listeners.append(self._called)

    def module_called(self, module: Any, args: Any, output: Any, site: Site | None) -> None:
        if not self.record.here.modules and site is not None and modes().grad:
            self._called(module, args, output, site)

    def _called(self, module: Any, args: Any, output: Any, site: Site | None = None) -> None:
        """A whole model has given ``output``; outside of detailed windows too."""
        record = self.record
        site = site or user_site()
        if site is None or not module.training or (key := (id(site[0]), site[1])) in self.trains:
            return
        made = record.modules.get(module)
        if (not record.step_count or made is None or record.here.backward is not None or current_node()
                or (made.train_site is not None and made.mode_step == record.step_count)):
            return  # train() was called for this: dropout is wanted
        given = next((x._wg_data for x in args if isinstance(x, Tensor)), None)
        known = self.calls.get(key)
        if known is not None and given is not None and known.given() is given and known.step == record.step_count:
            self._trained(key)  # the same input again: Monte Carlo
            return
        rows = output.values() if isinstance(output, dict) else output
        rows = (rows,) if isinstance(rows, Tensor) or not isinstance(rows, Iterable) else rows
        recorded = [(t, t._wg_edge[0]) for t in rows if isinstance(t, Tensor) and t._wg_edge is not None]
        if not recorded or len(self.pending) >= PENDING:
            return
        if key not in self.calls:
            generates = record.notes.get("generates", lambda module: False)
            kinds = differs(module, True) if self._learns(module) and not generates(module) else []
            if not kinds:
                self.trains.add(key)
                return
            self.calls[key] = Call(type(module).__name__, site, kinds)
        self.calls[key].step = record.step_count
        if isinstance(given, np.ndarray):
            self.calls[key].given = weakref.ref(given)
        for t, node in recorded:
            self.pending.append((weakref.ref(node), key))
            event = self.record.events.get(t) if self.record.detailed else None
            if event is not None:
                self.results[id(event)] = event, key

    def _learns(self, module: Any) -> bool:
        """Whether gradients have come to most of its parameters, and an optimizer has them."""
        held = {id(p) for p in self.record.held_parameters()}
        rows = [p for p in module.parameters() if id(p) in held]
        got = [p for p in rows if (facts := self.record.gradients.get(p)) is not None and facts.ever]
        return 2 * len(got) > len(rows)

    def backward_begins(self, backward: Backward) -> None:
        """Results that a loss is made of, in whatever way, are no evaluation."""
        if not self.results:
            return
        todo, seen = list(backward.root), set[int]()
        while todo and len(seen) < 5000:
            event = todo.pop()
            if id(event) in seen:
                continue
            seen.add(id(event))
            if id(event) in self.results:
                self._trained(self.results[id(event)][1])
            todo += event.inputs

    def backward_ended(self, backward: Backward) -> None:
        if not self.pending:
            return
        kept = bool(backward.options.get("retain_graph") or backward.options.get("create_graph"))
        rest = []
        for ref, key in self.pending:
            node = ref()
            if kept or (node is not None and outputs.walked(node)):
                self._trained(key)
            elif node is not None:
                rest.append((ref, key))  # its backward may come later
        self.pending = [row for row in rest if row[1] not in self.trains]

    def _trained(self, key: tuple[int, int]) -> None:
        self.trains.add(key)
        self.calls.pop(key, None)

    def window_ended(self) -> None:
        self.results.clear()

    def failed(self, error: BaseException) -> None:
        """The program was left before it could call backward."""
        for _, key in self.pending:
            self.calls.pop(key, None)

    def ended(self) -> Iterable[Finding]:
        outputs.listeners.remove(self._called)
        for call in self.calls.values():
            where = place(call.site)
            yield Finding("train-evaluation", where, f"{call.model} is evaluated in training mode: no backward() comes "
                "for what it gives here, where dropout still drops, batch norms use the statistics of the batch, and "
                "evaluation data changes their running ones.", "call model.eval() before the evaluation, and "
                "model.train() after it; torch.no_grad() saves the graph", [], [f"in training mode: "
                f"{', '.join(call.kinds[:6])}"], "" if where is None or measured(where) else "info")
