"""``torch.utils.benchmark``: how long statements take, measured in blocks, and tables that compare them.

>>> from wengert.utils.benchmark import Timer
>>> timer = Timer("x.sum()", globals={"x": torch.ones(3)}, label="sums", description="short")
>>> timer.timeit(10).number_per_run
10
"""

from __future__ import annotations

from .utils.common import (
    Colorize,
    Compare,
    Language,
    Measurement,
    TaskSpec,
    Timer,
    ordered_unique,
    select_unit,
    set_torch_threads,
    timer,
    trim_sigfig,
    unit_to_english,
)

__all__ = [
    "Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "ordered_unique", "select_unit",
    "set_torch_threads", "timer", "trim_sigfig", "unit_to_english",
]
