"""What stands in the boxes of a picture, at its lines, and in what is shown where the mouse rests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .folding import contents
from .graph import INPUT, LEAF, OPERATION
from .text import cut, many, number, shape_text, size, source, where

if TYPE_CHECKING:
    from collections.abc import Callable

    from .folding import Box, Group, Line, Picture
    from .graph import Graph, Item, Saved

MOST = 34  # letters of a row
ROWS = 4  # saved tensors that a box names


@dataclass(slots=True)
class Caption:
    """``title``; ``rows``: kinds (``value``, ``saved``, ``gradient``, ``place``) and texts; ``more``: everything."""

    title: str
    rows: list[tuple[str, str]] = field(default_factory=list)
    more: str = ""


def caption(box: Box, graph: Graph, saved: bool = True, gradients: bool = True) -> Caption:
    """What stands in a box."""
    if box.item is None:
        return _of_fold(box, graph, saved)
    item = box.item
    found = Caption(cut(f"{item.name} = {item.value}" if item.value else item.name, MOST))
    add = found.rows.append
    value = f"{shape_text(item.shape)} {item.dtype}"
    if item.outputs > 1:
        value = f"{item.outputs} values, {value} …"
    add(("value", cut(f"{item.variable}: {value}" if item.variable else value, MOST)))
    if item.kind in (LEAF, INPUT):
        add(("value", size(item.bytes) if item.kind == LEAF else f"{size(item.bytes)}, no gradient"))
    if saved and item.saved:
        own = [s for s in item.saved if not s.note]
        for s in own[: ROWS if len(own) > ROWS + 1 else ROWS + 1]:
            add(("saved", cut(_saved(s), MOST)))
        if len(own) > ROWS + 1:
            add(("saved", f"and {many(len(own) - ROWS, 'tensor')} more, {size(sum(s.bytes for s in own[ROWS:]))}"))
        if len(own) < len(item.saved):
            add(("saved", cut(f"uses {', '.join(dict.fromkeys(s.name for s in item.saved if s.note))}", MOST)))
    elif saved and item.freed:
        add(("saved", "what it saved is freed"))
    gradient = item.gradient if gradients else None
    if gradient is not None:
        add(("gradient", f"grad: norm {number(gradient)}"))
    if box.group is not None and box.group.kind:
        add(("place", cut(label(box.group), MOST)))
    elif item.place is not None and box.inside.place is None:
        add(("place", cut(where(item.place), MOST)))
    found.more = _more(item)
    return found


def _saved(s: Saved) -> str:
    return f"saves {s.name} {shape_text(s.shape)}, {'of ' + s.note if s.note else size(s.bytes)}"


def _more(item: Item) -> str:
    lines = [f"{item.name} {shape_text(item.shape)} {item.dtype}" + (f" = {item.value}" if item.value else "")]
    if item.variable:
        lines.append(f"variable {item.variable}")
    if item.modules:
        lines.append(f"in {item.modules[-1][1] or 'the outermost module'}, {item.modules[-1][2]}")
    if item.kind in (LEAF, INPUT):
        lines.append(f"{size(item.bytes)}, {'requires a gradient' if item.kind == LEAF else 'requires no gradient'}")
    lines += [f"{_saved(s)}, {s.dtype}" for s in item.saved]
    if item.place is not None:
        lines.append(f"{item.place}: {source(item.place)}")
    return "\n".join(lines)


def _of_fold(box: Box, graph: Graph, saved: bool) -> Caption:
    items = [graph.items[i] for i in box.items]
    operations = [item for item in items if item.kind == OPERATION]
    leaves = [item for item in items if item.kind == LEAF]
    group = box.group
    assert group is not None
    name = label(group) if group.kind else source(group.place) or _repeated(group)
    found = Caption(cut(name or many(len(operations) or len(items), "operation" if operations else "leaf"), MOST))
    add = found.rows.append
    if name and len(operations) > 1:
        add(("value", many(len(operations), "operation")))
    counts = contents(items)
    common = [f"{kind.partition('Backward')[0]} ×{n:,}" if len(operations) > 1 else kind
        for kind, n in counts.most_common(3)]
    add(("value", cut(", ".join(common) + (", …" if len(counts) > 3 else ""), MOST)))
    if leaves:
        add(("value", f"{many(len(leaves), 'parameter')}, {size(sum(item.bytes for item in leaves))}"))
    held = sum(s.bytes for item in items for s in item.saved)
    if saved and held:
        add(("saved", f"saves {size(held)}"))
    if group.place is not None:
        add(("place", cut(where(group.place), MOST)))
    found.rows = [row for row in found.rows if row[1]]
    found.more = "\n".join([name or found.title, *(f"{n:,} × {what}" for what, n in counts.most_common(12)),
        *([f"{group.place}: {source(group.place)}"] if group.place is not None else [])])
    return found


def _repeated(group: Group) -> str:
    """How many modules of one class follow on each other in a group that is nothing else."""
    kinds = {"" if isinstance(c, int) else c.kind for c in group.children}
    return "" if len(kinds) != 1 or "" in kinds else f"{len(group.children):,} × {kinds.pop()}"


def label(group: Group) -> str:
    """What a module or a line is called."""
    if group.kind:
        return f"{group.path} · {group.kind}" if group.path else group.kind
    return "" if group.place is None else f"{where(group.place)}  {source(group.place)}"


def frame_label(group: Group) -> str:
    """What stands at the frame of a module or a line."""
    text = label(group)
    return cut(f"{text} — {where(group.place)}" if group.kind and group.place is not None else text, 60)


def line_label(line: Line, gradients: bool = True) -> str:
    """What stands at a line: the norm of the gradient, once there is one; how many arrows it is."""
    if gradients and (norm := line.norm) is not None:
        return f"∇ {number(norm)}"
    return f"×{len(line.arrows)}" if len(line.arrows) > 1 else ""


def line_more(line: Line, name: Callable[[int], str]) -> str:
    """All about a line."""
    text = f"{name(line.source)} → {name(line.target)}"
    if len(line.arrows) > 1:
        text += f", {len(line.arrows)} values"
    norm = line.norm
    return text if norm is None else f"{text}\nnorm of the gradient that comes back: {number(norm)}"


def heading(picture: Picture) -> str:
    """A line about the whole graph."""
    items = picture.graph.items
    leaves = [item for item in items if item.kind == LEAF]
    parts = [many(sum(item.kind == OPERATION for item in items), "operation")]
    if leaves:
        parts.append(f"{many(len(leaves), 'leaf')} of {size(sum(i.bytes for i in leaves))}")
    parts.append(f"{size(picture.graph.saved)} saved for the backward")
    if picture.hidden():
        parts.append(f"folded to {many(len(picture.boxes), 'box')}")
    return " · ".join(parts)
