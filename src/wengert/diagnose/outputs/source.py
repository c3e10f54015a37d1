"""Excerpts of source files: the lines of a place, and what of the first one is meant."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import east_asian_width

if TYPE_CHECKING:
    from ..places import Place


class Excerpt(NamedTuple):
    """Lines of a file from number ``first`` on, without the ``indent`` that they share; of the first one, ``begin`` to
    ``end`` is meant.
    """

    first: int
    lines: list[str]
    begin: int
    end: int
    indent: int

    def marks(self) -> str:
        """A line to stand below the first one."""
        text = self.lines[0]
        before = "".join(c if c == "\t" else " " * _width(c) for c in text[: self.begin])
        return before + "^" * sum(map(_width, text[self.begin : self.end]))


def excerpt(where: Place | None, most: int = 3) -> Excerpt | None:
    """The lines of the expression at a place, ``most`` at most; None if the source cannot be read."""
    if where is None or not (line := linecache.getline(where.file, where.line).rstrip("\r\n")).strip():
        return None
    last, begin, end = where.span or (where.line, 0, 0)
    if last == where.line and end:
        begin, end = _column(line, begin), _column(line, end)
    else:
        begin, end = _column(line, begin), len(line)
    begin = max(begin, len(line) - len(line.lstrip()))
    if not line[begin:end].strip():  # the file has changed
        begin, end = len(line) - len(line.lstrip()), len(line)
    rows = [line, *(linecache.getline(where.file, n).rstrip("\r\n")
        for n in range(where.line + 1, min(last, where.line + most - 1) + 1))]
    cut = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
    if last - where.line >= most:
        rows[-1] += " ..."
    return Excerpt(where.line, [row[cut:] for row in rows], begin - cut, end - cut, cut)


def _column(line: str, bytes_before: int) -> int:
    """The number of characters in the first bytes of a line."""
    return len(line.encode("utf-8", "surrogateescape")[:bytes_before].decode("utf-8", "replace"))


def _width(c: str) -> int:
    return 2 if east_asian_width(c) in "WF" else 1
