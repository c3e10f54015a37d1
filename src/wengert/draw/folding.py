"""Which parts of a graph are shown one by one, and which as one box: by module, by line, or just by their order.

The operations in the order in which they were made are cut into runs: those made in one call of a module, in there
those of one line. A run of consecutive operations can become one box without making a circle of arrows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from math import hypot, isfinite, nan
from typing import TYPE_CHECKING, Any

from .graph import LEAF, OPERATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..diagnose.places import Place
    from .graph import Arrow, Graph, Item

FOLD = "fold"  # the kind of a box that stands for several things
EACH = 8  # of a long run this many things are shown at either end
ROOM = 7  # boxes below which no part of a run is shown


class Group:
    """A run of things: of the call of a module, of a line (``path`` and ``kind`` are empty), or of nothing but their
    order. ``children``: numbers of items, and groups.
    """

    __slots__ = ("children", "count", "key", "kind", "level", "modules", "parent", "path", "place")

    def __init__(self, parent: Group | None, key: Any, path: str = "", kind: str = "",
            place: Place | None = None) -> None:
        self.parent, self.key, self.path, self.kind, self.place = parent, key, path, kind, place
        self.children: list[int | Group] = []
        self.level: int = 0 if parent is None else parent.level + 1
        self.modules: int = (0 if parent is None else parent.modules) + bool(kind)
        self.count = 0  # of the items in it and its groups


@dataclass(slots=True)
class Box:
    """What is drawn for an item, or for a ``group`` that is folded. ``inside``: the group whose frame it stands in."""

    kind: str
    items: list[int]
    inside: Group
    group: Group | None = None
    item: Item | None = None


@dataclass(slots=True)
class Line:
    """All arrows from one box to another."""

    source: int
    target: int
    arrows: list[Arrow]

    @property
    def norm(self) -> float | None:
        """The norm of all their gradients together; None if there are none."""
        norms = [a.norm for a in self.arrows if a.norm is not None]
        return None if not norms else hypot(*norms) if all(map(isfinite, norms)) else _worst(norms)


def _worst(norms: list[float]) -> float:
    return nan if any(n != n for n in norms) else max(norms)


@dataclass(slots=True)
class Cluster:
    """The frame around the boxes of a group: ``parts`` are numbers of boxes, and clusters."""

    group: Group
    parts: list[int | Cluster] = field(default_factory=list)

    def written(self, box: Callable[[int], str], begin: Callable[[int, Group], str], end: str) -> Iterator[str]:
        """The rows of a text, indented by depth: ``box(i)`` for the box i; for a frame within this one
        ``begin(its number, its group)``, what is in it, and ``end``.
        """
        number = 0
        stack = [iter(self.parts)]
        while stack:
            part = next(stack[-1], None)
            indent = "  " * len(stack)
            if part is None:
                stack.pop()
                if stack:
                    yield indent[:-2] + end
            elif isinstance(part, int):
                yield indent + box(part)
            else:
                yield indent + begin(number, part.group)
                number += 1
                stack.append(iter(part.parts))


class Picture:
    """``boxes``, ``lines`` between them, and ``frame``: which boxes stand together."""

    def __init__(self, graph: Graph, fold: int = 80, depth: int | None = None) -> None:
        self.graph = graph
        self.boxes: list[Box] = []
        root = grouped(graph)
        level, partly = _level(root, fold, depth)
        self.frame = Cluster(root)
        self._at = [0] * len(graph.items)
        self._open(root, level, partly, depth)
        lines: dict[tuple[int, int], Line] = {}
        for arrow in graph.arrows:
            key = self._at[arrow.source], self._at[arrow.target]
            if key[0] != key[1]:
                lines.setdefault(key, Line(*key, [])).arrows.append(arrow)
        self.lines = list(lines.values())

    def _open(self, root: Group, level: int, partly: int, depth: int | None) -> None:
        """Make boxes of what stands above ``level``, and of ``partly`` things of each group there."""
        stack: list[tuple[Group, Cluster, Iterator[int | Group]]] = [(root, self.frame, iter(root.children))]
        if level == 0:
            stack = [(root, self.frame, iter(_ends(root, partly)))]
        while stack:
            group, cluster, rest = stack[-1]
            part = next(rest, None)
            if part is None:
                stack.pop()
            elif isinstance(part, int):
                item = self.graph.items[part]
                around = group if group.count == 1 and group.parent else None  # it has no frame of its own
                cluster.parts.append(self._box(Box(item.kind, [part], cluster.group, around, item)))
            elif part.count == 1:
                stack.append((part, cluster, iter(part.children)))
            elif part.level > level or part.key is SECTION or _closed(part, depth) or (
                    part.level == level and not partly):
                cluster.parts.append(self._box(Box(FOLD, list(members(part)), cluster.group, part)))
            else:
                inner = Cluster(part)
                cluster.parts.append(inner)
                children = part.children if part.level < level else _ends(part, partly)
                stack.append((part, inner, iter(children)))

    def _box(self, box: Box) -> int:
        self.boxes.append(box)
        for i in box.items:
            self._at[i] = len(self.boxes) - 1
        return len(self.boxes) - 1

    def hidden(self) -> bool:
        """Whether a box stands for several things."""
        return any(box.kind == FOLD for box in self.boxes)


SECTION = object()  # the key of a group of nothing but things that follow on each other


def _closed(group: Group, depth: int | None) -> bool:
    return depth is not None and bool(group.kind) and group.modules > depth


def _ends(group: Group, most: int) -> list[int | Group]:
    """What is shown of a long group: all of a short one, else the beginning, the end and one group between."""
    children = group.children
    if len(children) <= most:
        return children
    each = max(1, min(EACH, (most - 1) // 2))
    middle = Group(group, SECTION)
    middle.children = children[each : len(children) - each]
    middle.count = sum(1 if isinstance(c, int) else c.count for c in middle.children)
    return [*children[:each], middle, *children[len(children) - each :]]


def _level(root: Group, fold: int, depth: int | None) -> tuple[int, int]:
    """Above which level all groups can be unfolded with at most ``fold`` boxes, and how many things of each group at
    that level can be shown then (0: none).
    """
    items, groups = Counter[int](), Counter[int]()
    stack = [root]
    while stack:
        group = stack.pop()
        groups[group.level] += 1
        for child in group.children:
            if isinstance(child, int) or child.count == 1 or _closed(child, depth):
                items[group.level] += 1
            else:
                stack.append(child)
    level, shown = 0, 0  # shown: the items above the level
    while level in groups and shown + items[level] + groups[level + 1] <= fold:
        shown += items[level]
        level += 1
    if not groups[level]:
        return level, 0
    room = (fold - shown) // groups[level]
    return level, room if room >= ROOM else 0


def members(group: Group) -> Iterator[int]:
    """The numbers of the items in a group."""
    stack: list[int | Group] = [group]
    while stack:
        part = stack.pop()
        if isinstance(part, int):
            yield part
        else:
            stack += reversed(part.children)


# -- groups -----------------------------------------------------------------------------------------------------------


def grouped(graph: Graph) -> Group:
    """The group of everything."""
    root = Group(None, None)
    home: list[Group | None] = [None] * len(graph.items)
    group = root
    for i, item in enumerate(graph.items):
        if item.kind == OPERATION:
            group = home[i] = _enter(group, item)
    _place_others(graph, home, root)
    for i, found in enumerate(home):
        assert found is not None
        found.children.append(i)
    _settle(root, graph)
    return root


def _path(item: Item) -> Iterator[Group]:
    """What stands around an operation, from the outside in."""
    for key, path, kind in item.modules:
        yield Group(None, key, path, kind)
    if item.place is not None:
        yield Group(None, item.place, place=item.place)


def _enter(group: Group, item: Item) -> Group:
    """The group for ``item``, if ``group`` is that of the operation before it."""
    wanted = list(_path(item))
    stack: list[Group] = []
    step: Group | None = group
    while step is not None:
        stack.append(step)
        step = step.parent
    found = stack.pop()
    while stack and wanted and stack[-1].key == wanted[0].key:
        found = stack.pop()
        wanted.pop(0)
    for new in wanted:
        found = Group(found, new.key, new.path, new.kind, new.place)
        assert found.parent is not None
        found.parent.children.append(found)
    return found


def _place_others(graph: Graph, home: list[Group | None], root: Group) -> None:
    """What is no operation stands in the innermost group that all of its users are in; results stand outside."""
    for arrow in graph.arrows:
        if graph.items[arrow.source].kind != OPERATION:
            user, found = home[arrow.target], home[arrow.source]
            home[arrow.source] = user if found is None or user is None else _common(found, user)
    for i, item in enumerate(graph.items):
        if home[i] is None or item.kind not in (OPERATION, LEAF):
            home[i] = root


def _common(a: Group, b: Group) -> Group:
    while a is not b:
        if a.level < b.level:
            a, b = b, a
        assert a.parent is not None
        a = a.parent
    return a


def _settle(root: Group, graph: Graph) -> None:
    """Count what is in each group, take out lines with one operation, and put what is there in order."""
    groups, i = [root], 0
    while i < len(groups):
        groups += [c for c in groups[i].children if isinstance(c, Group)]
        i += 1
    first: dict[int, int] = {}  # by the identity of a group: its oldest operation
    users = _users(graph)
    for group in reversed(groups):
        children = _without_short_lines(group, graph)
        keys = {id(c): first[id(c)] for c in children if isinstance(c, Group)}
        starts = sorted([*keys.values(), *(c for c in children if isinstance(c, int) and c not in users)])
        # what is no operation stands before the part that has its first user
        children.sort(key=lambda c: keys[id(c)] if isinstance(c, Group) else c if c not in users
            else starts[max(bisect_right(starts, users[c]) - 1, 0)] - 0.5)
        group.children = children
        group.count = sum(1 if isinstance(c, int) else c.count for c in children)
        first[id(group)] = starts[0] if starts else 0
    for group in groups:
        for child in group.children:
            if isinstance(child, Group):
                child.parent, child.level = group, group.level + 1


def _users(graph: Graph) -> dict[int, int]:
    """For leaves and inputs the first operation that uses them."""
    users: dict[int, int] = {}
    for arrow in graph.arrows:
        if graph.items[arrow.source].kind != OPERATION:
            users[arrow.source] = min(arrow.target, users.get(arrow.source, arrow.target))
    return users


def _without_short_lines(group: Group, graph: Graph) -> list[int | Group]:
    """The children of a group, with the operation of a line in place of a line with only one; a module that is on one
    line says so itself.
    """
    lines = [c for c in group.children if isinstance(c, Group) and not c.kind]
    if group.kind and len(lines) == 1 and not any(isinstance(c, Group) and c.kind for c in group.children):
        group.place = lines[0].place
        framed = set()
    else:
        framed = {id(c) for c in lines
            if sum(graph.items[i].kind == OPERATION for i in c.children if isinstance(i, int)) > 1}
    children: list[int | Group] = []
    for child in group.children:
        if isinstance(child, int) or child.kind or id(child) in framed:
            children.append(child)
        else:
            children += child.children
    return children


def contents(items: Iterable[Item]) -> Counter[str]:
    """How many operations of each name there are."""
    return Counter(item.name for item in items if item.kind == OPERATION)
