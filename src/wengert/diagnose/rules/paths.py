"""Parameters that get no gradient: the cut on their way to the loss, frozen, or without a part in it.

In detailed windows the events of every loss are kept. When a window, or the program, ends, each parameter that should
learn and never got a gradient is looked for in what the losses were made of.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.modes import modes
from ...tensor import Tensor
from ..findings import Finding
from ..places import all_variables, place
from ..record import Event, node_place, told_apart
from ..rule import Rule
from .cuts import CREATIONS, Way, choice, custom, numbers, passes, verdict, words, zero
from .leaves import Leaves, Row, requires_grad
from .unreached import frozen, shown, unused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...graph.interceptors import Call
    from ..places import Place, Site
    from ..record import Backward, Record, Refused
    from ..watching import Watching

ROOTS = 16  # how many backwards are looked at
REOPENED = 2  # how often a backward that begins at a leaf opens a detailed window


class Paths(Rule):
    """The verdicts on parameters without gradients."""

    in_windows = ("backward_begins", "backward_ended", "step_begins")

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.leaves = Leaves(record)
        self.roots: list[tuple[Place | None, list[Event]]] = []
        self.looked = -1  # the number of steps before the last look after a backward
        self.later: deque[tuple[Place | None, list[Event]]] = deque(maxlen=8)
        self.uses: dict[Event, Event] = {}  # of leaves: the last call that took them
        self.conversions: list[Event] = []
        self.creations: list[Event] = []  # of numbers or arrays from nowhere
        self.operands: dict[Site, list[tuple[float, Event]]] = {}  # numbers from nowhere that are operands, by line
        self.owners: dict[Event, set[int]] = {}  # of losses: ids of the optimizers that stepped after their backward
        self.pending: list[Event] = []  # the losses of the backwards before the next step
        self.stepped = False
        self.written: set[int] = set()  # addresses of what was copied or averaged into after the first backward
        self.inner: set[Event] = set()  # those of them that ``grad()`` began from
        self.empty: list[tuple[Place | None, list[Event]]] = []  # backwards that gave no leaf but their root anything
        self.reopened = 0

    def begins(self, watching: Watching) -> None:
        self.watching = watching

    # -- what is noted ------------------------------------------------------------------------------------------------

    def called(self, event: Event, call: Call, result: Any) -> None:
        for before in event.inputs:
            if not before.inputs and before.recorded and not event.name.endswith("_"):
                self.uses[before] = event
        if event.kind == "function" and event.name in CREATIONS:
            if not event.inputs or len(event.inputs) < numbers(call.args[:1]):
                self.creations.append(event)
        elif event.site is not None and call.kind in ("operator", "inplace", "composite"):
            for v in call.args:
                if isinstance(v, (float, np.floating)) and not any(e.kind == "cut" for e in event.inputs):
                    self.operands.setdefault(event.site, []).append((float(v), event))
        if event.name in ("copy_", "lerp_", "add_", "set_", "copy") and len(event.inputs) > 1 and (
                self.record.backward_count):
            data = call.args[0]._wg_data if isinstance(call.args[0], Tensor) else None
            if type(data) is np.ndarray:
                self.written.add(data.__array_interface__["data"][0])

    def module_called(self, module: Any, args: Any, output: Any, site: Site | None) -> None:
        made = self.record.modules.get(module)
        if made is not None:
            made.notes.setdefault("called at", site)
            scope = None if modes().grad else self.record.scope()
            if scope is not None and scope.library and scope.place == place(site):
                made.notes.setdefault("hidden", scope)
            rows = made.notes.setdefault("called in", {})
            rows[self.record.step_count] = rows.get(self.record.step_count, 0) + _examples(args)

    def cut(self, event: Event, source: Any, result: Any) -> None:
        if self.record.detailed and not hasattr(result, "_wg_data"):
            self.conversions.append(event)
        if event.wanted and not event.inputs[0].inputs:
            self.uses.setdefault(event.inputs[0], event)

    def backward_begins(self, backward: Backward) -> None:
        if backward.detailed and backward.root:
            rows = self.roots if len(self.roots) < ROOTS else self.later
            rows.append((backward.place, backward.root))
            self.inner.update(backward.root if backward.captured else ())
            if self.stepped:
                self.pending, self.stepped = [], False
            self.pending += backward.root
        elif not backward.detailed and self.reopened < REOPENED and not backward.captured and (
                all(e[0].is_leaf for e, _ in backward.roots)):
            self.reopened += 1
            self.watching.again()

    def backward_ended(self, backward: Backward) -> None:
        if backward.detailed:
            own = [event.tensor() for event in backward.root]
            alone = all(t is not None and t._wg_edge is None for t in own) and backward.leaves <= {id(t) for t in own}
            if alone and own and not backward.captured and len(self.empty) < ROOTS:
                self.empty.append((backward.place, backward.root))
            if not backward.captured or self.record.step_count != self.looked:
                self.looked = self.record.step_count
                self.leaves.look(self._loose(backward.root))
            self.leaves.arrived(backward.leaves)

    def step_begins(self, step: Any) -> None:
        if step.detailed:
            self.stepped = True
            for event in self.pending:
                self.owners.setdefault(event, set()).add(id(step.made))
            self.leaves.look()

    def _loose(self, roots: list[Event]) -> list[Any]:
        """Of a program without optimizers: the leaves that a loss was made of."""
        if self.record.optimizers:
            return []
        found = (event.tensor() for event in Way(roots).events if event.recorded)
        return [t for t in found if t is not None and t._wg_edge is None and requires_grad(t)]

    # -- what is said -------------------------------------------------------------------------------------------------

    def window_ended(self) -> None:
        self.leaves.look()

    def failed(self, error: BaseException) -> Iterable[Finding]:
        refused = self.record.refused
        ours = bool(refused) and refused[-1].error == repr(error)
        if ours and "grad can be implicitly created" in str(error):
            return []  # it has a history
        if ours:
            self.leaves.look(self._loose(refused[-1].root))
            return self._refusal(refused[-1])
        text = str(error)
        if isinstance(error, AttributeError) and text.endswith("has no attribute 'backward'"):
            self.leaves.look()
            return self._number()
        if text.startswith("derivative for") or "the derivative for" in text:
            self.leaves.look()
            return self._underivable(self.record.failed_at(error), text)
        if "Inference tensors cannot be saved" in text:
            self.leaves.look()
            return self._inference()
        if isinstance(error, (AttributeError, TypeError)) and "NoneType" in text:
            self.leaves.look()
            return self.found()
        return []

    def _number(self) -> list[Finding]:
        """Why a loss is a number or an array: the last conversion of what parameters went into."""
        first: Cuts | None = None
        for event in reversed(self.conversions):
            way = Way((event,))
            cuts = Cuts(self, way)
            for row in self.leaves:
                if row.wanted and row.leaf is not None and (found := way.cuts(row.leaf)):
                    cuts.add(row, way.choose(found))
            if cuts.rows and all(cut is event for cut, _ in cuts.rows.values()):
                return cuts.findings()
            first = first or (cuts if cuts.rows else None)
        return first.findings() if first else []

    def _underivable(self, node: Any, text: str) -> list[Finding]:
        """Which parameters stand behind an operator that has no derivative."""
        where = None if node is None else node_place(node)
        if where is None or not self.record.backwards:
            return []
        way = Way(self.record.backwards[-1].root)
        cuts = Cuts(self, way)

        def meant(event: Event) -> bool:
            return event.place == where and event.name.rstrip("_") in text

        for row in self.leaves:
            found = None if row.leaf is None or not row.wanted else way.cuts(row.leaf, meant)
            if found and any(map(meant, found)):
                cuts.add(row, next(filter(meant, found)), "cut-nondifferentiable")
        return cuts.findings()

    def _inference(self) -> list[Finding]:
        """Which parameters went into tensors of inference mode."""
        cuts = Cuts(self, Way(self.uses.values()))
        for row in self.leaves:
            use = None if row.leaf is None else self.uses.get(row.leaf)
            if row.wanted and use is not None and use.off is not None and use.off.kind == "inference_mode":
                cuts.add(row, use, "cut-no-grad")
        return cuts.findings()

    def _refusal(self, refused: Refused) -> list[Finding]:
        """Why a backward could not begin."""
        way = Way(refused.root)
        cuts = Cuts(self, way)
        asked = set(refused.inputs)
        rows = [row for row in self._candidates(way) if not asked or row.leaf in asked]
        for row in rows:
            if row.wanted:
                cuts.explains(row)
        found = cuts.findings()
        if refused.detailed and all(f.id in ("cut-detach", "cut-data") for f in found) and all(
                row.got for _, behind in cuts.rows.values() for row in behind):  # they learn of another loss
            found = frozen(rows, list(self.leaves), way, True) or found
        if not found and not any(e.recorded for e in refused.root):
            found = frozen(rows, list(self.leaves), way, True) if refused.detailed else self._late(refused, rows)
        if not found:  # the loss is made of other parameters than those that shall learn
            for row in self.leaves:
                if row.wanted and row.leaf is not None and (places := way.cuts(row.leaf)):
                    cuts.add(row, way.choose(places))
            found = cuts.findings()
        return found

    def _late(self, refused: Refused, rows: list[Row]) -> list[Finding]:
        """Why a backward could not begin of which the forward pass was not traced: after the first steps, something
        was switched off.
        """
        wanted = [row for row in rows if row.wanted]
        if refused.off is None:
            return [] if wanted else frozen(rows, list(self.leaves), Way(self._losses()), True)
        cut = Event("backward", "operator", refused.site)
        cut.off = refused.off
        cuts = Cuts(self, Way((cut,)))
        for row in wanted:
            cuts.add(row, cut)
        return cuts.findings()

    def _losses(self) -> list[Event]:
        """What backwards of detailed windows began from."""
        return [event for _, events in (*self.roots, *self.later) for event in events]

    def ended(self) -> Iterable[Finding]:
        return self.found()

    def found(self) -> list[Finding]:
        """The findings on all parameters without gradients."""
        record = self.record
        roots = self._losses()
        refused = [event for row in record.refused if row.detailed for event in row.root]
        if not roots and not refused:
            return []
        way = Way((*roots, *refused))
        rows = self._candidates(way)
        replaced = self._replaced()
        missing = [row for row in rows if not row.got and id(row.ref()) not in replaced]
        cuts = Cuts(self, way)
        rest = [row for row in missing if row.wanted and not cuts.explains(row)]
        for row in rows:
            if row.got and row.wanted and row.zeros and not row.moved:
                cuts.explains(row, zeros=True)
        found = cuts.findings()
        found += [f for _, root in self.empty for f in self._switched(Way(root), rows)]
        learn = bool(roots) and any(row.got for row in self.leaves)
        held = [row for row in rows if row.wanted or not self.copied(row)]
        found += frozen(held, list(self.leaves), way, bool(refused) and not found)
        if learn:
            decided = [event for event in self.conversions[-1000:] if choice(event) is not None]
            found += unused([row for row in rest if cuts.absent(row)], list(self.leaves), self.uses, decided)
        return found

    def _switched(self, way: Way, rows: list[Row]) -> list[Finding]:
        """What cuts all parameters from a loss of which no leaf but itself gets a gradient, as some have got before."""
        cuts = Cuts(self, way)
        arrive = [row for row in rows if row.got and row.wanted and row.held and not cuts.explains(row)]
        return cuts.findings() if all(map(cuts.absent, arrive)) else []

    def _replaced(self) -> set[int]:
        """Ids of parameters that learn by other means than gradients: the program has put others in their place, and
        what is there now has no gradient either.
        """
        found: set[int] = set()
        for r in self.record.replacements:
            holder = r.holder()
            now = None if holder is None else holder._parameters.get(r.name)
            if now is not None and not ((facts := self.record.gradients.get(now)) is not None and facts.ever):
                found.update(id(p) for p in (ref() for ref in r.old) if p is not None and p is not now)
        return found

    def about_leaf(self, leaf: Any) -> list[Finding]:
        """Why one leaf has no gradient, for ``explain``."""
        if id(leaf) not in self.leaves.rows and self.record.events.get(leaf) is None:
            return []
        self.leaves.look([leaf])
        row = self.leaves.rows[id(leaf)]
        way = Way((*self._losses(), *(event for refused in self.record.refused for event in refused.root)))
        cuts = Cuts(self, way)
        if row.got or not way.roots:
            return []
        if cuts.explains(row):
            return cuts.findings()
        return unused([row], list(self.leaves), self.uses) if cuts.absent(row) else []

    def about_result(self, tensor: Any) -> list[Finding]:
        """Why a tensor has no history, for ``explain``."""
        event = self.record.events.get(tensor)
        if event is None:
            return []
        self.leaves.look()
        way = Way((event,))
        cuts = Cuts(self, way, loss=False)
        for row in self.leaves:
            if row.wanted and row.leaf is not None and (found := way.cuts(row.leaf)):
                cuts.add(row, way.choose(found))
        return cuts.findings()

    def computed(self) -> list[Event]:
        """The calls of which an operand is a number that differs from step to step, and not as a schedule's does."""
        found = []
        for (code, _), rows in self.operands.items():
            changes = np.diff([number for number, _ in rows])
            if len(rows) == 1 and rows[0][0] not in code.co_consts:
                found.append(rows[0][1])
            elif changes.size and changes.any() and (len(changes) == 1 or not np.allclose(changes, changes[0])):
                found += [event for _, event in rows]
        return found

    def unnamed(self) -> list[Event]:
        """The calls of which an operand is a number that is written nowhere, and that no variable has: it was computed,
        though it may be the same in every step, as one that comes of a parameter without a gradient is.
        """
        rows = [x for names in all_variables() for x in list(names.values())]
        own = [d for d in (getattr(x, "__dict__", None) for x in rows) if type(d) is dict]
        known = {v for v in (*rows, *(v for d in own for v in list(d.values()))) if isinstance(v, float)}
        return [e for (code, _), rows in self.operands.items() for number, e in rows
            if number not in known and number not in code.co_consts]

    def _candidates(self, way: Way) -> list[Row]:
        """The parameters that shall learn."""
        rows = list(self.leaves)
        if self.record.optimizers:
            return [row for row in rows if any(made.steps or self.record.refused for made, _ in row.held)]
        learning = {id(row.root) for row in rows if row.got}
        return [row for row in rows if row.root is None or not learning or id(row.root) in learning]

    def copied(self, row: Row) -> bool:
        """Whether it learns by other means than gradients: as an average, or a copy, of one that gets them."""
        mates = [other for other in self.leaves if row.chain and other.chain == row.chain] or [row]
        return any(map(self._copied, mates))

    def _copied(self, row: Row) -> bool:
        p = row.ref()
        if p is not None and type(p._wg_data) is np.ndarray and (
                p._wg_data.__array_interface__["data"][0] in self.written):
            return True
        return row.first is not None and any(other.first == row.first and other.shape == row.shape and other.got
            for other in self.leaves if other is not row)


def _examples(args: Any) -> int:
    """How many rows the first argument of a module has."""
    data = args[0]._wg_data if isinstance(args, tuple) and args and isinstance(args[0], Tensor) else None
    return data.shape[0] if type(data) is np.ndarray and data.ndim else 1


class Cuts:
    """Collects the cuts that explain parameters, with the parameters behind each."""

    def __init__(self, rule: Paths, way: Way, loss: bool = True) -> None:
        self.rule, self.way, self.loss = rule, way, loss
        self.rows: dict[tuple[str, Place | None], tuple[Event, list[Row]]] = {}
        self._open: list[tuple[Row, list[Event]]] = []  # rows, and the cuts that may explain them
        self._arriving: set[int] = set()
        self._own: dict[frozenset[int], Way] = {}  # the ways to the losses of some optimizers

    def explains(self, row: Row, zeros: bool = False) -> bool:
        """Whether a cut explains that ``row`` has no gradient, or only ``zeros``."""
        if row.leaf is None:
            return False
        cuts = self.way.cuts(row.leaf, zero) if zeros else self.way.cuts(row.leaf)
        if cuts is None and not zeros and row.held:
            cuts = self._outer.cuts(row.leaf) or None  # what grad() returned of an inner loss fills no .grad
        if cuts is None and not zeros:
            self._arriving.add(id(row))
            cuts = self.way.cuts(row.leaf, custom)
        if cuts is None:
            return False
        if not zeros and all(map(self.way.meant, cuts)):
            cuts = self._by_numbers(row.leaf) or cuts or self._by_choices(row.leaf)
        if not cuts:
            return False
        if zeros:
            cuts = [cut for cut in cuts if zero(cut)] or cuts
        elif len(cuts) > 1 and row.held:
            own = self._own_way(frozenset(id(made) for made, _ in row.held)).events
            cuts = [cut for cut in cuts if cut in own] or cuts
        if len(cuts) > 1 and not zeros:
            cuts = [cut for cut in cuts if verdict(cut, self.way) not in self._survived] or cuts
        self._open.append((row, cuts))
        return True

    def settle(self) -> None:
        """Choose a cut for each row: the rows that have one only decide which of them are named for the others."""
        order = {id(row): i for i, (row, _) in enumerate(self._open)}
        for row, cuts in sorted(self._open, key=lambda pair: len({verdict(cut, self.way) for cut in pair[1]})):
            known = [cut for cut in cuts if verdict(self.way.conversion(cut), self.way) in self.rows]
            self.add(row, self.way.choose(known or cuts))
        for _, rows in self.rows.values():
            rows.sort(key=lambda row: order.get(id(row), -1))
        self._open.clear()

    @cached_property
    def _outer(self) -> Way:
        """The ways to the losses that ``backward()`` began from."""
        return Way(self.way.roots - self.rule.inner)

    @cached_property
    def _survived(self) -> set[tuple[str, Place | None]]:
        """The cuts of parameters that get gradients all the same, as those of a rollout that wants none."""
        todo = [row.leaf for row in self.rule.leaves if row.got and row.leaf is not None]
        seen, found = set(todo), set()
        while todo:
            for user in self.way.users.get(todo.pop(), ()):
                if user not in seen:
                    seen.add(user)
                    if passes(user):
                        todo.append(user)
                    else:
                        found.add(verdict(user, self.way))
        return found

    def _own_way(self, optimizers: frozenset[int]) -> Way:
        """The ways to the losses after whose backward one of these optimizers stepped: a generator does not learn from
        the discriminator's loss, from which it is detached rightly.
        """
        if optimizers not in self._own:
            owners = self.rule.owners
            self._own[optimizers] = Way(root for root in self.way.roots if owners.get(root, optimizers) & optimizers)
        return self._own[optimizers]

    def add(self, row: Row, cut: Event, name: str = "") -> None:
        """Put a row behind a cut; ``name``: of the verdict."""
        found, where = verdict(cut, self.way)
        if found == "no-grad-training" and not self.loss:
            name = "cut-no-grad"
        self.rows.setdefault((name or found, where), (cut, []))[1].append(row)

    def absent(self, row: Row) -> bool:
        """Whether a row has no part in a loss."""
        return id(row) not in self._arriving

    def _by_numbers(self, leaf: Event) -> list[Event]:
        """Conversions of what ``leaf`` went into, from whose numbers a part of a loss may have been computed: one that
        was created in the same step after them, of numbers or arrays from nowhere.
        """
        made = [e for e in (*self.rule.creations, *self.rule.computed()) if e in self.way.events]
        found = []
        operands = [e for rows in self.rule.operands.values() for _, e in rows if e in self.way.events]
        made += [e for e in self.rule.unnamed() if e in self.way.events]
        for event in self.rule.conversions[-1000:]:
            direct = event.inputs[0] is leaf  # its own numbers are taken: any operand may be made of them
            if any(e.step == event.step and e.number > event.number for e in (*made, *(operands if direct else ()))):
                part = Way((event,))
                cuts = [cut for cut in part.cuts(leaf) or () if not part.meant(cut)]
                if cuts:
                    found.append(part.conversion(part.choose(cuts)))
        return found

    def _by_choices(self, leaf: Event) -> list[Event]:
        """A choice by what ``leaf`` went into that gave the program a number to go by, in the step of a loss."""
        steps = {root.step for root in self.way.roots}
        for event in self.rule.conversions[-1000:]:
            made = choice(event) if event.off is None and event.step in steps else None
            if made is not None and Way((made,)).cuts(leaf):
                return [made]
        return []

    def findings(self) -> list[Finding]:
        """One finding for each cut."""
        self.settle()
        found = []
        for (name, where), (cut, rows) in self.rows.items():
            rows = [row for row in rows if name not in ("cut-no-grad", "cut-detach", "cut-data") or (
                not self.rule.copied(row))]
            if rows:
                found.append(self._finding(name, where, cut, rows))
        return found

    def _finding(self, name: str, where: Place | None, cut: Event, rows: list[Row]) -> Finding:
        users = [user.place for row in rows[:1] if row.leaf is not None for user in self.way.users.get(row.leaf, ())]
        source = next((e for e in cut.inputs if e.inputs and e.recorded), None)
        names = shown(rows)
        what = names
        if source is not None and source.place is not None:
            at = "" if source.place == cut.place else f" at {source.place}"
            what = f"the result of {source.name}(){at}"
        message, fix = words(name, cut, what)
        many = "them" if len(rows) > 1 else "it"
        lost = f"{names} get{'s' if len(rows) == 1 else ''} no gradient" + ("" if self.loss else " from it")
        evidence = []
        if users and users[0] is not None:
            evidence.append(f"{users[0]}: {rows[0].label or 'the parameter'} is used here")
        if cut.place != where and cut.name != "backward":
            evidence.append(f"{cut.place}: what is computed of {many} here has no history")
        if self.loss:
            first = [] if cut.name == "backward" else self.rule.roots[:1]
            evidence += [f"{at}: backward() starts from a loss that is made of this" for at, _ in first]
            evidence += [f"{row.place}: backward() finds nothing that requires a gradient"
                for row in self.rule.record.refused if "does not require grad" in row.error][-1:]
        parameters = told_apart((row.name, row.label) for row in rows)
        severity = "info" if cut.library and all(map(self._theirs, rows)) else ""
        return Finding(name, where, f"{message}; {lost}.", fix, parameters, evidence, severity)

    def _theirs(self, row: Row) -> bool:
        """Whether a parameter belongs to a library's module, in a model that learns otherwise."""
        return row.library and any(other.got and other.root is row.root for other in self.rule.leaves)
