"""Pictures as Mermaid, which many pages of Markdown show as diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .captions import frame_label, line_label
from .dot import FILLS

if TYPE_CHECKING:
    from .captions import Caption
    from .folding import Group, Picture

SHAPES = {"leaf": ("([", "])"), "input": ("([", "])"), "result": ("{{", "}}"), "fold": ("[[", "]]")}


def quoted(text: str) -> str:
    """``text`` as a label: what has a meaning for Mermaid, HTML or Markdown is written by its number. (It reads a
    backslash even so: another sign stands for that.)

    >>> quoted('a "b" <c>')
    '"a #34;b#34; #60;c#62;"'
    """
    return '"' + "".join(f"#{ord(c)};" if c in '"#<>&;`*_~{}[]()|' else c for c in text.replace("\\", "⧵")) + '"'


def mermaid(picture: Picture, captions: list[Caption], gradients: bool = True) -> str:
    """The picture as a flowchart."""

    def box(i: int) -> str:
        kind, caption = picture.boxes[i].kind, captions[i]
        text = "<br/>".join(quoted(row)[1:-1] for row in (caption.title, *(row for _, row in caption.rows)))
        begin, end = SHAPES.get(kind, ("[", "]"))
        return f'b{i}{begin}"{text}"{end}:::{kind}'

    def frame(number: int, group: Group) -> str:
        return f"subgraph g{number} [{quoted(frame_label(group))}]"

    rows = ["flowchart TB", *picture.frame.written(box, frame, "end")]
    for line in picture.lines:
        text = line_label(line, gradients)
        rows.append(f"  b{line.source} -->{f'|{quoted(text)}|' if text else ''} b{line.target}")
    rows += [f"  classDef {kind} fill:{fill},stroke:#777,color:#111" for kind, fill in FILLS.items()]
    return "\n".join([*rows, ""])
