"""A strict array type: NumPy's arrays behind the protocol of foreign arrays, never converted silently."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np

from wengert.arrays.foreign import ForeignArray


def diagonal(a: np.ndarray, *args: Any, **options: Any) -> np.ndarray:
    """``numpy.diagonal`` that can be written to, as other libraries' can."""
    found = np.diagonal(a, *args, **options)
    found.flags.writeable = True
    return found


class StrictArray(ForeignArray):
    """An array on a device that is not there: what asks for its elements in NumPy's hands gets an error."""

    __slots__ = ()
    xp, inner_type, device = np, (np.ndarray, np.generic), ("privateuseone", 0)
    left: ClassVar[Counter[str]] = Counter()
    functions = {"diagonal": diagonal}

    @classmethod
    def upload(cls, array: Any) -> Any:
        return array.copy(order="K")

    def fetch(self) -> np.ndarray:
        return self.inner.copy(order="K")

    def strided(self, dtype: np.dtype, shape: tuple[int, ...], strides: Any, start: int) -> Any:
        root = self.owner.inner
        memory = (root if root.flags.c_contiguous else root.T).reshape(-1).view(np.uint8)
        return np.ndarray(shape, dtype, memory, start, strides)

    def address(self) -> int:
        return self.inner.__array_interface__["data"][0]

    @classmethod
    def wrapped(cls, found: Any, *sources: Any) -> Any:
        return super().wrapped(np.asarray(found) if isinstance(found, np.generic) else found, *sources)
