"""Timers of statements, what they measured, and tables that compare measurements."""

from __future__ import annotations

import dataclasses
import enum
import math
import textwrap
import timeit
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import NoReturn

__all__ = [
    "Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "ordered_unique", "select_unit",
    "set_torch_threads", "timer", "trim_sigfig", "unit_to_english",
]


_MAX_SIGNIFICANT_FIGURES = 4
_MIN_CONFIDENCE_INTERVAL = 25e-9  # the resolution of a clock
_WARN, _WARN_LOUDLY = 0.1, 0.25  # of the interquartile range, as a part of the median
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The different elements, in the order in which they come first."""
    return list(dict.fromkeys(elements))


def unit_to_english(u: str) -> str:
    """The name of a unit of time: ``"us"`` is a microsecond."""
    return _UNITS[u][0]


def select_unit(t: float) -> tuple[str, float]:
    """The best unit for a time, and how many seconds it has.

    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    name = {-3: "ns", -2: "us", -1: "ms"}.get(int(math.log10(t) // 3), "s")
    return name, _UNITS[name][1]


def trim_sigfig(x: float, n: int) -> float:
    """``x`` rounded to ``n`` significant figures.

    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    scale = 10 ** (math.ceil(math.log10(abs(x))) - n)
    return float(round(x / scale) * scale)


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Compute on ``n`` threads within."""
    from ....functions.settings import get_num_threads, set_num_threads

    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """What is measured, and how tables call it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """A line, or the whole statement if it has several and no label."""
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """The setup, if there is one."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup."""
        sections = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{part}\n" if "\n" in part else part for part in sections if part)


_FIELDS = frozenset(field.name for field in dataclasses.fields(TaskSpec))


class Measurement:
    """Some runs of a statement: ``raw_times``, the seconds that each block of ``number_per_run`` runs took.

    >>> m = Measurement(10, [1e-3, 2e-3, 3e-3], TaskSpec("f()", "pass"))
    >>> m.median, m.title
    (0.0002, 'f()')
    """

    def __init__(self, number_per_run: int, raw_times: list[float], task_spec: TaskSpec,
            metadata: dict[Any, Any] | None = None) -> None:
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.task_spec, self.metadata = task_spec, metadata

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:  # the task's are ours
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds that one run took, block by block."""
        return [t / self.number_per_run for t in self.raw_times]

    def _quantile(self, q: float) -> float:
        import numpy as np

        if not self.raw_times:
            raise RuntimeError("no times were measured")
        return float(np.quantile(self.times, q))

    @property
    def median(self) -> float:
        """The time in the middle."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """The average."""
        return sum(self.times) / len(self.times)

    @property
    def iqr(self) -> float:
        """The range in which the middle half of the times lies."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median are significant, from the spread of the middle times, at 90 % confidence."""
        import numpy as np

        n = len(self.raw_times)
        middle = sorted(self.times)[n // 4 : math.ceil(3 * n / 4)]
        interval = max(1.645 * float(np.std(middle)) / math.sqrt(len(middle)), _MIN_CONFIDENCE_INTERVAL)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MAX_SIGNIFICANT_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread too much to be meaningful."""
        return bool(self._warning())

    def _warning(self) -> str:
        spread = self.iqr / self.median
        if len(self.raw_times) < 2 or spread <= _WARN:
            return ""
        advice = ("This could indicate system fluctuation." if spread < _WARN_LOUDLY
            else "This suggests significant environmental influence.")
        return f"  WARNING: Interquartile range is {spread * 100:.1f}% of the median measurement.\n           {advice}"

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the interquartile range is less than ``threshold`` of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """What was measured."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What the row of a table is called."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n, (unit, scale) = len(self.raw_times), select_unit(self.median)
        lines = [object.__repr__(self), self.task_spec.summarize(),
            f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}"]
        if n >= 4:
            low, high = self._quantile(0.25), self._quantile(0.75)
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        blocks = (f"{n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement' if n > 1 else ''}")
        lines.append(f"  {blocks}, {self.num_threads} thread{'s' if self.num_threads > 1 else ''}")
        if self.has_warnings:
            lines.append(self._warning())
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each statement, of the times of all."""
        grouped: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            grouped.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, [t for m in group for t in m.times], spec) for spec, group in grouped.items()]


timer = timeit.default_timer  # nothing runs on after a call has returned
_MANY = 2**31 - 1


class Language(enum.Enum):
    """What statements are written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a statement, as ``timeit.Timer`` does, with a warm-up and on one thread by default.

    ``setup`` runs once before each block of ``stmt``, which sees ``globals`` and ``torch``. In tables measurements of
    one ``label`` stand together, ``sub_label`` and ``env`` name the row, ``description`` the column. Statements in C++
    (``language``, ``global_setup``) are refused, as nothing compiles them.
    """

    _timer_cls: Any = timeit.Timer

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
            timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None, label: str | None = None,
            sub_label: str | None = None, description: str | None = None, env: str | None = None, num_threads: int = 1,
            language: Language | str = Language.PYTHON) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        names = dict(globals or {})
        if language in (Language.CPP, "cpp", "c++"):
            raise ValueError("Timer measures Python here: there is no compiler for statements in C++")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be "
                "moved to `setup`.")
        if "torch" not in names:
            import sys

            names["torch"] = sys.modules[__name__.partition(".")[0]]
        stmt, setup = (textwrap.dedent(code).lstrip("\n").rstrip() for code in (stmt, setup))
        self._globals, self._language = names, Language.PYTHON
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)  # no clock shows less

    def timeit(self, number: int = 1000000) -> Measurement:
        """One block of ``number`` runs, after a warm-up of a hundredth of that."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Is refused: see ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> None:
        """Is refused: see ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _estimate_block_size(self, min_run_time: float) -> int:
        """So many runs that the clock's own time is a ten-thousandth of theirs."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = median(self._timeit(0) for _ in range(5))
            number = 1
            while True:
                taken = self._timeit(number)
                if ((overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time
                        or number * 10 > _MANY):
                    return number
                number *= 10

    def _blocks(self, enough: Callable[[list[float], int], bool], min_run_time: float, most: float,
            callback: Any) -> Measurement:
        number = self._estimate_block_size(min_run_time)
        times: list[float] = []
        total = 0.0
        with set_torch_threads(self._task_spec.num_threads):
            while total < most and not (total >= min_run_time and enough(times, number)):
                times.append(self._timeit(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def blocked_autorange(self, callback: Callable[[int, float], NoReturn] | None = None,
            min_run_time: float = 0.2) -> Measurement:
        """Blocks for at least ``min_run_time`` seconds, each so long that the clock does not matter.

        ``callback`` is called with the number of runs and the time of each block.
        """
        return self._blocks(lambda times, number: True, min_run_time, float("inf"), callback)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
            callback: Callable[[int, float], NoReturn] | None = None) -> Measurement:
        """Blocks until the interquartile range is below ``threshold`` of the median, or ``max_run_time`` has passed."""

        def enough(times: list[float], number: int) -> bool:
            return len(times) > 3 and Measurement(number, times, self._task_spec).meets_confidence(threshold)

        return self._blocks(enough, min_run_time, max_run_time, callback)

    def collect_callgrind(self, number: int = 100, **options: Any) -> NoReturn:
        """Raise ``OSError``: counting instructions needs a debugger for PyTorch's core."""
        raise OSError("instructions are counted by Valgrind in PyTorch's compiled core, which is not here; measure "
            "times instead")


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
        """Add measurements; ``ValueError`` if something else is among them, and nothing is added then."""
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
