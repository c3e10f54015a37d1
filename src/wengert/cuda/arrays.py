"""Arrays on a CUDA device: CuPy's, by the protocol of foreign arrays.

They are for the engine's operators; ``device="cuda"`` is not among the devices on which tensors can be made yet. The
extra ``wengert[cuda]`` brings CuPy.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from ..arrays.foreign import ForeignArray

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

try:
    cupy, cupyx = import_module("cupy"), import_module("cupyx")
except ImportError as error:
    raise ImportError("this needs cupy, which is not installed: pip install 'wengert[cuda]'") from error


def _solve(a: Any, b: Any) -> Any:
    """``linalg.solve`` that takes ``b`` as a vector only if it is one and broadcasts batches, as NumPy does."""
    if b.ndim == 1:
        return _solve(a, b[:, None])[..., 0]
    batch = cupy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return cupy.linalg.solve(*[cupy.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)])


def _add_at(out: Any, index: Any, values: Any) -> Any:
    cupyx.scatter_add(out, index, values)
    return out


class CudaArray(ForeignArray):
    """A CuPy array with the interface of ``numpy.ndarray``."""

    __slots__ = ()
    xp: ClassVar[Any] = cupy
    inner_type: ClassVar[Any] = cupy.ndarray
    device: ClassVar[tuple[str, int | None]] = ("cuda", 0)
    left: ClassVar[Counter[str]] = Counter()
    functions: ClassVar[dict[str, Callable[..., Any]]] = {"solve": _solve}
    without: ClassVar[frozenset[str]] = frozenset(("maximum.at", "minimum.at"))  # which compute in float32
    kernels: ClassVar[dict[str, Callable[..., Any]]] = {"add_at": _add_at}

    @classmethod
    def upload(cls, array: Any) -> Any:
        return cupy.asarray(array, order="K")

    def download(self) -> np.ndarray:
        return cupy.asnumpy(self.inner, order="A")  # type: ignore[no-any-return]

    def strided(self, dtype: np.dtype, shape: tuple[int, ...], strides: Any, start: int) -> Any:
        return cupy.ndarray(shape, dtype, self.owner.inner.data + start, strides)

    def address(self) -> int:
        return self.inner.data.ptr  # type: ignore[no-any-return]
