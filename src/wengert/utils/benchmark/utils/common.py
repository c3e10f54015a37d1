"""What was measured, and what that says: medians, spreads, how many figures mean something."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig",
    "unit_to_english"]

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
    """Some runs of a statement.

    Args:
        number_per_run: how often the statement ran in each measured block.
        raw_times: how many seconds each block took.
        task_spec: the statement.
        metadata: kept for the user.

    >>> m = Measurement(10, [1e-3, 2e-3, 3e-3], TaskSpec("f()", "pass"))
    >>> m.median, m.title
    (0.0002, 'f()')
    """

    def __init__(self, number_per_run: int, raw_times: list[float], task_spec: TaskSpec,
            metadata: dict[Any, Any] | None = None) -> None:
        self.number_per_run, self.raw_times, self.task_spec, self.metadata = (number_per_run, raw_times, task_spec,
            metadata)

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
