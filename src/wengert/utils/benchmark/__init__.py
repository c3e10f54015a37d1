"""``torch.utils.benchmark``: how long statements take, measured in blocks, and tables that compare them.

>>> from wengert.utils.benchmark import Timer
>>> timer = Timer("x.sum()", globals={"x": torch.ones(3)}, label="sums", description="short")
>>> timer.timeit(10).number_per_run
10
"""

from __future__ import annotations

from .utils.common import *  # noqa: F403
from .utils.common import __all__ as __all__
