"""``train-evaluation`` without ``no_grad``: a trained model is called in training mode, and no backward ever comes for
what it gives; or one that a file has filled is called so, and this program trains nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, ValuesView
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.engine import current_node
from ....graph.modes import modes
from ....nn import Module
from ....tensor import Tensor
from ...findings import Finding
from ...places import called_by_library, place, user_site
from ...record import ByIdentity
from ...rule import Rule
from .. import outputs
from .modes import differs, measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...places import Site
    from ...record import Backward, Event, Record
    from ...watching import Watching

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
                or (made.train_site is not None and made.mode_step == record.step_count
                    and made.train_site not in record.notes.get("trained", ()))):
            return  # train() was called for this: dropout is wanted
        given = next((x._wg_data for x in args if isinstance(x, Tensor)), None)
        known = self.calls.get(key)
        if known is not None and given is not None and known.given() is given and known.step == record.step_count:
            self._trained(key)  # the same input again: Monte Carlo
            return
        # nothing is iterated over that could run out by it, or be of another mind about what its parts are
        rows = output.values() if isinstance(output, Mapping) else output
        rows = rows if isinstance(rows, (tuple, list, ValuesView)) else (rows,)
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


class Loaded(Rule):
    """Watches the calls of models that ``load_state_dict`` has filled, in a program that trains none."""

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.filled: ByIdentity[bool] = ByIdentity()
        self.calls: dict[Site, Call] = {}
        self.over = False  # whether there is nothing to say

    def begins(self, watching: Watching) -> None:
        """Note which models are filled."""
        watching.around(Module.load_state_dict, self._filling)

    def _filling(self, original: Any) -> Any:
        def call(module: Module, state: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(module, state, *args, **kwargs)
            if not self.over and not called_by_library() and not self._copies(state):
                self.filled.put(module, True)
            return found

        return call

    def _copies(self, state: Any) -> bool:
        """Whether what a model is filled with is what another one of the program has now, as for a target network."""
        first = next((v._wg_data for v in state.values() if isinstance(v, Tensor)), None)
        return type(first) is np.ndarray and any(np.shares_memory(p._wg_data, first) for root in self.record.roots()
            for p in root.parameters() if type(p._wg_data) is np.ndarray)

    def module_called(self, module: Any, args: Any, output: Any, site: Site | None) -> None:
        record = self.record
        if self.over or not len(self.filled) or record.here.modules or site is None or current_node():
            return
        parts = [m for m in module.modules() if self.filled.get(m)]
        made = [record.modules.get(m) for m in (module, *parts)]
        if not parts or any(m is not None and m.train_site is not None for m in made):
            return  # train() was called: dropout is wanted
        given = next((x._wg_data for x in args if isinstance(x, Tensor)), None)
        known = self.calls.get(site)
        if known is not None and given is not None and known.given() is given:
            self.over = True  # the same input again: Monte Carlo
            return
        if known is None:
            kinds = [kind for part in parts for kind in differs(part, True)]
            if not kinds:
                return
            known = self.calls[site] = Call(type(module).__name__, site, kinds)
        known.given = weakref.ref(given) if isinstance(given, np.ndarray) else known.given

    def failed(self, error: BaseException) -> None:
        """The program was left before it could train."""
        self.over = True

    def ended(self) -> Iterable[Finding]:
        record = self.record
        for call in () if self.over or record.optimizers or record.backward_count else self.calls.values():
            where = place(call.site)
            yield Finding("train-evaluation", where, f"{call.model}, filled by load_state_dict(), is evaluated in "
                "training mode, in which a new module begins: dropout still drops, batch norms use the statistics of "
                "the batch, and what is evaluated changes their running ones.", "call model.eval() after "
                "load_state_dict()", [],
                [f"in training mode: {', '.join(call.kinds[:6])}"], "" if where is None or measured(where) else "info")
