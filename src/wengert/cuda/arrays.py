"""Arrays on a CUDA device: CuPy's, by the protocol of foreign arrays. The extra ``wengert[cuda]`` brings CuPy.

One class is made of ``CudaArray`` for each device; its calls run with that device as the current one.
"""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from ..arrays.foreign import ForeignArray
from ..arrays.plain.special import INV_SQRT_2PI
from ..functions.checks import OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

try:
    cupy, cupyx, special = map(import_module, ("cupy", "cupyx", "cupyx.scipy.special"))
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


def _of_floats(compute: Callable[..., Any]) -> Callable[..., Any]:
    """``compute`` of arrays in single or double precision; others go by the plain definition."""

    def kernel(*arrays: Any, **options: Any) -> Any:
        return NotImplemented if options or any(a.dtype.char not in "fd" for a in arrays) else compute(*arrays)

    return kernel


def _gelu_grad(g: Any, x: Any) -> Any:
    return g * (special.ndtr(x) + x * cupy.exp(-0.5 * x * x) * INV_SQRT_2PI)


#: Kernels that are functions of CuPy's: in one launch, or a few. The plain definitions compute every branch of theirs.
_SPECIAL: dict[str, Callable[..., Any]] = {"gelu": lambda x: x * special.ndtr(x), "gelu_grad": _gelu_grad,
    "lgamma": special.gammaln, "sigmoid": special.expit,
    **{name: getattr(special, name) for name in ("digamma", "erf", "erfc", "erfcx", "erfinv", "log_ndtr",
        "ndtr", "ndtri")}}


class CudaArray(ForeignArray):
    """A CuPy array with the interface of ``numpy.ndarray``."""

    __slots__ = ()
    xp: ClassVar[Any] = cupy
    inner_type: ClassVar[Any] = cupy.ndarray
    device: ClassVar[tuple[str, int | None]] = ("cuda", 0)
    left: ClassVar[Counter[str]] = Counter()
    functions: ClassVar[dict[str, Callable[..., Any]]] = {"solve": _solve}
    without: ClassVar[frozenset[str]] = frozenset(("maximum.at", "minimum.at"))  # which compute in float32
    kernels: ClassVar[dict[str, Callable[..., Any]]] = {"add_at": _add_at,
        **{name: _of_floats(f) for name, f in _SPECIAL.items()}}

    @classmethod
    def upload(cls, array: Any) -> Any:
        with cls.on_device():
            return cupy.asarray(array, order="K")

    @classmethod
    def made(cls, name: str, shape: Any, dtype: np.dtype) -> Any:
        with cls.on_device():
            return getattr(cupy, name)(shape, dtype)

    @classmethod
    def from_dlpack(cls, source: Any) -> Any:
        with cls.on_device():
            return cupy.from_dlpack(source)

    @classmethod
    def on_device(cls) -> Any:
        """A context in which the class's device is the current one."""
        return _Current(cls.device[1] or 0)

    def fetch(self) -> np.ndarray:
        return cupy.asnumpy(self.inner, order="A")  # type: ignore[no-any-return]

    def strided(self, dtype: np.dtype, shape: tuple[int, ...], strides: Any, start: int) -> Any:
        return cupy.ndarray(shape, dtype, self.owner.inner.data + start, strides)

    def address(self) -> int:
        return self.inner.data.ptr  # type: ignore[no-any-return]

    def _called(self, call: Any, args: Any, kwargs: Any) -> Any:
        with self.on_device():
            return super()._called(call, args, kwargs)


class _Current:
    """A context in which a device is the current one; what CuPy says of too little memory is said as PyTorch does."""

    __slots__ = ("before", "index")

    def __init__(self, index: int) -> None:
        self.index = self.before = index

    def __enter__(self) -> None:
        self.before = cupy.cuda.runtime.getDevice()
        if self.before != self.index:
            cupy.cuda.runtime.setDevice(self.index)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.before != self.index:
            cupy.cuda.runtime.setDevice(self.before)
        if kind is not None and issubclass(kind, cupy.cuda.memory.OutOfMemoryError):
            from .memory import out_of_memory

            wanted = re.search(r"allocating ([\d,]+) bytes", str(error))
            size = int(wanted[1].replace(",", "")) if wanted else 0
            raise OutOfMemoryError(out_of_memory(size, self.index)) from error
