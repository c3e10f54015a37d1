"""The drawing of the memory over a step: areas on each other, one for each line that holds much."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from .colours import colours
from .drawing import Saving, page
from .memory import (
    BEFORE,
    ELSE,
    FLOWING,
    GRADIENTS,
    OTHERS,
    PARAMETERS,
    STATE,
    Sample,
    Step,
    heading,
    label,
    watched,
)
from .text import cut, size, where, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..nn import Module
    from ..optim import Optimizer

LINES = 8  # so many lines of the program have a colour of their own
SMALLEST = 200  # this part of the most is held by a line that has one
BINS = 400  # moments that are drawn
WIDE, HIGH, LEFT, TOP, BAND, ROW = 640, 260, 76, 44, 18, 18
# from the bottom up; lines come between what stays and what flows
KEPT, MOVING = (BEFORE, PARAMETERS, STATE, GRADIENTS), (OTHERS, FLOWING, ELSE)
SHADES = {BEFORE: "#7a8594", PARAMETERS: "#4f6d92", STATE: "#8a7bb0", GRADIENTS: "#b3246f", OTHERS: "#a9a08c",
    FLOWING: "#e27fb3", ELSE: "#b9c0c9"}
HUES = ("#2e8fd0", "#e08a1e", "#3aa565", "#d2504b", "#8f6ad0", "#b58a35", "#1fa6a6", "#c96aa9")


class StepDrawing(Saving):
    """What ``wengert.draw.step`` gives: ``step`` has the figures, ``result`` what the step has given.

    ``print`` shows who held how much when the most was held.
    """

    def __init__(self, step: Step) -> None:
        self.step, self.result = step, step.result

    def svg(self) -> str:
        """The picture as an SVG document."""
        return svg(self.step)

    def html(self) -> str:
        """A page with the picture."""
        return page(heading(self.step), self.svg())

    def makers(self) -> dict[str, Callable[[], str]]:
        """By the ends of names of files what makes their text."""
        return {".svg": self.svg, ".html": self.html}

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        rows = [f"{size(count):>10}  {label(who)}" for who, count in self.step.at_peak()]
        return "\n".join([heading(self.step), *rows])


def step(step: Callable[[], Any], model: Module | None = None, optimizer: Optimizer | None = None) -> StepDrawing:
    """Run one training step, and draw the memory that arrays held after each of its operations, by who held it: lines
    of the program, parameters, gradients, the state of the optimizer.

    ``step``: a function of no arguments that does all of a step. ``model``, ``optimizer``: whose parameters and state
    are shown as that.

    >>> import wengert as torch
    >>> model = torch.nn.Linear(100, 100)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> def train():
    ...     optimizer.zero_grad()
    ...     loss = model(torch.ones(50, 100)).tanh().sum()
    ...     loss.backward()
    ...     optimizer.step()
    >>> drawing = torch.draw.step(train, model, optimizer)
    >>> dict(drawing.step.at_peak())["parameters"]
    40400
    """
    if not callable(step):
        raise TypeError(f"draw.step() takes a function that does a training step, not {type(step).__name__}")
    return StepDrawing(watched(step, model, optimizer))


# -- what is drawn ----------------------------------------------------------------------------------------------------


class Chart:
    """``rows``: for each moment that is drawn the sample and its bytes by ``names``, which stand on each other."""

    def __init__(self, step: Step) -> None:
        bins = max(1, -(-len(step.samples) // BINS))
        self.samples: list[Sample] = []
        chosen: list[dict[Any, int]] = []
        for i, (sample, held) in enumerate(zip(step.samples, step.held())):
            if i % bins == 0:
                self.samples.append(sample)
                chosen.append(held)
            elif sample.total > self.samples[-1].total:
                self.samples[-1], chosen[-1] = sample, held
        largest: dict[Any, int] = {}
        for held in chosen:
            for who, count in held.items():
                if not isinstance(who, str):
                    largest[who] = max(count, largest.get(who, 0))
        least = max(sample.total for sample in self.samples) / SMALLEST
        best = [who for who in sorted(largest, key=lambda who: -largest[who])[:LINES] if largest[who] > least]
        lines = [who for who in largest if who in best]  # in the order in which they came
        self.names: list[Any] = [*KEPT, *lines, *MOVING]
        self.rows = [[held.get(who, 0) if who != OTHERS else sum(n for w, n in held.items()
            if not isinstance(w, str) and w not in best) for who in self.names] for held in chosen]
        self.peak = max(range(len(self.rows)), key=lambda i: self.samples[i].total)
        used = [any(row[k] for row in self.rows) for k in range(len(self.names))]
        self.names = [name for name, u in zip(self.names, used) if u]
        self.rows = [[n for n, u in zip(row, used) if u] for row in self.rows]
        self.most = max(max(map(sum, self.rows)), 1)

    def shade(self, who: Any) -> str:
        """The colour of a name."""
        lines = [name for name in self.names if not isinstance(name, str)]
        return SHADES[who] if isinstance(who, str) else HUES[lines.index(who)]

    def x(self, i: int) -> float:
        """Where a moment begins."""
        return LEFT + WIDE * i / len(self.samples)

    def y(self, count: float) -> float:
        """The height of so many bytes."""
        return TOP + BAND + HIGH * (1 - count / (self.most * 1.06))


def svg(step: Step) -> str:
    """The memory over a step as an SVG document."""
    chart = Chart(step)
    bottom = TOP + BAND + HIGH
    wide = LEFT + WIDE + 24
    high = bottom + 46 + ROW * len(chart.names)
    title = heading(step)
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wg" role="img" aria-label="{escape(title)}" width="{wide}" '
        f'height="{high}" viewBox="0 0 {wide} {high}" style="max-width: 100%">',
        f"<style>\n{colours()}.wg .grid {{ stroke: var(--wg-frame-line); stroke-width: 1; }}\n"
        ".wg .mark { stroke: var(--wg-ink); stroke-dasharray: 3 3; } .wg .band { fill: var(--wg-frame); "
        "stroke: var(--wg-frame-line); } .wg .area { stroke: var(--wg-page); stroke-width: 0.5; }\n"
        ".wg .moment { fill: transparent; } .wg .moment:hover { fill: var(--wg-ink); fill-opacity: 0.12; }\n</style>",
        f'<rect class="page" width="{wide}" height="{high}" rx="6"/>',
        f'<text class="soft" x="12" y="21" font-size="12">{escape(cut(title, 110))}</text>',
        *_grid(chart), *_bands(chart), *_areas(chart), *_peak(chart), *_moments(chart),
        f'<text class="soft" x="{LEFT}" y="{bottom + 17}" font-size="11">operations, in order →</text>',
        *_legend(chart, bottom + 36),
    ]
    return "\n".join([*rows, "</svg>", ""])


def _grid(chart: Chart) -> Iterator[str]:
    tick = 1
    while chart.most / tick > 5:
        tick *= 2
    for count in range(0, chart.most + 1, tick):
        y = chart.y(count)
        yield (f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDE}" y1="{y:.1f}" y2="{y:.1f}"/><text class="soft" '
            f'x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" font-size="11">{size(count)}</text>')


def _bands(chart: Chart) -> Iterator[str]:
    """The phases of the step, above the chart."""
    begin = 0
    for i in range(1, len(chart.samples) + 1):
        if i == len(chart.samples) or chart.samples[i].phase != chart.samples[begin].phase:
            phase, left, right = chart.samples[begin].phase, chart.x(begin), chart.x(i)
            text = phase if width(phase, 11) < right - left - 4 else ""
            yield (f'<g><title>{phase}</title><rect class="band" x="{left:.1f}" y="{TOP - 8}" '
                f'width="{right - left:.1f}" height="{BAND}"/><text class="soft" x="{(left + right) / 2:.1f}" '
                f'y="{TOP + 5}" text-anchor="middle" font-size="11">{text}</text></g>')
            begin = i


def _areas(chart: Chart) -> Iterator[str]:
    lower = [0] * len(chart.rows)
    for k, who in enumerate(chart.names):
        upper = [low + row[k] for low, row in zip(lower, chart.rows)]
        there = [f"{chart.x(i + d):.1f},{chart.y(n):.1f}" for i, n in enumerate(upper) for d in (0, 1)]
        back = [f"{chart.x(i + d):.1f},{chart.y(n):.1f}" for i, n in reversed([*enumerate(lower)]) for d in (1, 0)]
        yield (f'<polygon class="area" fill="{chart.shade(who)}" points="{" ".join(there + back)}">'
            f"<title>{escape(label(who))}</title></polygon>")
        lower = upper


def _peak(chart: Chart) -> Iterator[str]:
    x, y = chart.x(chart.peak) + WIDE / len(chart.rows) / 2, chart.y(chart.samples[chart.peak].total)
    text = size(chart.samples[chart.peak].total)
    end = x > LEFT + WIDE - 80
    yield (f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP + BAND - 6}" y2="{TOP + BAND + HIGH}"/>'
        f'<text x="{x + (-5 if end else 5):.1f}" y="{min(y - 4, TOP + BAND + HIGH):.1f}" '
        f'text-anchor="{"end" if end else "start"}" font-size="11" font-weight="bold">{text}</text>')


def _moments(chart: Chart) -> Iterator[str]:
    """What is shown where the mouse rests."""
    step = WIDE / len(chart.rows)
    for i, (sample, row) in enumerate(zip(chart.samples, chart.rows)):
        at = "" if sample.place is None else f" ({label(sample.place)})"
        held = "\n".join(f"{size(n)}  {label(who)}" for who, n in zip(chart.names, row) if n)
        text = f"{sample.phase}, after {sample.name}{at}\n{size(sample.total)} held\n{held}"
        yield (f'<rect class="moment" x="{chart.x(i):.1f}" y="{TOP + BAND}" width="{step:.2f}" height="{HIGH}">'
            f"<title>{escape(text)}</title></rect>")


def _legend(chart: Chart, y: float) -> Iterator[str]:
    """The colours, from the top down as they stand on each other."""
    for who, count in reversed(list(zip(chart.names, chart.rows[chart.peak]))):
        yield (f'<rect x="{LEFT}" y="{y - 9:.0f}" width="11" height="11" rx="2" fill="{chart.shade(who)}"/>'
            f'<text class="soft" x="{LEFT - 6}" y="{y:.0f}" text-anchor="end" font-size="11">{size(count)}</text>'
            f'<text x="{LEFT + 18}" y="{y:.0f}" font-size="11">{escape(_shown(who))}</text>')
        y += ROW


def _shown(who: Any) -> str:
    if isinstance(who, str):
        return who
    return cut(f"{where(who)}   {who.text}", 92)
