"""What a tensor is without its history: shape, type, place in memory."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import FOREIGN
from ..arrays.layouts import is_in_format
from ..arrays.lazy import address, marks, window
from ..arrays.storageless import StoragelessArray
from ..arrays.strides import steps
from ..tensor.autograd_meta import INFERENCE_VERSION, Released
from ..tensor.exchange import refuse_pointer
from ..tensor.types import CPU, META, Size, contiguous_format, device, strided
from .devices import device_of
from .memory import block_of

if TYPE_CHECKING:
    from ..graph.node import Node
    from ..tensor._methods import Methods
    from ..tensor.autograd_meta import Meta
    from ..tensor.tensor import Tensor
    from ..tensor.types import device as Device
else:
    Methods = object  # the operators become methods in ``surface``; type checkers read them in _methods.pyi


#: What attributes are that have no room for it where they are defined.
ATTRIBUTES = {
    "requires_grad": "Whether operations on it are recorded, so that a backward reaches it; may be set on leaves.",
    "is_leaf": "Whether it is no result of a recorded operation: a backward gives leaves their ``grad``.",
    "grad_fn": "The node of the operation that made it; None for a leaf.",
    "output_nr": "Which result of its node it is.",
    "retains_grad": "Whether a backward leaves its gradient in ``grad`` although it is no leaf: ``retain_grad()``.",
    "shape": "The sizes of its dimensions.", "ndim": "The number of its dimensions.",
    "dtype": "The type of its numbers.",
    "device": "Where its numbers are.", "layout": "How its numbers are stored: ``torch.strided``, or sparse.",
    "itemsize": "Bytes of one element.", "nbytes": "Bytes of all elements.",
    "is_meta": "Whether it is on the device ``meta``, without numbers.",
    "is_nested": "Whether its parts differ in size.",
    "is_sparse": "Whether it is stored by coordinates.", "is_sparse_csr": "Whether it is stored by rows.",
    "is_quantized": "False: numbers are not quantized.",
    **{f"is_{name}": f"Whether it is on such a device: {name}." for name in (
        "cpu", "cuda", "ipu", "maia", "mps", "xla", "xpu")},
    "is_mkldnn": "Whether it is in a layout of oneDNN's: never.",
}


def _entry(row: tuple[int, ...], dim: int) -> int:
    """The entry of one dimension."""
    n = len(row)
    if not n:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return row[dim]


class Geometry(Methods):
    """Members of ``Tensor`` that read the geometry of its array, ``_wg_data``; ``members`` puts them on the class."""

    __slots__ = ()

    if TYPE_CHECKING:
        _wg_data: np.ndarray
        _wg_edge: tuple[Node, int] | None
        _wg_meta: Meta | None
        _wg_vc: list[int]

    # one property each: function modes tell them apart by identity
    is_xla, is_ipu, is_maia, is_xpu, is_mps, is_mkldnn = (property(lambda self: False) for _ in range(6))
    is_quantized, is_nested, is_sparse, is_sparse_csr = (property(lambda self: False) for _ in range(4))
    layout = property(lambda self: strided)
    is_cuda = property(lambda self: self.device.type == "cuda")
    is_cpu = property(lambda self: self.device.type == "cpu")
    # whether one cannot look at its numbers
    _wg_opaque = property(lambda self: self._wg_dispatches or type(self._wg_data) is StoragelessArray)
    is_meta = property(lambda self: type(self._wg_data) is StoragelessArray and self._wg_data.device == "meta")

    @property
    def shape(self) -> Size:
        return Size(self._wg_data.shape)

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return Size(self._wg_data.shape) if dim is None else _entry(self._wg_data.shape, dim)

    @property
    def dtype(self) -> dt.dtype:
        return dt._OF_NUMPY.get(self._wg_data.dtype) or dt.of(self._wg_data.dtype)

    @property
    def device(self) -> Device:
        a = self._wg_data
        if type(a) is np.ndarray:
            return CPU
        return device_of(a) if type(a) is not StoragelessArray else META if a.device == "meta" else device(a.device)

    @property
    def ndim(self) -> int:
        return self._wg_data.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self._wg_data.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self._wg_data.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element."""
        return self._wg_data.itemsize

    @property
    def itemsize(self) -> int:
        return self._wg_data.itemsize

    @property
    def nbytes(self) -> int:
        return self._wg_data.nbytes

    def get_device(self) -> int:
        """The number of its device; -1 on the CPU."""
        where = self.device
        return -1 if where.type in ("cpu", "meta") or where.index is None else where.index

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours along each dimension, in elements."""
        strides = steps(self._wg_data)
        return strides if dim is None else _entry(strides, dim)

    def storage_offset(self) -> int:
        """Where this tensor begins in its memory, in elements."""
        a = b = window(self._wg_data)
        if type(a) in FOREIGN:
            return a.start() // a.itemsize
        while isinstance(b.base, np.ndarray):
            b = b.base
        return (address(a) - address(b)) // a.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        refuse_pointer(self)
        return address(self._wg_data) if self._wg_data.size and type(self._wg_data) is not StoragelessArray else 0

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the elements lie in memory in order."""
        if memory_format is not contiguous_format:
            return is_in_format(self._wg_data, memory_format)
        return self._wg_data.flags.c_contiguous

    def is_floating_point(self) -> bool:
        """Whether the type is a floating one."""
        return self._wg_data.dtype.kind in "fV"

    def is_complex(self) -> bool:
        """Whether the type is complex."""
        return self._wg_data.dtype.kind in "cW"

    def is_signed(self) -> bool:
        """Whether the type has negative numbers."""
        return self.dtype.is_signed

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return self._wg_vc is INFERENCE_VERSION or type(self._wg_vc) is Released

    def is_conj(self) -> bool:
        """Whether this is a view of numbers that are conjugated when they are read or written."""
        return marks(self._wg_data)[0]

    def is_neg(self) -> bool:
        """Whether this is a view of numbers whose sign is changed when they are read or written."""
        return marks(self._wg_data)[1]

    @property
    def volatile(self) -> bool:
        """Always False, with a warning: PyTorch 0.3's word for ``no_grad``."""
        warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
        return False

    @volatile.setter
    def volatile(self, value: Any) -> None:
        warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2)

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked: never."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes see the memory, as after :meth:`share_memory_`."""
        array = window(self._wg_data)
        return type(array) is np.ndarray and block_of(array) is not None

    def _is_zerotensor(self) -> bool:
        return False

    def resolve_conj(self: Any) -> Tensor:
        """The tensor itself, or a copy that is no lazy conjugate."""
        return self.clone() if self.is_conj() else self

    def resolve_neg(self: Any) -> Tensor:
        """The tensor itself, or a copy that is no lazy negative."""
        return self.clone() if self.is_neg() else self

    def is_set_to(self, tensor: Tensor) -> bool:
        """Whether both are the same window of the same memory."""
        a, b = self._wg_data, tensor._wg_data
        return a.shape == b.shape and a.strides == b.strides and address(a) == address(b) and marks(a) == marks(b)
