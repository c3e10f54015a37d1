"""The types of arrays that a tensor may hold as the result of an operator."""

from __future__ import annotations

import numpy as np

from .lazy import Lazy
from .storageless import StoragelessArray

#: Whatever else a forward gives is made a NumPy array. Packages that bring arrays of their own add their types.
ARRAYS: set[type] = {np.ndarray, Lazy, StoragelessArray}
