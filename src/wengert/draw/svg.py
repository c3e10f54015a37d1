"""Pictures as SVG: what the layout has placed, drawn. Colours follow the scheme of the page, light or dark."""

from __future__ import annotations

from html import escape
from math import atan2, cos, isfinite, log10, sin
from typing import TYPE_CHECKING

from .captions import frame_label, line_label, line_more
from .colours import colours
from .dot import to_lay_out
from .layout import lay_out
from .text import width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .captions import Caption
    from .folding import Cluster, Group, Line, Picture
    from .layout import Layout, Point

TITLE, ROW, SPACE = 12, 10.5, 14  # sizes of fonts, and the height of a row
MARGIN, TOP = 12, 34

def _style() -> str:
    kinds = " ".join(f".wg .{kind} > rect {{ fill: var(--wg-{kind}); stroke: var(--wg-{kind}-line); }}"
        for kind in ("operation", "leaf", "input", "result", "fold"))
    return (colours() + kinds + "\n.wg .frame { fill: var(--wg-frame); stroke: var(--wg-frame-line); } "
        ".wg .of-line { stroke-dasharray: 4 3; } .wg .input > rect { stroke-dasharray: 4 3; }\n"
        ".wg .title { font-weight: bold; } .wg .saved { fill: var(--wg-saved); } "
        ".wg .gradient { fill: var(--wg-gradient); } .wg .place { fill: var(--wg-soft); }\n"
        ".wg path { fill: none; stroke: var(--wg-line); } .wg polygon { fill: var(--wg-line); }\n"
        ".wg .with path { stroke: var(--wg-gradient); } .wg .with polygon { fill: var(--wg-gradient); }\n"
        ".wg .bad path { stroke: var(--wg-bad); } .wg .bad polygon, .wg .bad text { fill: var(--wg-bad); }\n"
        ".wg .zero path { stroke-dasharray: 2 3; } .wg .label { paint-order: stroke; stroke: var(--wg-frame); "
        "stroke-width: 3px; }\n")


def svg(picture: Picture, captions: list[Caption], title: str, gradients: bool = True) -> str:
    """The picture as an SVG document."""
    sizes = [box_size(c) for c in captions]
    layout = lay_out(to_lay_out(picture, sizes, gradients))
    wide = max(layout.width, width(title, TITLE)) + 2 * MARGIN
    high = layout.height + TOP + MARGIN
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wg" role="img" aria-label="{escape(title)}" '
        f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" style="max-width: 100%">',
        f"<style>\n{_style()}</style>",
        f'<rect class="page" width="{wide:.0f}" height="{high:.0f}" rx="6"/>',
        f'<text class="soft" x="{MARGIN}" y="21" font-size="{TITLE}">{escape(title)}</text>',
        f'<g transform="translate({(wide - layout.width) / 2:.1f} {TOP})">',
    ]
    rows += _frames(picture, layout)
    rows += _lines(picture, captions, layout, gradients)
    rows += (_box(picture.boxes[i].kind, captions[i], layout.boxes[i], sizes[i]) for i in range(len(captions)))
    return "\n".join([*rows, "</g>", "</svg>", ""])


def box_size(caption: Caption) -> tuple[float, float]:
    """The width and height of a box with these texts."""
    widest = max([width(caption.title, TITLE, bold=True), *(width(text, ROW) for _, text in caption.rows)])
    return widest + 16, SPACE * len(caption.rows) + 27


def _box(kind: str, caption: Caption, middle: Point, size: tuple[float, float]) -> str:
    (x, y), (wide, high) = middle, size
    left, top = x - wide / 2, y - high / 2
    rows = [f'<g class="{kind}" transform="translate({left:.1f} {top:.1f})"><title>{escape(caption.more)}</title>']
    round_ = {"leaf": 12, "input": 12}.get(kind, 4)
    if kind == "fold":
        rows.append(f'<rect x="3" y="3" width="{wide:.1f}" height="{high:.1f}" rx="{round_}"/>')
    rows.append(f'<rect width="{wide:.1f}" height="{high:.1f}" rx="{round_}"/>')
    rows.append(f'<text class="title" x="{wide / 2:.1f}" y="18" text-anchor="middle" font-size="{TITLE}">'
        f"{escape(caption.title)}</text>")
    rows += (f'<text class="{row}" x="{wide / 2:.1f}" y="{18 + SPACE * n}" text-anchor="middle" font-size="{ROW}">'
        f"{escape(text)}</text>" for n, (row, text) in enumerate(caption.rows, 1))
    return "".join([*rows, "</g>"])


def _frames(picture: Picture, layout: Layout) -> Iterator[str]:
    for group, (left, top, right, bottom) in zip(_groups(picture.frame), layout.frames):
        kind = "frame" if group.kind else "frame of-line"
        yield (f'<g><rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" rx="8"/><text class="soft" x="{left + 8:.1f}" y="{top + 15:.1f}" '
            f'font-size="11">{escape(frame_label(group))}</text></g>')


def _groups(frame: Cluster) -> Iterator[Group]:
    """The groups with a frame, in the order in which the DOT text has them."""
    stack = [iter(frame.parts)]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
        elif not isinstance(part, int):
            yield part.group
            stack.append(iter(part.parts))


def _lines(picture: Picture, captions: list[Caption], layout: Layout, gradients: bool) -> Iterator[str]:
    norms = [n for line in picture.lines if (n := line.norm) is not None and isfinite(n) and n]
    most = max(norms, default=1.0)
    for line in picture.lines:
        points, tip, at = layout.lines[line.source, line.target]
        kind, thick = _look(line, most) if gradients else ("", 1.2)
        start, *rest = [f"{x:.1f} {y:.1f}" for x, y in points]
        label = line_label(line, gradients)
        more = escape(line_more(line, lambda i: captions[i].title))
        yield (f'<g class="{kind}"><title>{more}</title><path stroke-width="{thick:.1f}" '
            f'd="M {start} C {", ".join(rest)}"/>{_arrowhead(points[-1], tip)}'
            + (f'<text class="label {"gradient" if kind else "soft"}" x="{at[0]:.1f}" y="{at[1] + 3.5:.1f}" '
                f'text-anchor="middle" font-size="10">{escape(label)}</text>' if at and label else "") + "</g>")


def _look(line: Line, most: float) -> tuple[str, float]:
    """The class of a line, and how thick it is: six orders of magnitude from the largest gradient to the thinnest."""
    norm = line.norm
    if norm is None:
        return "", 1.2
    if not isfinite(norm):
        return "with bad", 2.5
    if not norm:
        return "with zero", 1.2
    return "with", 1 + 2.5 * max(0.0, 1 + log10(norm / most) / 6)


def _arrowhead(end: Point, tip: Point) -> str:
    angle = atan2(tip[1] - end[1], tip[0] - end[0])
    corners = [(tip[0] + 8 * cos(angle + turn), tip[1] + 8 * sin(angle + turn)) for turn in (2.74, -2.74)]
    return '<polygon points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, *corners)) + '"/>'
