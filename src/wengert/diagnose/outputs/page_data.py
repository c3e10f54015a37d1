"""What the HTML page draws, as compact JSON: columns of numbers, and tables of the names that they stand for."""

from __future__ import annotations

from math import isfinite, isnan, log10
from typing import TYPE_CHECKING, Any

from ..places import place, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..findings import Report
    from ..places import Place
    from ..snapshot import Held, Row, Snapshot

#: A norm is written as 1000 times its decimal logarithm; these stand for what has none.
ZERO, NAN, INF = -99_999, 99_998, 99_999
#: Points of each half of the memory chart, and its lines that are shown apart.
POINTS, LINES = 160, 7


class Table:
    """Values, each once, by number."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._at: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        number = self._at.get(value)
        if number is None:
            number = self._at[value] = len(self.rows)
            self.rows.append(value)
        return number


class Tables:
    """The names that the columns refer to."""

    def __init__(self) -> None:
        self.names, self.shapes, self.places = Table(), Table(), Table()
        self._places: dict[Any, int] = {}

    def place(self, where: Place | None) -> int:
        """The number of a place; -1 if it is not known."""
        if where is None:
            return -1
        key = where.file, where.line
        number = self._places.get(key)
        if number is None:
            number = self._places[key] = self.places((shown(where.file), where.line, where.text))
        return number

    def as_json(self) -> dict[str, Any]:
        """All of them."""
        return {"names": self.names.rows, "shapes": self.shapes.rows, "places": self.places.rows}


def page_data(report: Report) -> dict[str, Any]:
    """What the page draws of a report."""
    picture = getattr(report.facts, "picture", None)
    tables = Tables()
    graphs: list[Any] = []
    norms: list[Any] = []
    if picture is not None:
        largest = sorted(picture.snapshots.values(), key=lambda s: -len(s.rows))
        graphs = [graph(s, tables) for s in largest if s.rows]
        norms = [norm_columns(report.facts, number, picture) for number, n in picture.norms.items() if n.columns]
    return {"graphs": graphs, "norms": norms, **tables.as_json()}


def norm_columns(record: Any, number: int, picture: Any) -> dict[str, Any]:
    """The norms of an optimizer's gradients: a column of numbers for each step, parameters in the model's order."""
    norms = picture.norms[number]
    known = {p.label: i for s in picture.snapshots.values() for i, p in enumerate(s.parameters)}
    count = min(map(len, norms.columns))
    order = sorted(range(min(count, len(norms.names))), key=lambda i: known.get(norms.names[i], len(known)))
    where = record.optimizers[number].place
    return {"optimizer": norms.kind if where is None else f"{norms.kind} ({where})",
        "names": [norms.names[i] for i in order],
        "steps": [k + 1 for k in norms.steps],
        "columns": [[code(column[i]) for i in order] for column in norms.columns]}


def code(norm: float | None) -> int | None:
    """A norm in one small number."""
    if norm is None:
        return None
    if isnan(norm):
        return NAN
    if not isfinite(norm):
        return INF
    return round(1000 * log10(norm)) if norm > 0 else ZERO


def graph(s: Snapshot, tables: Tables) -> dict[str, Any]:
    """A snapshot: columns of its rows, its groups, parameters, memory and times."""
    groups = Groups(s.rows, tables)
    targets = [to for row in s.rows for to in row.edges]
    first: set[int] = set()  # the buffers that a row before has counted
    kept = []
    for row in s.rows:
        kept.append(sum(s.bytes[b] for b in row.saved if b not in first))
        first.update(row.saved)
    return {
        "place": tables.place(s.place), "step": s.step, "whole": s.whole,
        "loss": None if s.loss is None else float(f"{s.loss:.6g}") if isfinite(s.loss) else str(s.loss),
        "name": [tables.names(short(row.name)) for row in s.rows],
        "shape": [tables.shapes(size(row.shape)) for row in s.rows],
        "at": [tables.place(row.place) for row in s.rows],
        "leaf": {i: row.leaf for i, row in enumerate(s.rows) if row.leaf >= 0},
        "group": groups.of,
        "saved": kept,
        "forward": [None if row.forward is None else row.forward // 1000 for row in s.rows],
        "backward": [None if row.backward is None else row.backward // 1000 for row in s.rows],
        "degree": [len(row.edges) for row in s.rows], "to": targets,
        "norm": [code(v) for row in s.rows for v in row.norms],
        "groups": groups.rows,
        "parameters": [parameter(p, tables) for p in s.parameters],
        "memory": memory(s, tables), "times": times(s, tables),
    }


def short(name: str) -> str:
    """A node's name as rows show it."""
    return name.removeprefix("torch::autograd::").removesuffix("0").removesuffix("Backward")


def parameter(p: Held, tables: Tables) -> dict[str, Any]:
    """A parameter, with what cuts its way to the loss."""
    return {"name": p.name, "label": p.label, "shape": size(p.shape), "wanted": p.wanted, "node": p.node,
        "chain": [[tables.names(e.name), tables.place(e.place), tables.shapes(size(e.shape)), int(e.cuts),
            tables.place(e.switched)] for e in p.chain]}


def size(shape: Any) -> str:
    """A shape as rows show it."""
    return "×".join(map(str, shape)) or "scalar"


class Groups:
    """The tree of modules and source lines that rows are collapsed to.

    ``rows``: for each group the group that it is in (-1: none), its name (None: a source line) and its place. ``of``:
    the group of each row of the graph. Groups come after those that they are in.
    """

    def __init__(self, rows: list[Row], tables: Tables) -> None:
        self.rows: list[tuple[int, str | None, int]] = []
        self._modules: dict[tuple[str, ...], int] = {}
        owners = list(range(len(rows)))  # a leaf stands with its first user
        for i, row in enumerate(rows):
            for to in row.edges:
                if to >= 0 and not rows[to].edges and owners[to] == to and to < i:
                    owners[to] = i
        keys = [(rows[i].module, tables.place(rows[i].place)) for i in owners]
        lines: dict[Any, int] = {}
        sizes: dict[Any, int] = {}
        for key in keys:
            sizes[key] = sizes.get(key, 0) + 1
        shared: dict[tuple[str, ...], int] = {}  # how many lines and modules are in a module
        for module, _ in sizes:
            shared[module] = shared.get(module, 0) + 1
        for module in {m[:n] for m in shared for n in range(1, len(m) + 1)}:
            shared[module[:-1]] = shared.get(module[:-1], 0) + 1
        self.of: list[int] = []
        for key in keys:
            module, at = key
            inside = self._module(module)
            if sizes[key] > 1 and (shared[module] > 1 or not module) and at >= 0:
                if key not in lines:
                    lines[key] = len(self.rows)
                    self.rows.append((inside, None, at))
                inside = lines[key]
            self.of.append(inside)

    def _module(self, path: tuple[str, ...]) -> int:
        if not path:
            return -1
        number = self._modules.get(path)
        if number is None:
            inside = self._module(path[:-1])
            number = self._modules[path] = len(self.rows)
            self.rows.append((inside, path[-1], -1))
        return number


# -- memory and time --------------------------------------------------------------------------------------------------


def memory(s: Snapshot, tables: Tables) -> dict[str, Any]:
    """The bytes that nodes keep, by the line that made these, over one step.

    ``lines``: places, those with most first, -1 for all others. ``values``: for each line its bytes after each of the
    points; the first ``forward`` of them belong to the forward pass. ``most``: of each line, at the end of that.
    """
    rows = [row for row in s.rows if row.edges]
    line_of: dict[int, int] = {}  # buffer -> place
    born: list[list[tuple[int, int]]] = []
    totals: dict[int, int] = {}
    for row in rows:
        new = []
        for b in row.saved:
            if b not in line_of and s.bytes[b]:
                line_of[b] = tables.place(row.place)
                totals[line_of[b]] = totals.get(line_of[b], 0) + s.bytes[b]
                new.append((line_of[b], s.bytes[b]))
        born.append(new)
    last: dict[int, int] = {}  # buffer -> the turn after which it is free
    for row in rows:
        for b in row.saved:
            last[b] = s.turns if row.turn < 0 or s.retained else max(last.get(b, 0), row.turn)
    freed: list[list[tuple[int, int]]] = [[] for _ in range(s.turns)]
    for b, turn in last.items():
        if turn < s.turns and b in line_of:
            freed[turn].append((line_of[b], -s.bytes[b]))
    lines = sorted(totals, key=lambda k: -totals[k])
    apart = lines[:LINES] if len(lines) > LINES + 1 else lines
    series = {k: i for i, k in enumerate(apart)}
    count = len(apart) + (len(lines) > len(apart))
    now = [0] * count
    up, down = (follow(changes, series, now) for changes in (born, freed))
    values = [list(column) for column in zip(*up, *down)] if up else []
    most = [totals[k] for k in apart] + ([sum(totals[k] for k in lines[len(apart):])] if count > len(apart) else [])
    return {"lines": apart + [-1] * (count - len(apart)), "others": len(lines) - len(apart), "values": values,
        "forward": len(up), "most": most, "operations": len(rows), "retained": s.retained}


def follow(changes: list[list[tuple[int, int]]], series: dict[int, int], now: list[int]) -> list[list[int]]:
    """The sums after each of the changes; where there are many, at some of these."""
    found = []
    stride = max(1, len(changes) / POINTS)
    due = 0.0
    for i, row in enumerate(changes):
        for line, size in row:
            now[series.get(line, len(now) - 1)] += size
        if i >= due or i == len(changes) - 1:
            found.append(list(now))
            due += stride
    return found


def times(s: Snapshot, tables: Tables) -> list[Any]:
    """By line: its place, and for each of its operations how often it ran and for how long (in microseconds), in the
    forward pass and in the backward.
    """
    found: dict[int, tuple[dict[int, list[int]], dict[int, list[int]]]] = {}
    for (site, name), (count, time) in s.calls.items():
        add(found.setdefault(tables.place(place(site)), ({}, {}))[0], tables.names(name), count, time)
    for row in s.rows:
        if row.backward is not None:
            line = -1 if not row.edges else tables.place(row.place)
            add(found.setdefault(line, ({}, {}))[1], tables.names(short(row.name)), 1, row.backward)
    rows = [[line, *([[name, count, time // 1000] for name, (count, time) in part.items()] for part in parts)]
        for line, parts in found.items()]
    return sorted(rows, key=lambda row: -spent(row[1] + row[2]))


def add(part: dict[int, list[int]], name: int, count: int, time: int) -> None:
    """Add calls to those of the same name."""
    row = part.setdefault(name, [0, 0])
    row[0] += count
    row[1] += time


def spent(rows: Iterable[list[int]]) -> int:
    """The time of all these."""
    return sum(row[2] for row in rows)
