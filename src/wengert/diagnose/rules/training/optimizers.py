"""Whether optimizers have what is trained: parameters that none has, and optimizers that have others."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....nn import Module, Parameter
from ....tensor import Tensor
from ...findings import Finding
from ...places import Place, assignment, place, place_of_error, variable
from ...record import ByIdentity, figure, shape_of, told_apart
from ...rule import Rule
from ..sources import made_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...places import Site
    from ...record import Backward, Gradient, Made, Record, Step

#: Outside of detailed windows, it is judged after these numbers of steps.
CHECKS = frozenset(5 * 2**e for e in range(40))


@dataclass
class Owner:
    """Where a parameter belongs: its ``name`` in ``root``; ``module`` has it itself. ``attribute``: that of ``keeper``
    that has it in a plain list or dict, or as a plain tensor, so that it is not registered.
    """

    name: str
    root: Any = None
    module: Any = None
    keeper: Any = None
    attribute: str = ""


@dataclass
class Lost:
    """A parameter that gets gradients and that no optimizer has, as it was when that was last seen."""

    leaf: weakref.ref[Any]
    id: str
    place: Place | None
    name: str
    message: str
    fix: str
    severity: str = ""
    evidence: list[str] = field(default_factory=list)
    made: int = 0  # of an optimizer that holds others
    label: str = ""  # the name, after that of the model where others have such a parameter


class Moving:
    """Whether the values of a tensor change from gradient to gradient: in ``changes`` of ``looks``; ``now``: a figure
    of them.
    """

    __slots__ = ("changes", "looks", "now", "when")

    def __init__(self, facts: Gradient) -> None:
        self.looks, self.changes, self.when, self.now = 0, 0, 1, facts.first

    def look(self, p: Any, facts: Gradient) -> None:
        """Look at them, if there was a gradient since."""
        if facts.ever > self.when:
            before, self.now, self.when = self.now, figure(p), facts.ever
            self.looks += 1
            self.changes += self.now != before


class Table:
    """Whose the parameters are, at one moment."""

    def __init__(self, record: Record) -> None:
        self.owners: dict[int, Owner] = {}
        self.roots = record.roots()
        for root in self.roots:
            for path, module in root.named_modules():
                for name, p in module._parameters.items():
                    if p is not None:
                        self.owners.setdefault(id(p), Owner(f"{path}.{name}" if path else name, root, module))
        self._plain(record)

    def _plain(self, record: Record) -> None:
        """Parameters that modules keep in plain lists, dicts and attributes."""
        seen: set[int] = set()
        for root in self.roots:
            for path, module in root.named_modules():
                if type(module).__module__.partition(".")[0] in ("torch", "wengert") or id(module) in seen:
                    continue
                seen.add(id(module))
                for key, value in list(vars(module).items()):
                    if isinstance(value, (list, tuple, dict, Tensor)) and not key.startswith("_"):
                        for name, p, home in _kept(value, f"{path}.{key}" if path else key, 3):
                            self._keep(p, Owner(name, root, home or module, module, key))

    def _keep(self, p: Any, owner: Owner) -> None:
        known = self.owners.get(id(p))
        if known is None or (known.root is not owner.root and not known.attribute and known.root is not owner.keeper):
            self.owners[id(p)] = owner


def _kept(value: Any, name: str, depth: int) -> Iterator[tuple[str, Any, Any]]:
    """The parameters in a plain list or dict: their names, themselves, and the modules that have them."""
    if isinstance(value, Module):
        for path, module in value.named_modules():
            for key, p in module._parameters.items():
                if p is not None:
                    yield ".".join(filter(None, (name, path, key))), p, module
    elif isinstance(value, Tensor):
        if _learns(value):
            yield name, value, None
    elif depth and isinstance(value, (list, tuple, dict)):
        rows = value.items() if isinstance(value, dict) else enumerate(value)
        for key, x in list(rows)[:1000]:
            if isinstance(x, (Module, Tensor, list, tuple, dict)):
                yield from _kept(x, f"{name}.{key}", depth - 1)


class Optimized(Rule):
    """``not-in-optimizer`` and ``optimizer-holds-other``."""

    in_windows = ("step_begins", "backward_ended")

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.held: ByIdentity[Made] = ByIdentity()  # what an optimizer has or had
        self.counts: dict[int, int] = {}  # how many groups of parameters an optimizer had
        self.sites: dict[int, Site | None] = {}  # where optimizers step
        self.fed: ByIdentity[bool] = ByIdentity()  # tensors that were given to modules
        self.lost: dict[int, Lost] = {}
        self.changes = self.soon = 0  # what was made or replaced so far; in how many of the next steps to judge
        self.labels: dict[int, str] = {}
        self.moving: ByIdentity[Moving] = ByIdentity()  # what gets gradients and no optimizer has
        self.by_hand = self.judged = False  # whether the program sets gradients itself; whether anything was judged

    def module_called(self, module: Any, args: Any, output: Any, site: Site | None) -> None:
        for x in args if isinstance(args, tuple) else ():
            if isinstance(x, Tensor) and _learns(x):
                self.fed.put(x, True)

    def backward_ended(self, backward: Backward) -> None:
        if backward.detailed:
            for p, facts in self.record.gradients.items():
                if id(p) in backward.leaves and self.held.get(p) is None:
                    self._moves(p, facts)

    def _moves(self, p: Any, facts: Gradient) -> bool:
        """Whether something changes ``p`` from gradient to gradient: it is no matter of these optimizers then."""
        row = self.moving.get(p)
        if row is None:
            self.moving.put(p, row := Moving(facts))
        row.look(p, facts)
        return row.now != facts.first and 2 * row.changes > row.looks

    def step_begins(self, step: Step) -> None:
        count = len(step.optimizer.param_groups)
        if self.counts.get(id(step.made)) != count or step.detailed:
            self.counts[id(step.made)] = count
            self.sites.setdefault(id(step.made), step.site)
            self._hold(step.made)

    def _hold(self, made: Made) -> None:
        optimizer = made.object()
        for group in () if optimizer is None else optimizer.param_groups:
            for p in group["params"]:
                if self.held.get(p) is None:
                    self.held.put(p, made)
                self.lost.pop(id(p), None)

    def step_ended(self, step: Step) -> None:
        record = self.record
        changes = len(record.replacements) + len(record.copies) + len(record.made_tensors)
        if changes != self.changes:
            self.changes, self.soon = changes, 3
        if (step.detailed or self.soon or record.step_count in CHECKS) and record.backward_count > 1:
            self.soon = max(self.soon - 1, 0)
            self.judged = True
            self._judge()

    def ended(self) -> Iterable[Finding]:
        for made in self.record.optimizers:
            self._hold(made)
        if self.record.step_count and not self.judged:
            self._judge(1 if self.record.backward_count == 1 else 2)  # not later: models may be gone by now
        first: dict[int, Lost] = {}  # one optimizer that holds others, one finding, at the first of its lines
        for row in self.lost.values():
            if row.made and (row.made not in first or _line(row) < _line(first[row.made])):
                first[row.made] = row
        for row in self.lost.values():
            root = first.get(row.made)
            if root is not None and root.place != row.place:
                root.evidence.append(row.message)
                row.place, row.message = root.place, root.message
        for row in self.lost.values():
            mates = [other for other in self.lost.values() if (other.id, other.place) == (row.id, row.place)]
            names = told_apart((other.name, other.label) for other in (row, *(m for m in mates if m is not row)))
            yield Finding(row.id, row.place, row.message, row.fix, names[: bool(row.name)], row.evidence, row.severity)

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        if not isinstance(error, ValueError) or "empty parameter list" not in str(error):
            return None
        rows = [o for o in Table(self.record).owners.values() if o.attribute]
        where = place_of_error(error)
        if not rows:
            return [Finding("not-in-optimizer", where, "The optimizer gets no parameters at all.", "pass "
                "model.parameters(); a generator can be gone through only once")]
        where = _list_place(rows[0]) or where
        return [Finding("not-in-optimizer", where, _unregistered(rows[0]), _REGISTER, [o.name for o in rows])]

    # -- what is lost -------------------------------------------------------------------------------------------------

    def _judge(self, least: int = 2) -> None:
        """Note what gets gradients, in ``least`` backwards or more, and is in no optimizer; what is in one by now is
        forgotten.
        """
        record = self.record
        for made in record.optimizers:
            self._hold(made)
        leaves = [(p, facts) for p, facts in record.gradients.items()
            if facts.ever >= least and self.held.get(p) is None and _learns(p)]
        if not leaves:
            return
        table, idle = Table(record), self._idle()
        self.labels = record.labels()
        order = {key: i for i, key in enumerate(table.owners)}
        for p, facts in sorted(leaves, key=lambda row: order.get(id(row[0]), -1)):
            if facts.by_hand or facts.captured or self._moves(p, facts):
                self.lost.pop(id(p), None)
                continue
            owner = table.owners.get(id(p), Owner(record.name_of(p)))
            late = {**idle, **self._deserted(facts.last)} if facts.last > 1 else idle
            found = self._other(p, owner, late, table) or self._forgotten(p, owner, table)
            if found is not None:
                self.lost[id(p)] = found
            else:
                self.lost.pop(id(p), None)

    def _idle(self) -> dict[int, tuple[Any, Made]]:
        """Parameters of optimizers that have never had a gradient."""
        found = {}
        for p, made in self.held.items():
            facts = self.record.gradients.get(p)
            if facts is None or not facts.ever:
                if p._wg_meta is not None and p._wg_meta.grad is not None:
                    self.by_hand = True
                elif made.steps:
                    found[id(p)] = p, made
        return found

    def _deserted(self, last: int) -> dict[int, tuple[Any, Made]]:
        """Parameters that had gradients once, but none in the backward of this number or since, though their optimizer
        has stepped.
        """
        found = {}
        before = next((b.step for b in self.record.backwards if b.number == last), 0)
        stepped = {id(step.made) for step in self.record.steps if step.number > before}
        for p, made in self.held.items():
            facts = self.record.gradients.get(p)
            if facts is not None and facts.ever and facts.last < last and id(made) in stepped:
                found[id(p)] = p, made
        return found

    # -- optimizers that hold others ----------------------------------------------------------------------------------

    def _other(self, p: Any, owner: Owner, idle: dict[int, tuple[Any, Made]], table: Table) -> Lost | None:
        """``p``, if it stands in the place of one that an optimizer has."""
        if not idle or self.by_hand:
            return None
        for r in reversed(self.record.replacements):
            if any(new is p for new in r.new()):
                old = next((idle[id(q)] for q in (ref() for ref in r.old) if q is not None and id(q) in idle), None)
                if old is not None:
                    return self._holds(p, owner, r.place, old[1], f"what is called {r.name!r} was replaced at "
                        f"{r.place}, after the optimizer had taken its parameters")
        copied = self.record.copies.get(p)
        original = None if copied is None else copied[0]()
        for _ in range(8):  # a copy of a copy
            if copied is None or original is None:
                break
            if id(original) in idle:
                return self._holds(p, owner, place(copied[1]), idle[id(original)][1],
                    f"the model is a copy, made at {place(copied[1])}, of the one whose parameters the optimizer has")
            before = self.record.copies.get(original)
            original = None if before is None else before[0]()
        if (taken := self._copy(p, idle, table)) is not None:
            return self._holds(p, owner, None, taken, f"it was given a copy of {owner.name or 'a tensor'}")
        if owner.root is None:
            return self._leaf_again(p, owner, idle, table)
        return self._orphaned(p, owner, idle, table) or self._made_again(p, owner, idle, table)

    def _copy(self, p: Any, idle: dict[int, tuple[Any, Made]], table: Table) -> Made | None:
        """The optimizer that has a tensor, of no model, that was made of ``p``."""
        for q, made in idle.values():
            copied, event = self.record.copies.get(q), self.record.events.get(q)
            if id(q) in table.owners:
                continue
            if copied is not None and copied[0]() is p:
                return made
            for _ in range(4):  # detach(), clone(), requires_grad_()
                event = event.inputs[0] if event is not None and len(event.inputs) == 1 else None
                if event is not None and event.tensor() is p:
                    return made
        return None

    def _leaf_again(self, p: Any, owner: Owner, idle: dict[int, tuple[Any, Made]], table: Table) -> Lost | None:
        """The plain tensor ``p``, if it was computed from one that an optimizer has, or has taken its variable."""
        event = self.record.events.get(p)
        todo, seen = [] if event is None else list(event.inputs), 0
        while todo and seen < 16:
            before = todo.pop(0)
            seen += 1
            q = before.tensor()
            if q is not None and id(q) in idle and id(q) not in table.owners:
                where = None if event is None else event.place
                return self._holds(p, owner, where, idle[id(q)][1], f"{owner.name or 'a tensor'} was "
                    f"made anew at {where}")
            todo += before.inputs
        nameless = [made for q, made in idle.values() if shape_of(q) == shape_of(p) and id(q) not in table.owners
            and not variable(q)]
        if not nameless or not owner.name:
            return None
        where = None if event is None else event.place
        return self._holds(p, owner, where, nameless[0], f"{owner.name} is another tensor now than the one that it has")

    def _orphaned(self, p: Any, owner: Owner, idle: dict[int, tuple[Any, Made]], table: Table) -> Lost | None:
        """``p``, if it was made when the optimizer of the rest of its model had one that no model has any more."""
        where = place(self.record.made_tensors.get(p))
        made = next((made for q in owner.root.parameters() if (made := self.held.get(q)) is not None), None)
        if made is None or not any(m is made and id(q) not in table.owners for q, m in idle.values()):
            return None
        at = "" if where is None else f" at {where}"
        return self._holds(p, owner, where, made, f"{owner.name} was made{at} in the place of a parameter that the "
            "optimizer has")

    def _made_again(self, p: Any, owner: Owner, idle: dict[int, tuple[Any, Made]], table: Table) -> Lost | None:
        """``p``, if its model is like one whose parameters an optimizer has, all of them without gradients."""
        if any(self.held.get(q) is not None for q in owner.root.parameters()):
            return None
        shape = shape_of(p)
        like = [(q, made) for q, made in idle.values() if shape_of(q) == shape and self._belongs(q, owner, table)]
        if not like:
            return None
        made = like[0][1]
        if any(id(q) not in idle for q in _of(made)):
            return None  # the optimizer trains something else
        root = self.record.modules.get(owner.root)
        where = None if root is None else root.place
        if root is None or root.site is None or made.site is None or root.site[0] is not made.site[0] or (
                root.site[1] <= made.site[1]):
            where = None  # not made after it, in the same function
        text = "" if root is None or root.site is None else f" (made at {root.place})"
        return self._holds(p, owner, where, made, f"the model that is trained{text} is another one than that whose "
            "parameters the optimizer has")

    def _belongs(self, q: Any, owner: Owner, table: Table) -> bool:
        """Whether the module of ``q`` is gone, or is another of the same class as that of ``owner``."""
        other = table.owners.get(id(q))
        return other is None or (other.name == owner.name and type(other.root) is type(owner.root))

    def _holds(self, p: Any, owner: Owner, where: Place | None, made: Made, why: str) -> Lost:
        kind = type(made.object()).__name__
        evidence = [f"the optimizer was made at {made.place}"] if made.place is not None else []
        if where is None:
            where = self._construction(made)
        return Lost(weakref.ref(p), "optimizer-holds-other", where, owner.name, f"{kind} updates tensors "
            f"that the model does not use: {why}. The parameters that get the gradients are never updated.",
            "make the optimizer after the model has its final parameters, or add the new ones with add_param_group()",
            "", [*evidence, "what the optimizer has instead gets no gradients"], id(made),
            self._label(p, owner))

    # -- parameters that none has -------------------------------------------------------------------------------------

    def _forgotten(self, p: Any, owner: Owner, table: Table) -> Lost | None:
        if owner.root is not None and not owner.module.training:
            return None  # used as it is
        if owner.attribute:
            return self._lost(p, owner, _list_place(owner), _unregistered(owner), _REGISTER)
        if owner.root is None:
            return self._loose(p, owner)
        if self.by_hand:
            return None
        mine = [made for q in owner.root.parameters() if (made := self.held.get(q)) is not None]
        if mine:
            made = max(set(mine), key=mine.count)
            return self._lost(p, owner, self._construction(made), "Parameters of the model get gradients, but no "
                f"optimizer has them: {type(made.object()).__name__} was given others of the same model only.",
                "give it model.parameters(), or switch the gradients of what shall not learn off "
                "(requires_grad_(False))", "error" if self._whole(owner, made) else "warning")
        if not any(id(q) in table.owners for q, _ in self.held.items()):
            return None  # a picture or the like is optimized, through a model
        made = self._nearest(p)
        return self._lost(p, owner, self._construction(made), f"{type(owner.root).__name__} is trained with the rest: "
            "its parameters get gradients, but no optimizer has them.", "give the optimizer the parameters of both "
            "models: itertools.chain(a.parameters(), b.parameters()), or [*a.parameters(), *b.parameters()]")

    def _whole(self, owner: Owner, made: Made) -> bool:
        """Whether ``made`` has parameters that are not all below one child of the root: no choice of a head."""
        children = {name.partition(".")[0] for name, q in owner.root.named_parameters() if self.held.get(q) is made}
        return len(children) > 1

    def _loose(self, p: Any, owner: Owner) -> Lost | None:
        """A tensor that belongs to no module."""
        if self.fed.get(p) or not self.record.optimizers:
            return None
        gradient = None if p._wg_meta is None else p._wg_meta.grad
        used = gradient is not None and self.record.events.get(gradient) is not None
        made = self._nearest(p)
        beside = any(not isinstance(q, Parameter) for q in _of(made))
        if used and not beside:
            return None
        sure = isinstance(p, Parameter) or beside
        name = owner.name or "A tensor with requires_grad"
        return self._lost(p, owner, self._construction(made), f"{name} gets gradients, but no optimizer has it.",
            "add it to what the optimizer is given, or leave requires_grad out", "" if sure else "info")

    def _nearest(self, p: Any) -> Made:
        """The optimizer that was meant, perhaps: one whose parameters another has too, or that gets gradients in the
        same backward, or the last.
        """
        rows = [made for made in self.record.optimizers if made.object() is not None] or self.record.optimizers
        owners: dict[int, Made] = {}
        for made in rows:
            mine = [id(q) for q in _of(made)]
            twin = next((owners[key] for key in mine if key in owners), None)
            if twin is not None:
                return self._stepped(p, (twin, made))
            owners.update(dict.fromkeys(mine, made))
        leaves = next((b.leaves for b in reversed(self.record.backwards) if id(p) in b.leaves), set())
        return next((made for made in rows if any(id(q) in leaves for q in _of(made))), rows[-1])

    def _stepped(self, p: Any, rows: tuple[Made, ...]) -> Made:
        """Of optimizers of the same parameters, the one that steps when these have got no gradients; else the one that
        steps first after a backward has given ``p`` one; else the last.
        """
        before: dict[int, set[int]] = {}  # by the number of steps before: the leaves that backwards gave gradients
        for b in self.record.backwards:
            before.setdefault(b.step, set()).update(b.leaves)
        steps = [step for step in self.record.steps if any(step.made is row for row in rows)]
        for row in rows:
            mine = {id(q) for q in _of(row)}
            if not any(step.made is row and before.get(step.number - 1, mine) & mine for step in steps):
                return row
        return next((step.made for step in steps if id(p) in before.get(step.number - 1, ())), rows[-1])

    def _construction(self, made: Made) -> Place | None:
        return made_at(made) or place(self.sites.get(id(made)))

    def _lost(self, p: Any, owner: Owner, where: Place | None, message: str, fix: str, severity: str = "") -> Lost:
        facts = self.record.gradient_of(p)
        known = {b.number: b for b in self.record.backwards}
        last = next((known[n] for n in reversed(facts.filled) if n in known), None)
        evidence = [] if last is None else [f"they get gradients in the backward at {last.place}"]
        made = self.record.made_tensors.get(p)
        if owner.keeper is None and made is not None:
            evidence.append(f"{self._label(p, owner) or 'it'} was made at {place(made)}")
        return Lost(weakref.ref(p), "not-in-optimizer", where, owner.name, message, fix, severity, evidence,
            label=self._label(p, owner))

    def _label(self, p: Any, owner: Owner) -> str:
        return owner.name if owner.attribute else self.labels.get(id(p), owner.name)


_REGISTER = ("keep layers in nn.ModuleList or nn.ModuleDict, and tensors in nn.Parameter or nn.ParameterList, so that "
    "parameters() has them")


def _unregistered(owner: Owner) -> str:
    name = f"{type(owner.keeper).__name__}.{owner.attribute}"
    value = vars(owner.keeper).get(owner.attribute)
    if isinstance(value, Tensor):
        return f"{name} is a plain tensor, no nn.Parameter: parameters() does not have it, and so no optimizer does."
    return (f"{name} is a plain {type(value).__name__}: what is in it is not registered, so that parameters() does not "
        "have it, and no optimizer does.")


def _list_place(owner: Owner) -> Place | None:
    return assignment(type(owner.keeper), owner.attribute)


def _learns(t: Any) -> bool:
    """Whether a tensor is a leaf that requires gradients."""
    return t._wg_edge is None and t._wg_meta is not None and t._wg_meta.requires_grad


def _line(row: Lost) -> tuple[str, int]:
    return ("", 0) if row.place is None else (row.place.file, row.place.line)


def _of(made: Made) -> list[Any]:
    """The parameters of an optimizer."""
    optimizer = made.object()
    return [] if optimizer is None else [p for group in optimizer.param_groups for p in group["params"]]
