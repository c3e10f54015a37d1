"""Arrays on a CUDA device: CuPy's, by the protocol of foreign arrays.

They are for the engine's operators; ``device="cuda"`` is not among the devices on which tensors can be made yet. The
extra ``wengert[cuda]`` brings CuPy.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..arrays.foreign import ForeignArray
from ..arrays.optional import require

if TYPE_CHECKING:
    import numpy as np

cupy = require("cupy", extra="cuda")


class CudaArray(ForeignArray):
    """A CuPy array with the interface of ``numpy.ndarray``."""

    __slots__ = ()
    xp, inner_type, device = cupy, cupy.ndarray, ("cuda", 0)
    left: Counter[str] = Counter()

    @classmethod
    def upload(cls, array: Any) -> Any:
        return cupy.asarray(array, order="K")

    def download(self) -> np.ndarray:
        return cupy.asnumpy(self.inner, order="A")  # type: ignore[no-any-return]

    def strided(self, dtype: np.dtype, shape: tuple[int, ...], strides: Any, start: int) -> Any:
        return cupy.ndarray(shape, dtype, self.owner.inner.data + start, strides)

    def address(self) -> int:
        return self.inner.data.ptr  # type: ignore[no-any-return]
