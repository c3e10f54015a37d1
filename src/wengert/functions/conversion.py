"""Methods that change a tensor's type, device or layout."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import new_filled
from ..arrays.errors import warn_once
from ..arrays.layouts import format_name, is_in_format, seems, strides_for
from ..arrays.lazy import window as plain_window
from ..arrays.storageless import StoragelessArray
from ..dispatch.meta_device import NO_DATA
from ..dispatch.torch_dispatch import dispatching
from ..graph.modes import modes
from ..tensor import classes
from ..tensor.autograd_meta import bump, edge_of, requires_grad
from ..tensor.copy_slices import rebase
from ..tensor.exchange import refuse_storage
from ..tensor.functions import function, inplace_function
from ..tensor.inplace import check_writable
from ..tensor.namespaces import TRACED_OPS
from ..tensor.record import undifferentiable
from ..tensor.tensor import Tensor
from ..tensor.types import CPU, contiguous_format, preserve_format, strided
from ..tensor.types import device as device_type
from . import legacy_constructors
from .creation import finish, without_numbers
from .devices import brought, device_of, hosted, placed
from .legacy_constructors import by_keyword, legacy
from .places import described
from .sizes import sizes_given
from .storage import UntypedStorage, look_at, window
from .typed_storage import LEGACY_STORAGES, TypedStorage


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
        memory_format: Any = preserve_format, other: Any = None) -> Tensor:
    """The tensor with another dtype or on another device; itself where nothing changes and ``copy`` is False."""
    dtype, device, flags = _by_place(args, dtype, device)
    if other is not None:
        dtype, device = other.dtype, other.device
    if isinstance(dtype, type):
        dtype = dt.OF_TYPES[dtype]
    if dtype is not None and not isinstance(dtype, dt.dtype):
        raise TypeError(f"to() received an invalid combination of arguments - got (dtype={type(dtype).__name__})")
    there = self if device is None else _on(self, device, dtype, memory_format)
    if there is not self:
        return there
    if len(flags) > 1:
        copy = flags[1]  # the first is non_blocking
    kept = (memory_format is preserve_format or memory_format is None
        or format_name(memory_format) == "preserve_format")
    if dtype is not None and dtype.np is not self._wg_data.dtype and dtype.np != self._wg_data.dtype:
        t = function("cast")(self, dtype)
        if not kept:
            t._wg_data = t.detach().clone(memory_format=memory_format)._wg_data
        return t
    if not copy and (kept or seems(self._wg_data) == format_name(memory_format)):
        return self
    m = modes()
    if m.dispatch or dispatching((self,)):
        return function("cast")(self, self.dtype)
    return self.clone() if kept else self.clone(memory_format=memory_format)


def _on(self: Tensor, device: Any, dtype: Any, memory_format: Any) -> Tensor:
    """``to`` another device: the tensor itself if it is there."""
    where = None if device is CPU else placed(device)
    if where is not None and where.type == "meta":
        return self if self.is_meta else _moved(self, dtype, memory_format)
    if self.is_meta:
        raise NotImplementedError(NO_DATA)
    if where is None and type(self._wg_data) is np.ndarray:
        return self
    there = brought(self, where)
    return self if there is self else to(there, dtype=dtype, memory_format=memory_format)


def _by_place(args: tuple[Any, ...], dtype: Any, device: Any) -> tuple[Any, Any, list[bool]]:
    """The dtype, the device and the flags among the positional arguments of ``to``, which may stand in any order."""
    flags: list[bool] = []
    for a in args:
        kind = type(a)
        if kind is dt.dtype:
            dtype = a
        elif kind is str or kind is device_type:
            device = a
        elif isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, (str, device_type, dt.dtype)):
            dtype, device = (a, device) if isinstance(a, dt.dtype) else (dtype, a)
        elif isinstance(a, bool):
            flags.append(a)
        elif isinstance(a, int):
            device = device_type(a)
        elif isinstance(a, type) and a in dt.OF_TYPES:
            dtype = dt.OF_TYPES[a]
        elif a is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(a).__name__})")
    return dtype, device, flags


def _moved(self: Tensor, dtype: Any, memory_format: Any) -> Tensor:
    """``to("meta")``: the shape and the type; what was recorded leads back to this tensor."""
    if modes().grad and requires_grad(self):
        found = to(self, dtype=dtype, memory_format=memory_format, copy=True)
    else:
        found = Tensor._wg_wrap(self._wg_data)
    array = without_numbers(found._wg_data)
    found._wg_data = array if dtype is None else array.astype(dtype.np)
    return found


def _to(name: str, target: Any) -> Any:
    def method(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
        return to(self, target, memory_format=memory_format)

    return described(method, name, f"The tensor as {target!r}.")


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    """The name of the tensor's type, or the tensor in another type."""
    if dtype is None:
        kind = "meta" if self.is_meta else device_of(self._wg_data).type
        return f"torch.{'' if kind == 'cpu' else f'{kind}.'}{dt.scalar_name(self._wg_data.dtype)}Tensor"
    if isinstance(dtype, str):
        where, dot, name = dtype.removeprefix("torch.").removesuffix("Tensor").rpartition(".")
        if dot:
            self = to(self, where)
        found = next((k for k, v in dt.SCALAR_NAMES.items() if v == name), None)
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = dt.by_name(found)
    elif isinstance(dtype, LegacyType):
        dtype = dtype.dtype
    return to(self, dtype)


class LegacyType:
    """``torch.FloatTensor`` and its kin: constructors from before ``dtype=``."""

    __module__ = "torch"
    is_cuda = is_sparse = False
    layout = strided

    def __init__(self, name: str, dtype: dt.dtype) -> None:
        self.__name__, self.dtype = name, dtype

    def __or__(self, other: Any) -> Any:  # in annotations: ``LongTensor | None``
        return Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007

    def __call__(self, *args: Any, device: Any = None, **named: Any) -> Tensor:
        if named:
            args = by_keyword(args, named)
        return finish(legacy(args, self.dtype.np, device))

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor with its elements in order in memory: itself if they are."""
    kind = memory_format or contiguous_format
    if type(self) is classes.Batched_:  # where the method is called by way of this class
        return self.contiguous(kind)
    if is_in_format(self._wg_data, kind):
        return self
    if kind is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return function("clone")(self, memory_format=kind)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU: itself if it is there, else a copy, through which gradients pass."""
    if self.is_meta:
        raise NotImplementedError(NO_DATA)
    if type(self._wg_data) is np.ndarray:
        return self
    return to(self, CPU) if memory_format is None else to(self, CPU, memory_format=memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a GPU: itself if it is there, else a copy, through which gradients pass."""
    where = device_type("cuda") if device is None else device_type(device)
    if where.type != "cuda":
        raise ValueError(f"Invalid device, must be cuda device, but got {where}")
    return to(self, where) if memory_format is None else to(self, where, memory_format=memory_format)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the type of ``other``."""
    return to(self, other.dtype) if self.device == other.device else to(self, other.device, other.dtype)


def _as(name: str) -> Any:
    def method(self: Tensor, other: Tensor) -> Tensor:
        return getattr(self, name)(other.shape)  # type: ignore[no-any-return]

    return described(method, f"{name}_as", f"``{name}`` with the shape of ``other``.")


view_as, reshape_as, expand_as = map(_as, ("view", "reshape", "expand"))
OF_OTHERS = frozenset(("view_as", "reshape_as", "expand_as"))


def sum_to_size(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Sum until the shape is ``size``, to which the tensor's shape must broadcast."""
    shape = sizes_given("sum_to_size", sizes, size)
    if shape == self._wg_data.shape and shape:
        return self
    if self._wg_data.dtype.kind in "biu":  # sums of integers are int64
        self = self.to(dt.int64)
    if (len(shape) > self._wg_data.ndim
            or any(a not in (1, b) for a, b in zip(reversed(shape), reversed(self._wg_data.shape)))):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    return TRACED_OPS.sum_to(self, shape)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write ``src`` (broadcast, converted) into this tensor's memory."""
    return inplace_function("copy")(self, src)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere."""
    return inplace_function("fill")(self, value)


def zero_(self: Tensor) -> Tensor:
    """Write 0 everywhere."""
    return inplace_function("zero")(self)


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make this tensor look at the memory of ``source``: a tensor or a storage, whole or from an offset with sizes and
    strides.

    >>> torch.zeros(1).set_(torch.arange(4.0).untyped_storage(), 1, (2,), (2,))
    tensor([1., 3.])
    """
    m = modes()
    if m.grad_scope is not None:
        m.grad_scope.check(self, "set_")
    given = source if isinstance(source, Tensor) else None
    if classes.mapping is not None and classes.mapping.holds_batched((self, given)):
        classes.mapping.refuse_write(self, classes.mapping.innermost((self, given)), "aten::set_")
        return self  # of each example in turn, says PyTorch, which the batch does not see
    if any(t is not None and t._wg_meta is not None and t._wg_meta.tangents for t in (self, given)):
        raise NotImplementedError(
            "Trying to use forward AD with set_ that does not support it because it has not been implemented yet.")
    recording = m.grad and (requires_grad(self) or (given is not None and requires_grad(given)))
    if given is not None and given._wg_data.dtype != self._wg_data.dtype:
        raise RuntimeError(f"Could not set tensor of type {dt.c_name(given._wg_data.dtype)} to a tensor of type "
            f"{dt.c_name(self._wg_data.dtype)}")
    if source is not None:
        _check_device(self, source)
    check_writable(self, recording, m, shared=True)
    if source is None:
        array = new_filled(self._wg_data, np.empty, 0, self._wg_data.dtype)
    elif given is not None and size is None:
        array = plain_window(given._wg_data)
    else:
        if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
            ours, theirs = dt.c_name(self._wg_data.dtype), dt.scalar_name(source.dtype.np)
            raise RuntimeError(f"Expected a Storage of type {ours} or an UntypedStorage, but got type {theirs} for "
                "argument 1 'storage'")
        storage = window(given._wg_data)[0] if given is not None else source.untyped()
        item = self._wg_data.itemsize
        shape = (storage.nbytes() // item,) if size is None else tuple(size)
        strides = strides_for(shape, range(len(shape))) if stride is None else tuple(stride)
        array = look_at(storage, storage_offset, shape, strides, self.dtype)
    bump(self)
    if recording:
        node = undifferentiable("set_", self)
        node.shape, node.edges = array.shape, (edge_of(self), None if given is None else edge_of(given))
        rebase(self, node)
    self._wg_data = array
    if self._wg_meta is not None:
        self._wg_meta.accumulator = None  # which knows the old shape
    return self


def _check_device(self: Tensor, source: Any) -> None:
    ours, theirs = self.device, source.device
    if ours.type != theirs.type and not (hosted(ours) and hosted(theirs)):
        raise RuntimeError(f'Attempted to set the storage of a tensor on device "{ours.type}" to a storage on '
            f'different device "{theirs.type}".  This is no longer allowed; the devices must match.')


def storage(self: Tensor) -> Any:
    """The memory that the tensor looks at, as elements of its type."""
    warn_once("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
        "storage class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()")
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor looks at, as bytes.

    >>> torch.arange(6.0)[2:].untyped_storage().nbytes()
    24
    """
    refuse_storage(self)
    found = window(self._wg_data)[0]
    found.meta, found.wrapped = self.is_meta, self._wg_dispatches and type(self._wg_data) is StoragelessArray
    return found


def storage_type(self: Tensor) -> Any:
    """The class of the old typed storage of this type."""
    return LEGACY_STORAGES.get(f"{dt.scalar_name(self._wg_data.dtype)}Storage", TypedStorage)


def _put_each(name: str, callable: Any, self: Tensor, **others: Tensor) -> Tensor:
    """Put ``callable(value, *values of others)`` in place of every value."""
    if any(map(requires_grad, (self, *others.values()))):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self.is_meta and not others:  # no values
        return self
    refuse_storage(self)
    if self.layout is not strided:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    for argument, t in others.items():
        if t._wg_data.dtype != self._wg_data.dtype or t.layout is not strided:
            label = f"'{argument}'" if len(others) == 1 else f"argument '{argument}'"
            raise TypeError(f"{name}: expected {self.type()} for {label} (got {t.type()})")
    rows = [np.broadcast_to(t._wg_data, self._wg_data.shape) for t in (self, *others.values())]
    for at in np.ndindex(self._wg_data.shape):
        self._wg_data[at] = callable(*(row[at].item() for row in rows))
    return self


def apply_(self: Tensor, callable: Any) -> Tensor:
    """Put ``callable(value)`` in place of every value."""
    return _put_each("apply_", callable, self)


def map_(self: Tensor, other: Tensor, callable: Any) -> Tensor:
    """Put ``callable(value, other value)`` in place of every value."""
    return _put_each("map_", callable, self, other=other)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Put ``callable(value, value of x, value of y)`` in place of every value."""
    return _put_each("map2_", callable, self, x=x, y=y)


def share_memory_(self: Tensor) -> Tensor:
    """Move to memory that other processes see as well: what one of them writes in place, all read.

    >>> torch.ones(2).share_memory_().is_shared()
    True
    """
    refuse_storage(self)
    from .shared_memory import share

    share([self])
    return self


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Accepted for compatibility: host memory needs no pinning on the CPU."""
    return self


METHODS: dict[str, Any] = {
    f.__name__: f
    for f in (to, contiguous, cpu, cuda, type_as, view_as, reshape_as, expand_as, sum_to_size, copy_, fill_, zero_,
            set_, share_memory_, pin_memory, storage, untyped_storage, storage_type, apply_, map_, map2_)
} | {"type": type_, "_typed_storage": storage, "new": legacy_constructors.new}
type_.__name__ = type_.__qualname__ = "type"
_NAMES = {
    "half": dt.float16, "bfloat16": dt.bfloat16, "float": dt.float32, "double": dt.float64, "chalf": dt.complex32,
    "cfloat": dt.complex64, "cdouble": dt.complex128,
    "byte": dt.uint8, "char": dt.int8, "short": dt.int16, "int": dt.int32, "long": dt.int64, "bool": dt.bool_,
}
METHODS |= {name: _to(name, d) for name, d in _NAMES.items()}
_LEGACY_TYPES = ("float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
LEGACY = {f"{dt.SCALAR_NAMES[k]}Tensor": LegacyType(f"{dt.SCALAR_NAMES[k]}Tensor", dt.by_name(k))
    for k in _LEGACY_TYPES}
