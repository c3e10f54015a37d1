"""The report on a terminal in colours, with rich (which the extra ``explain`` installs)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from .source import excerpt
from .wording import heading, named

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..findings import Finding, Report

COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


def show(report: Report, to: TextIO) -> None:
    """Write a report to a stream."""
    draw(report, Console(file=to, highlight=False, soft_wrap=False, force_terminal=True))


def draw(report: Report, console: Console) -> None:
    """Write a report to a console, at most 110 columns wide."""
    width = min(console.width, 110)
    console.print()
    worst = report[0].severity if report else ""
    console.print(Text(heading(report), style=f"bold {COLOURS.get(worst, 'green')}"), width=width)
    for finding in report:
        console.print()
        console.print(_finding(finding), width=width)
    if report:
        console.print(Rule(style="dim"), width=width)


def _finding(finding: Finding) -> RenderableType:
    colour = COLOURS[finding.severity]
    title = Text.assemble((f" {finding.severity} ", f"bold reverse {colour}"), " ",
        (str(finding.place) if finding.place is not None else "", "bold"), "  ", (finding.id, colour))
    title.no_wrap, title.overflow = True, "ellipsis"
    rule = Rule(title, align="left", style=f"dim {colour}", characters="─")
    parts: list[RenderableType] = [rule, Padding(Text(finding.message), (0, 1))]
    source = _source(finding, colour)
    if source is not None:
        parts.append(Padding(source, (1, 1)))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=10)
    table.add_column()
    if finding.parameters:
        table.add_row(Text("parameters", style="dim"), Text(named(finding.parameters)))
    for i, text in enumerate(finding.evidence):
        item = Table.grid(padding=(0, 1))
        item.add_row(Text("•", style="dim"), Text(text))
        table.add_row(Text("evidence" if not i else "", style="dim"), item)
    if finding.fix:
        table.add_row(Text("fix", style="bold green"), Text(finding.fix))
    if table.row_count:
        parts.append(Padding(table, (0, 1) if source is not None else (1, 1, 0, 1)))
    return Group(*parts)


def _source(finding: Finding, colour: str) -> RenderableType | None:
    found = excerpt(finding.place)
    if found is None:
        return None
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(found.lines, found.first):
        text = Text(line)
        if number == found.first:
            text.stylize(f"bold underline {colour}", found.begin, found.end)
        table.add_row(str(number), "│", text)
    return table


