"""NumPy warns of infinities and NaN where PyTorch gives them in silence: off while the package computes, as it was for
everybody else.

NumPy keeps the setting (``numpy.errstate``) in a context variable. Setting that takes a tenth of the time of the
context manager.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy._core import umath

from .context import unbroken

STATE: ContextVar[Any] = getattr(umath, "_extobj_contextvar", None) or ContextVar("nothing that NumPy asks")
with np.errstate(all="ignore"):
    IGNORED = STATE.get(None)

quieten, restore = unbroken(STATE)  # give STATE a value, and back with the token
