"""Parameters that are frozen, or that have no part in any loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Finding
from ..places import LIBRARY, kind_of, place
from ..record import told_apart
from .sources import made_at, origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..places import Place
    from ..record import Event, Made
    from .cuts import Way
    from .leaves import Row


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


def unused(rows: list[Row], leaves: list[Row], uses: dict[Event, Event]) -> list[Finding]:
    """Parameters that no loss is made of, by the outermost module of which that is all."""
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
        found.append(_unused(group, depth, leaves, uses))
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
