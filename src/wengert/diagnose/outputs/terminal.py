"""The report on a terminal: plain text, or with rich, in colours."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, TextIO

from .source import excerpt
from .wording import heading, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..findings import Finding, Report


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
