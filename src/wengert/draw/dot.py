"""Pictures as DOT, the language of Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .captions import frame_label, line_label
from .text import WIDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from .captions import Caption
    from .folding import Group, Picture

FILLS = {"operation": "#dbe9fb", "leaf": "#d8f0dc", "input": "#eeeeee", "result": "#fdebc8", "fold": "#e9e0f7"}
FONT = "Helvetica"


def quoted(text: str) -> str:
    r"""``text`` as a string of DOT.

    >>> print(quoted('a "b" \\ c'))
    "a \"b\" \\ c"
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def dot(picture: Picture, captions: list[Caption], gradients: bool = True) -> str:
    """The picture as DOT, to be laid out and drawn by ``dot``."""

    def box(i: int) -> str:
        kind, caption = picture.boxes[i].kind, captions[i]
        text = "\\n".join(quoted(row)[1:-1] for row in (caption.title, *(row for _, row in caption.rows)))
        style = {"leaf": "rounded,filled", "input": "rounded,filled,dashed"}.get(kind, "filled")
        more = " peripheries=2" if kind == "fold" else ""
        return (f'label="{text}" tooltip={quoted(caption.more)} style="{style}" fillcolor="{FILLS[kind]}"{more}')

    return written(picture, box, gradients, [f'node [shape=box fontname="{FONT}" fontsize=10]',
        f'edge [fontname="{FONT}" fontsize=9 arrowsize=0.7]'])


def to_lay_out(picture: Picture, sizes: list[tuple[float, float]], gradients: bool = True) -> str:
    """The picture as DOT with boxes of these sizes in points, which only a layout is wanted of."""

    def box(i: int) -> str:
        wide, high = sizes[i]
        return f'label="" width={wide / 72:.3f} height={high / 72:.3f}'

    return written(picture, box, gradients, ["nodesep=0.22 ranksep=0.32", "node [shape=box fixedsize=true]",
        f'edge [fontname="{FONT}" fontsize={10 * WIDER:.1f} arrowsize=0.7]'], 11 * WIDER)


def written(picture: Picture, box: Callable[[int], str], gradients: bool, settings: list[str],
        points: float = 11) -> str:
    """The picture with these attributes of boxes and of the whole; ``points``: the size of the labels of frames."""
    whole = f'graph [fontname="{FONT}" fontsize={points:.1f} labeljust=l]'
    rows = ["digraph wengert {", *(f"  {row};" for row in (whole, *settings))]
    rows += picture.frame.written(lambda i: f"b{i} [{box(i)}];", _frame, "}")
    for line in picture.lines:
        text = line_label(line, gradients)
        label = f" [label={quoted(f' {text} ')}]" if text else ""
        rows.append(f"  b{line.source} -> b{line.target}{label};")
    return "\n".join([*rows, "}", ""])


def _frame(number: int, group: Group) -> str:
    style = "rounded" if group.kind else "rounded,dashed"
    return f'subgraph cluster_{number} {{ label={quoted(frame_label(group))}; style="{style}"; color="#999999";'
