"""Parameters that are frozen, or that have no part in any loss."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from ..findings import Finding
from ..places import LIBRARY, Place, kind_of, place, variable
from ..record import told_apart
from ..rule import Rule
from ..statements import files_with, tree
from .sources import made_at, origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..record import Event, Made
    from .cuts import Way
    from .leaves import Row


NAME = "requires_grad"


def shown(rows: list[Row]) -> str:
    """The names of some parameters, in a sentence."""
    names = [row.label or f"a tensor of shape {row.shape}" for row in rows]
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


# -- frozen ------------------------------------------------------------------------------------------------------------


def frozen(rows: list[Row], leaves: list[Row], way: Way, refused: bool) -> list[Finding]:
    """Parameters of an optimizer that require no gradient; all of those that a loss uses, if it was ``refused``."""
    still = [row for row in rows if row.held and not row.wanted]
    still = [row for row in still if row.leaf in way.events] if refused else [row for row in still if not row.got]
    nothing = refused or not any(row.got or row.wanted for row in rows if row.held)
    if refused and not still:
        used = [row for row in leaves if row.leaf in way.events]
        if used and not any(row.wanted for row in used):
            still, nothing = used, True
    groups: dict[tuple[Place | None, str], list[Row]] = {}
    for row in still:
        meant = _listed(row, rows, leaves) or _head(row, still, leaves, way) or _opened(row)
        severity = "error" if nothing else "warning" if meant else "info"
        where = place(row.frozen) or (made_at(row.held[0][0]) if row.held else place(row.made))
        groups.setdefault((where, severity), []).append(row)
    return [_frozen(where, severity, group) for (where, severity), group in groups.items()]


def _frozen(where: Place | None, severity: str, rows: list[Row]) -> Finding:
    evidence = []
    if rows[0].held and rows[0].held[0][0].site is not None:
        evidence.append(f"{rows[0].held[0][0].place}: the optimizer has {'them' if len(rows) > 1 else 'it'}")
    how = "requires_grad became False here" if rows[0].frozen else "requires_grad is False"
    cause = "so the loss has no history" if severity == "error" else (
        "so it never changes" if len(rows) == 1 else "so they never change")
    return Finding("frozen", where, f"{shown(rows)}: {how}, {cause}.", "Leave requires_grad at True for what shall "
        "learn; give the optimizer only the parameters that require gradients.",
        told_apart((r.name, r.label) for r in rows), evidence, severity)


def _listed(row: Row, rows: list[Row], leaves: list[Row]) -> bool:
    """Whether the program has given an optimizer this parameter on purpose: in a group of which all are frozen, or
    with a part of its model that is frozen, while other parts were left out.
    """
    made, index = row.held[0]
    if not any(other.wanted for other in rows if (made, index) in other.held):
        return True
    model = [other for other in leaves if row.root is not None and other.root is row.root]
    part = [other for other in model if other.chain[:2] == row.chain[:2]]
    return not all(other.held for other in model) and not any(other.wanted for other in part)


def _head(row: Row, still: list[Row], leaves: list[Row], way: Way) -> bool:
    """Whether only the last layer of a model is frozen, and gradients go through it to those before."""
    if not row.chain or any(other.chain != row.chain for other in still):
        return False
    mates = [other for other in leaves if other.root is row.root and other.chain != row.chain]
    at = _last_use(row, way)
    return 0 < at and all(_last_use(other, way) < at for other in mates) and any(other.got for other in mates)


def _opened(row: Row) -> bool:
    """Whether the program has set ``requires_grad`` of a module that has it, where that is an attribute like others."""
    modules = (made.object() for _, made in row.chain)
    return any(vars(m).get("requires_grad") is True for m in modules if m is not None)


def _last_use(row: Row, way: Way) -> int:
    """The number of the last recorded call that took it on the way to a loss; 0 without."""
    users = () if row.leaf is None else way.users.get(row.leaf, ())
    return max((user.number for user in users if user.recorded), default=0)


# -- unused ------------------------------------------------------------------------------------------------------------


def unused(rows: list[Row], leaves: list[Row], uses: dict[Event, Event], decided: Iterable[Event] = ()
        ) -> list[Finding]:
    """Parameters that no loss is made of, by the outermost module of which that is all. ``decided``: the choices that
    gave the program a number to go by.
    """
    rows = [row for row in rows if row.chain or not _replaced(row)]
    absent = {id(row) for row in rows}
    groups: dict[object, tuple[int, list[Row]]] = {}
    for row in rows:
        depth, key = _outermost(row, leaves, absent)
        groups.setdefault(key, (depth, []))[1].append(row)
    found = []
    for depth, group in _joined(list(groups.values()), uses):
        if depth == 0 and any(other.got and not other.held and other.chain for other in leaves):
            continue  # an optimizer of another model's parameters: another verdict
        finding = _unused(group, depth, leaves, uses)
        if not finding.severity or finding.severity == "warning":
            _passed_by(finding, group[0], depth, decided)
        found.append(finding)
    return found


def _joined(groups: list[tuple[int, list[Row]]], uses: dict[Event, Event]) -> list[tuple[int, list[Row]]]:
    """The groups; where the result of one goes nowhere but into another, the two are one, named where that is used."""
    found: list[tuple[int, list[Row]]] = []
    for depth, rows in sorted(groups, key=lambda group: _used(group[1], uses)):
        before = set(_before([uses[row.leaf] for row in rows if row.leaf in uses]))
        feeding = [group for group in found if any(row.leaf in uses and uses[row.leaf] in before for row in group[1])]
        found = [group for group in found if group not in feeding]
        found.append((depth, rows + [row for _, more in feeding for row in more]))
    return found


def _used(rows: list[Row], uses: dict[Event, Event]) -> int:
    """When the last of these parameters is used."""
    return max((uses[row.leaf].number for row in rows if row.leaf in uses), default=0)


def _before(events: list[Event]) -> Iterator[Event]:
    """What these events were computed from."""
    todo, seen = list(events), set(events)
    while todo and len(seen) < 5000:
        for event in todo.pop().inputs:
            if event not in seen:
                seen.add(event)
                todo.append(event)
                yield event


def _replaced(row: Row) -> bool:
    """Whether it belonged to a module that is part of no model any more."""
    return row.made is not None and not row.name


def _outermost(row: Row, leaves: list[Row], absent: set[int]) -> tuple[int, object]:
    """The depth in the chain of the outermost module whose parameters are all absent, and what stands for it."""
    for depth, (_, made) in enumerate(row.chain):
        inside = [other for other in leaves if len(other.chain) > depth and other.chain[depth][1] is made]
        if all(id(other) in absent for other in inside):
            return depth, made
    return -1, row


def _unused(rows: list[Row], depth: int, leaves: list[Row], uses: dict[Event, Event]) -> Finding:
    row = rows[0]
    names = shown(rows)
    severity = "info" if _elsewhere(row, depth, leaves) else ""
    where, called = _call(rows, depth, uses)
    if depth < 0:
        home = place(row.made) or (made_at(row.held[0][0]) if row.held else None)
        path = row.name or "the tensor"
        severity = "info" if _inherited(row) else severity
    else:
        path, made = row.chain[depth]
        home, path = origin(row.chain, depth), path or type(made.object()).__name__
        severity = "info" if made.library else severity
    parameters = told_apart((r.name, r.label) for r in rows)
    hidden = next((m.notes["hidden"] for r in rows for _, m in r.chain if "hidden" in m.notes), None)
    if called and hidden is not None:
        return Finding("cut-no-grad", hidden.place, f"{path} runs here inside of a library function that switches "
            f"gradients off, and no argument of it requires a gradient; {names} get no gradient.", "Use "
            "checkpoint(..., use_reentrant=False), or give it an input that requires a gradient.", parameters)
    if called:
        return Finding("unused", where or home, f"What {path} gives here has no part in any loss; {names} cannot "
            "learn.", "Use the result in the loss, or remove the call and the module.", parameters,
            [f"{home}: {path} is made here"] if home is not None else [], severity)
    return Finding("unused", home, f"{path} is made here, but no loss was computed with it; {names} cannot learn.",
        "Call it in forward(), or remove it.", parameters, ["it was never called"], severity)


def _passed_by(finding: Finding, row: Row, depth: int, decided: Iterable[Event]) -> None:
    """A module that was never called is no more than a fact where its owner decides by numbers what it calls: the
    branch that calls it was not taken.
    """
    if depth < 1 or "called at" in row.chain[depth][1].notes:
        return
    owner = next((made.object() for _, made in row.chain[depth - 1 :: -1] if "called at" in made.notes), None)
    names = [part for part in row.chain[depth][0].split(".") if not part.isdigit()][-1:]
    for event in decided:
        known = event.site is not None and names and names[0] in event.site[0].co_names
        if known or (event.modules and event.modules[-1] is owner):
            finding.severity = "info"
            finding.evidence.append(f"{event.place}: the program decides here, by numbers, where to go on")
            return


def _inherited(row: Row) -> bool:
    """Whether a class of a library made the parameter in its own ``__init__``, which the user's class has inherited."""
    module = row.chain[-1][1].object() if row.chain else None
    name = row.name.rpartition(".")[2]
    codes = (getattr(vars(cls).get("__init__"), "__code__", None) for cls in type(module).__mro__)
    return next((kind_of(code) == LIBRARY for code in codes if code is not None and name in code.co_names), False)


def _call(rows: list[Row], depth: int, uses: dict[Event, Event]) -> tuple[Place | None, bool]:
    """Where the module, or a part of it, or its parameter is used; whether it is."""
    made: list[Made] = [] if depth < 0 else [m for row in rows for _, m in row.chain[depth:]]
    for m in sorted(made, key=lambda m: next(i for row in rows for i, (_, x) in enumerate(row.chain) if x is m)):
        if "called at" in m.notes:
            return place(m.notes["called at"]), True
    for row in rows:
        if row.leaf is not None and row.leaf in uses:
            return uses[row.leaf].place, True
    return None, False


def _elsewhere(row: Row, depth: int, leaves: list[Row]) -> bool:
    """Whether it is one of several modules of a list of which one is given more than another in one step, and less in
    another: which of them are used depends on the data.
    """
    if depth < 1 or "called in" in row.chain[depth - 1][1].notes:
        return False
    parent = row.chain[depth - 1][1]
    rows = {id(m): m.notes["called in"] for other in leaves if len(other.chain) > depth
        and other.chain[depth - 1][1] is parent for m in (other.chain[depth][1],) if "called in" in m.notes}
    first, *rest = rows.values() or ({},)
    steps = set(first).union(*rest)
    return any(s.get(a, 0) * first.get(b, 0) != s.get(b, 0) * first.get(a, 0)
        for s in rest for a, b in zip(steps, list(steps)[1:]))


# -- frozen, it seems --------------------------------------------------------------------------------------------------


class Flags(Rule):
    """``module.requires_grad = False`` makes an attribute of the module, ``p.require_grad = False`` one of the tensor:
    what was to be frozen goes on training.
    """

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.said: set[Place] = set()

    def window_ended(self) -> Iterable[Finding]:
        held = {id(p): p for p in self.record.held_parameters() if self._trains(p)}
        return [*self._modules(held), *self._tensors(held)] if held else []

    def ended(self) -> Iterable[Finding]:
        return self.window_ended()

    def _trains(self, p: Any) -> bool:
        facts = self.record.gradients.get(p)
        return facts is not None and bool(facts.ever) and p._wg_meta is not None and p._wg_meta.requires_grad

    def _modules(self, held: dict[int, Any]) -> Iterator[Finding]:
        names: dict[int, str] = {}
        for root in self.record.roots():
            names.update((id(m), name) for name, m in root.named_modules())
        flagged = [m for m, _ in self.record.modules.items() if m.__dict__.get(NAME) is False]
        rows = {id(m): [p for p in m.parameters() if id(p) in held] for m in flagged}
        found: dict[Place, list[Any]] = {}
        for m in flagged:
            name = names.get(id(m), "").rpartition(".")[2] or variable(m).rpartition(".")[2]
            where = self._place(NAME, name) if rows[id(m)] else None
            if where is not None:
                found.setdefault(where, []).append(m)
        for where, modules in found.items():
            if where not in self.said:
                self.said.add(where)
                parameters = {id(p): p for m in modules for p in rows[id(m)]}
                yield Finding("frozen", where, f"{type(modules[0]).__name__}.{NAME} = False freezes nothing: on a "
                    "module it is an attribute like any other, and the parameters below it go on training.",
                    "module.requires_grad_(False), with the underscore, sets it for all parameters of a module",
                    self.record.names_of([*parameters.values()]), ["they get gradients, and an optimizer has them"])

    def _tensors(self, held: dict[int, Any]) -> Iterator[Finding]:
        found: dict[tuple[str, Place], list[Any]] = {}
        for p in held.values():
            for name, value in vars(p).items() if hasattr(p, "__dict__") else ():
                if value is False and _meant(name) and (where := self._place(name, "")) is not None:
                    found.setdefault((name, where), []).append(p)
        for (name, where), parameters in found.items():
            if where not in self.said:
                self.said.add(where)
                yield Finding("frozen", where, f"{name} is no attribute of tensors that means something: setting it "
                    "freezes nothing, and the parameters go on training.", f"the name is {NAME}",
                    self.record.names_of(parameters), ["they get gradients, and an optimizer has them"])

    def _place(self, attribute: str, owner: str) -> Place | None:
        """The line that sets it: not one that has set it of tensors; best one of something with the name ``owner``."""
        froze = {place(site) for _, site in self.record.frozen.items()}
        rows = [row for file in files_with(attribute) for row in _settings(file, attribute) if row[0] not in froze]
        return next((where for where, name in rows if name == owner), rows[0][0] if rows else None)


def _meant(name: str) -> bool:
    """Whether a name is a misspelled ``requires_grad``."""
    return not name.startswith("_") and name != NAME and SequenceMatcher(None, name.lower(), NAME).ratio() > 0.8


def _settings(file: str, attribute: str) -> Iterator[tuple[Place, str]]:
    """Where a file sets an attribute to False, of another object than ``self``, and the last name of that object."""
    for node in ast.walk(tree(file)):
        if not isinstance(node, ast.Assign) or not (isinstance(node.value, ast.Constant) and node.value.value is False):
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == attribute:
                of = target.value
                name = of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
                if name != "self":
                    yield Place(file, node.lineno), name
