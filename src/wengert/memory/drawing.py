"""The picture of a plan: the memory over the step, and below it what of each block is held when."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ..draw.colours import colours
from ..draw.text import cut, duration, size
from .chain import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .plan import Plan

WIDE, HIGH, LEFT, TOP = 640, 200, 150, 40
ROWS = 420  # all blocks together are at most so high
KINDS = {"saved": ("#2e8fd0", "saved for the backward"), "plain": ("#3aa565", "output kept"),
    "again": ("#e08a1e", "forward that runs again"), "backward": ("#b3246f", "backward")}
STYLE = (".wg .grid { stroke: var(--wg-frame-line); } .wg .limit { stroke: var(--wg-bad); stroke-dasharray: 5 3; } "
    ".wg .area { fill: var(--wg-operation); stroke: var(--wg-operation-line); } .wg .band { fill: var(--wg-frame); }")


class _Axes:
    """Where times, bytes and blocks are drawn."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.cost = simulate(plan.chain, plan.schedule)
        self.times = plan.seconds()
        self.whole = sum(self.times) or 1.0
        self.least = self.whole / 2000  # what takes no time can be seen
        self.begins, at = [], 0.0
        for time in self.times:
            self.begins.append(at)
            at += max(time, self.least)
        self.whole = at
        self.most = max(plan.plain_peak, plan.peak, 1) * 1.05
        self.row = max(3.0, min(16.0, ROWS / len(plan.chain)))
        self.below = TOP + HIGH + 40

    def x(self, time: float) -> float:
        return LEFT + WIDE * time / self.whole

    def y(self, count: float) -> float:
        return TOP + HIGH * (1 - count / self.most)

    def end(self, at: int) -> float:
        return self.begins[at] + max(self.times[at], self.least)


def svg(plan: Plan) -> str:
    """The picture of a plan as an SVG document."""
    axes = _Axes(plan)
    high = axes.below + axes.row * len(plan.chain) + 40
    wide = LEFT + WIDE + 24
    title = plan.heading()
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wg" role="img" aria-label="{escape(title)}" width="{wide}" '
        f'height="{high:.0f}" viewBox="0 0 {wide} {high:.0f}" style="max-width: 100%">',
        f"<style>\n{colours()}{STYLE}\n</style>", f'<rect class="page" width="{wide}" height="{high:.0f}" rx="6"/>',
        f'<text class="soft" x="12" y="21" font-size="12">{escape(cut(title, 120))}</text>',
        *_memory(axes), *_blocks(axes), *_legend(axes, high - 14), "</svg>", ""]
    return "\n".join(rows)


def _memory(axes: _Axes) -> Iterator[str]:
    plan, cost = axes.plan, axes.cost
    for count, text in ((plan.plain_peak, "without a plan"), (plan.budget, "budget"), (0, "")):
        y = axes.y(count)
        if y < TOP - 2:
            continue
        kind = "limit" if text == "budget" else "grid"
        yield f'<line class="{kind}" x1="{LEFT}" x2="{LEFT + WIDE}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield (f'<text class="soft" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" font-size="11">'
            f"{f'{text} {size(count)}'.strip()}</text>")
    points = [f"{LEFT},{axes.y(0):.1f}"]
    for at, (most, after) in enumerate(zip(cost.during, cost.after)):
        left, right = axes.x(axes.begins[at]), axes.x(axes.end(at))
        points += [f"{x:.2f},{axes.y(y):.1f}" for x, y in ((left, most), (right, most), (right, after))]
    yield f'<polygon class="area" points="{" ".join(points)} {LEFT + WIDE},{axes.y(0):.1f}"/>'
    for at, (op, i, _) in enumerate(plan.schedule):
        left, right = axes.x(axes.begins[at]), axes.x(axes.end(at))
        text = f"{op} {plan.chain.blocks[i].name}: {size(cost.during[at])}, {duration(axes.times[at])}"
        yield (f'<rect fill="transparent" x="{left:.2f}" y="{TOP}" width="{right - left:.2f}" height="{HIGH}">'
            f"<title>{escape(text)}</title></rect>")
    yield (f'<text class="soft" x="{LEFT}" y="{TOP + HIGH + 16}" font-size="11">time → {duration(sum(axes.times))}'
        "</text>")


def _blocks(axes: _Axes) -> Iterator[str]:
    row = axes.row
    for i, block in enumerate(axes.plan.chain.blocks):
        y = axes.below + row * i
        if i % 2 == 0:
            yield f'<rect class="band" x="{LEFT}" y="{y:.1f}" width="{WIDE}" height="{row:.1f}"/>'
        if row >= 9:
            yield (f'<text class="soft" x="{LEFT - 6}" y="{y + row - 3:.1f}" text-anchor="end" font-size="10">'
                f"{escape(cut(block.name, 24))}</text>")
    for kind, i, begin, end in held(axes.plan):
        left, right = axes.x(axes.begins[begin]), axes.x(axes.end(end))
        y, colour = axes.below + row * i, KINDS[kind][0]
        text = f"{axes.plan.chain.blocks[i].name}: {KINDS[kind][1]}"
        yield (f'<rect fill="{colour}" x="{left:.2f}" y="{y + row * 0.15:.1f}" width="{max(right - left, 0.5):.2f}" '
            f'height="{row * 0.7:.1f}"><title>{escape(text)}</title></rect>')


def held(plan: Plan) -> list[tuple[str, int, int, int]]:
    """What is held: (kind, block, the first operation, the last one). Forwards that run again and backwards, too."""
    found: list[tuple[str, int, int, int]] = []
    plain: dict[int, int] = {}
    saved: dict[int, int] = {}
    ran: set[int] = set()
    events: list[tuple[str, int, int, int]] = []
    for at, (op, i, o) in enumerate(plan.schedule):
        if op == "forward":
            (plain if o is None else saved)[i] = at
            if i in ran:
                events.append(("again", i, at, at))
            ran.add(i)
        elif op == "free":
            found.append(("plain", i, plain.pop(i), at))
        else:
            found.append(("saved", i, saved.pop(i), at))
            events.append(("backward", i, at, at))
    found += [("plain", i, at, len(plan.schedule) - 1) for i, at in plain.items()]
    return found + events


def _legend(axes: _Axes, y: float) -> Iterator[str]:
    x: Any = LEFT
    for colour, text in KINDS.values():
        yield (f'<rect x="{x}" y="{y - 9:.0f}" width="11" height="11" rx="2" fill="{colour}"/>'
            f'<text x="{x + 16}" y="{y:.0f}" font-size="11">{text}</text>')
        x += 32 + 6 * len(text)
