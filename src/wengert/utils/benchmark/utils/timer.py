"""Timers of statements."""

from __future__ import annotations

import enum
import textwrap
import timeit
from statistics import median
from typing import TYPE_CHECKING, Any

from .common import Measurement, TaskSpec, set_torch_threads

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

__all__ = ["Language", "Timer", "timer"]

timer = timeit.default_timer  # nothing runs on after a call has returned
_MANY = 2**31 - 1


class Language(enum.Enum):
    """What statements are written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a statement, as ``timeit.Timer`` does, with a warm-up and on one thread by default.

    Args:
        stmt: what is measured.
        setup: runs once before each block.
        global_setup: for statements in C++.
        timer: gives the time in seconds.
        globals: the names that the statement sees; ``torch`` is always among them.
        label: what tables are called; measurements of one label stand in one table.
        sub_label: the row.
        description: the column.
        env: a further label of rows, say the version.
        num_threads: how many threads compute.
        language: ``"python"``; statements in C++ are refused, as nothing compiles them.
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
        """Is refused: counting instructions needs a debugger for PyTorch's core.

        Raises:
            OSError: always.
        """
        raise OSError("instructions are counted by Valgrind in PyTorch's compiled core, which is not here; measure "
            "times instead")
