"""``torch.__config__``: what this build is made of.

>>> print(torch.__config__.show().splitlines()[0])
PyTorch built with:
"""

from __future__ import annotations

import os
import platform

import numpy as np

from ._version import __version__
from .functions.settings import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions below this package, as lines of text."""
    facts = (f"wengert {__version__}, which stands in for it",
        f"Python {platform.python_version()} ({platform.system()}, {platform.machine()})", f"NumPy {np.__version__}")
    return "PyTorch built with:\n" + "".join(f"  - {fact}\n" for fact in facts)


def parallel_info() -> str:
    """The threads of products and kernels, as lines of text."""
    return (f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\nstd::thread::hardware_concurrency() : "
        f"{os.cpu_count()}\n")
