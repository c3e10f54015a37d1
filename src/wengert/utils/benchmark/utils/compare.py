"""Tables of measurements: a row for each thing measured, a column for each way."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD, _END = ("\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", "\033[31m\033[1m",
    "\033[0m\033[0m")
_SPREAD = 0.1  # of the times, from which on a table may warn


class Colorize(enum.Enum):
    """Among which numbers the best are coloured."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _coloured(text: str, value: float, best: float) -> str:
    if value <= best * 1.01 or value <= best + 100e-9:
        return _BEST + text + _END
    for colour, applies in ((_GOOD, value <= best * 1.1), (_VERY_BAD, value >= best * 5), (_BAD, value >= best * 2)):
        if applies:
            return colour + text + _END
    return text


class _Table:
    """The measurements of one label."""

    def __init__(self, results: list[Measurement], colorize: Colorize, trim: bool, warn: bool) -> None:
        self.results, self.colorize, self.trim = results, colorize, trim
        self.warn = warn and any(m.has_warnings for m in results)
        self.unit, self.scale = select_unit(min(m.median for m in results))
        self.env = len({m.env for m in results}) > 1  # otherwise it has no information
        self.cells: dict[tuple[Any, Any], Measurement] = {(self._row(m), m.description): m for m in results}
        self.rows = sorted(ordered_unique(self._row(m) for m in results), key=lambda row: row[:2])
        self.columns = ordered_unique(m.description for m in results)

    def _row(self, m: Measurement) -> tuple[Any, ...]:
        return m.num_threads, str(m.env) if self.env else "", m.as_row_name

    def _numbers(self, column: Any) -> list[str]:
        """A column, with as many digits before and after the point as its numbers need."""
        found = [self.cells.get((row, column)) for row in self.rows]
        digits = [(m, math.ceil(math.log10(abs(m.median / self.scale)))) for m in found if m is not None]
        decimals = min(max(m.significant_figures - d, 0) for m, d in digits) if self.trim else 1
        width = max(d for _, d in digits) + decimals + (1 if decimals else 0)

        def text(m: Measurement | None) -> str:
            value = 1.0 if m is None else m.median / self.scale
            spread = None if m is None or not m.has_warnings else m.iqr / m.median
            if self.trim and m is not None:
                value = trim_sigfig(value, m.significant_figures)
            mark = f" (! {spread * 100:.0f}%)" if self.warn and spread is not None and spread > _SPREAD else ""
            shown = f"{value:>{width}.{decimals}f}{mark:>{7 if self.warn else 0}}"
            return shown if m is not None else " " * len(shown)

        return [text(m) for m in found]

    def _best(self, row: Any, column: Any) -> float:
        if self.colorize is Colorize.ROWWISE:
            return min(self.cells[row, c].median for c in self.columns if (row, c) in self.cells)
        rows = [r for r in self.rows if r[0] == row[0]]  # on the same number of threads
        return min(self.cells[r, column].median for r in rows if (r, column) in self.cells)

    def render(self) -> str:
        """The table as text."""
        widest = max(len(row[1]) for row in self.rows)
        names, above = [], None
        for row in self.rows:
            env = f"({row[1]})" if self.env and row[:2] != above else ""
            names.append(f"  {env.ljust(widest + 4)}{row[2]}")
            above = row[:2]
        head = ["", *(str(c) if c is not None else "" for c in self.columns)]
        body = list(zip(names, *(self._numbers(c) for c in self.columns)))
        widths = [max(map(len, column)) for column in zip(head, *body)]
        lines = ["  |  ".join(text.center(width) for text, width in zip(head, widths))]
        overall, threads = len(lines[0]), None
        for row, texts in zip(self.rows, body):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(overall, "-"))
            lines.append("  |  ".join(self._finished(row, texts, widths)))
        lines[:0] = [f"[{(' ' + (self.results[0].label or '') + ' ').center(overall - 2, '-')}]"]
        lines += ["", f"Times are in {unit_to_english(self.unit)}s ({self.unit}).", ""]
        if self.warn:
            lines.insert(-1, "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(lines)

    def _finished(self, row: Any, texts: Sequence[str], widths: list[int]) -> list[str]:
        found = [texts[0].ljust(widths[0])]
        for column, text, width in zip(self.columns, texts[1:], widths[1:]):
            text = text.center(width)
            m = self.cells.get((row, column))
            if self.colorize is not Colorize.NONE and m is not None:
                text = _coloured(text, m.median, self._best(row, column))
            found.append(text)
        return found


class Compare:
    """Tables of measurements: a table for each label, a row for each ``sub_label`` and number of threads, a column for
    each ``description``.

    >>> from wengert.utils.benchmark import Measurement, TaskSpec
    >>> table = Compare([Measurement(1, [2e-3], TaskSpec("f()", "", label="L", sub_label="row", description="column"))])
    >>> table.print()  # doctest: +NORMALIZE_WHITESPACE
    [------- L --------]
               |  column
    1 threads: ---------
          row  |   2.0
    <BLANKLINE>
    Times are in milliseconds (ms).
    <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = self._highlight_warnings = False
        self._colorize = Colorize.NONE

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements.

        Raises:
            ValueError: something else is among them; nothing is added then.
        """
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only figures that mean something."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the best and the worst of each column, or of each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark measurements that spread much."""
        self._highlight_warnings = True

    def __str__(self) -> str:
        grouped: dict[Any, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            grouped.setdefault(m.label, []).append(m)
        tables = (_Table(group, self._colorize, self._trim_significant_figures, self._highlight_warnings)
            for group in grouped.values())
        return "\n".join(table.render() for table in tables)

    def print(self) -> None:
        """Print the tables."""
        print(str(self))
