"""The report on a terminal: plain text, or with rich, in colours."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, TextIO

from ..findings import SEVERITIES
from .source import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..findings import Finding, Report

MOST = 6  # parameters are named up to this number; JSON has all


def stream() -> TextIO:
    """Standard error; if the program has closed or removed it, that of the process."""
    found = sys.stderr
    if found is None or getattr(found, "closed", False):
        found = sys.__stderr__ or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    return found


def show(report: Report, to: TextIO) -> None:
    """Write a report to a stream: with rich on a terminal, if it is installed, else plain."""
    if coloured(to):
        try:
            from .coloured import show as show_coloured
        except ImportError:
            pass
        else:
            show_coloured(report, to)
            to.flush()
            return
    text = "\n" + plain(report, shutil.get_terminal_size().columns if isatty(to) else 0) + "\n"
    try:
        to.write(text)
    except UnicodeEncodeError:
        to.write(text.encode("ascii", "backslashreplace").decode())
    to.flush()


def isatty(to: Any) -> bool:
    """Whether a stream is a terminal."""
    return bool(getattr(to, "isatty", lambda: False)())


def coloured(to: TextIO) -> bool:
    """Whether to use colours: on a terminal that is not dumb, unless NO_COLOR is set; FORCE_COLOR wants them always."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return isatty(to) and os.environ.get("TERM") != "dumb"


def heading(report: Report) -> str:
    """One line about the whole of it."""
    counts = [(s, len([f for f in report if f.severity == s])) for s in reversed(SEVERITIES)]
    said = [counted(n, s, "info" if s == "info" else "") for s, n in counts if n]
    return f"wengert: {', '.join(said) or 'no findings'}{_extent(report)}"


def _extent(report: Report) -> str:
    steps, backwards = report.summary.get("steps", 0), report.summary.get("backwards", 0)
    if not steps and not backwards:
        return " (there was no backward() and no optimizer step)"
    return f" in {counted(backwards, 'backward pass', 'backward passes')} and {counted(steps, 'optimizer step')}"


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def named(parameters: list[str]) -> str:
    """Names of parameters, in few words."""
    if len(parameters) <= MOST:
        return ", ".join(parameters)
    return f"{', '.join(parameters[: MOST - 1])} and {len(parameters) - MOST + 1} more"


def plain(report: Report, width: int = 0) -> str:
    """The report as plain text; long lines are wrapped if ``width`` is given."""
    rows = [heading(report)]
    for finding in report:
        rows += ["", *rows_of(finding, min(width, 120))]
    return "\n".join(rows)


def rows_of(finding: Finding, width: int = 0) -> Iterator[str]:
    """The lines about a finding."""
    where = f"{finding.place}: " if finding.place is not None else ""
    yield from _wrapped(f"{where}{finding.severity}: {finding.message} [{finding.id}]", width, "", "    ")
    found = excerpt(finding.place)
    if found is not None:
        for number, line in enumerate(found.lines, found.first):
            yield f"{number:>6} | {line}".rstrip()
            if number == found.first:
                yield f"{'':>6} | {found.marks()}"
    if finding.parameters:
        yield from _wrapped(f"parameters: {named(finding.parameters)}", width, "    ", "      ")
    for text in finding.evidence:
        yield from _wrapped(text, width, "    - ", "      ")
    if finding.fix:
        yield from _wrapped(f"fix: {finding.fix}", width, "    ", "      ")


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    if not width:
        return [first + text]
    return textwrap.wrap(text, max(width, 40), initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False) or [first]
