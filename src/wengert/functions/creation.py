"""Tensors from data, sizes and ranges."""

from __future__ import annotations

import builtins
import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import uninitialized
from ..arrays.devices import class_of, moved
from ..arrays.errors import check_countable, refuse_overflow, warn, warn_once
from ..arrays.float8 import converted
from ..arrays.layouts import blank, format_name, format_strides, layout_like, strides_for
from ..arrays.storageless import StoragelessArray
from ..graph.modes import modes
from ..ops.errors import must_be
from ..ops.outs import OVERLAP, overlapping
from ..tensor import classes
from ..tensor.autograd_meta import INFERENCE_VERSION, bump, meta_of
from ..tensor.autograd_meta import requires_grad as is_recorded
from ..tensor.namespaces import TRACED_OPS
from ..tensor.tensor import Tensor
from ..tensor.types import strided
from . import everyday
from .data import array_of
from .devices import array_class, on_cpu, placed, taken
from .memory import file_array
from .places import described
from .sizes import shape_of, sizes_given

if TYPE_CHECKING:
    from collections.abc import Callable


def finish(array: Any, requires_grad: bool = False, where: Any = None) -> Tensor:
    """A new leaf around ``array``, on the device ``where`` (None: where the array is)."""
    if where is not None:
        array = without_numbers(array) if where.type == "meta" else moved(array, array_class(where))
    t = Tensor._wg_wrap(array)
    if modes().inference:
        t._wg_vc = INFERENCE_VERSION
    return required(t) if requires_grad else t


def required(t: Tensor) -> Tensor:
    """``t``, a new leaf, for which gradients are asked."""
    if t._wg_data.dtype.kind not in "fcVW":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    meta_of(t).requires_grad = True
    return t


def without_numbers(array: Any) -> Any:
    """What a tensor of the device ``meta`` holds in place of ``array``."""
    from ..dispatch.meta_device import storageless

    return storageless(array)


def unmade(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None) -> Any:
    """A storageless array of this shape on the device ``meta``."""
    return StoragelessArray.of(shape, strides, 0, dtype, "meta")


def elsewhere(where: Any, shape: tuple[int, ...], d: np.dtype, strides: tuple[int, ...] | None = None,
        make: Callable[..., Any] = np.empty) -> Any:
    """A new array on a device other than the CPU; ``make`` is ``np.empty`` or the like, ``strides`` count elements."""
    if where.type == "meta":
        return unmade(shape, d, strides)
    kind = array_class(where)
    if strides is None:
        return kind(kind.made(make.__name__, shape, d))
    flat = kind(kind.made(make.__name__, span(shape, strides), d))
    return flat.look(shape, [s * d.itemsize for s in strides], 0)


def span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many elements memory must hold for these strides."""
    return 1 + builtins.sum((n - 1) * s for n, s in zip(shape, strides)) if builtins.all(shape) else 0


def np_dtype(dtype: Any, default: np.dtype | None = None) -> np.dtype:
    """The NumPy dtype that the user gave; the default floating type without one."""
    if dtype is None:
        return dt.default_float() if default is None else default
    if isinstance(dtype, dt.dtype):
        return dtype.np
    if isinstance(dtype, type) and dtype in dt.OF_TYPES:
        return dt.OF_TYPES[dtype].np
    raise TypeError(f"dtype must be torch.dtype, not {type(dtype).__name__}")


# -- from data --------------------------------------------------------------------------------------------------------


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        pin_memory: bool = False) -> Tensor:
    """A new leaf with a copy of ``data``: a number, nested sequences, an array or a tensor.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    tensor(2.5000, dtype=torch.float64, requires_grad=True)
    """
    found = everyday.listed(data, dtype, None, device, False, pin_memory)
    if found is not NotImplemented:
        return required(found) if requires_grad else found
    where = placed(device, data if isinstance(data, Tensor) else None)
    if isinstance(data, Tensor):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).")
    if type(data) is list and data and type(data[0]) is np.ndarray:
        warn_once("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
            "list to a single numpy.ndarray with numpy.array() before converting to a tensor.")
    if where is not None and isinstance(data, Tensor):
        return finish(data._wg_data if dtype is None else data._wg_data.astype(np_dtype(dtype)), requires_grad, where)
    return finish(array_of(data, None if dtype is None else np_dtype(dtype)), requires_grad, where)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, sharing memory and history where possible."""
    found = everyday.listed(data, dtype, None, device, False)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    where = placed(device)
    d = None if dtype is None else np_dtype(dtype)
    if isinstance(data, Tensor):
        data = data if device is None else data.to(device)
        return data if d is None or data._wg_data.dtype == d else data.to(dtype)
    if where is not None:
        return finish(array_of(data, d), False, where)
    if isinstance(data, np.ndarray) and (d is None or data.dtype == d):
        return from_numpy(data)
    return finish(array_of(data, d))


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
        requires_grad: bool | None = None) -> Tensor:
    """``obj`` as a tensor; ``copy=True`` always copies, ``copy=False`` never. ``requires_grad=False``: no history."""
    if not isinstance(obj, (Tensor, np.ndarray, np.generic, list, tuple)) and _has_memory(obj):
        obj = frombuffer(obj, dtype=dt.of(dt.default_float()) if dtype is None else dtype)
    t = as_tensor(obj, dtype, device)
    shares = ((isinstance(obj, Tensor) and t is obj)
        or (isinstance(obj, np.ndarray) and type(t._wg_data) is np.ndarray and np.may_share_memory(obj, t._wg_data)))
    if copy is False and not shares:
        if isinstance(obj, np.generic):
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
        if not isinstance(obj, (Tensor, np.ndarray)):
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        if isinstance(obj, np.ndarray):
            obj = from_numpy(obj)
        if obj._wg_data.dtype != t._wg_data.dtype:
            raise ValueError(f"can't alias tensor with dtype '{dt.scalar_name(obj._wg_data.dtype)}' into dtype "
                f"'{dt.scalar_name(t._wg_data.dtype)}'.")
        raise ValueError(f"can't alias tensor from device '{obj.device}' to '{t.device}'.")
    if copy and shares:
        t = t.clone()
    if requires_grad is False:
        return t.detach() if is_recorded(t) else t
    if requires_grad is None and isinstance(obj, Tensor) and is_recorded(obj):
        warn_once("torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
            "requires_grad=False explicitly to get the old behavior and silence this warning.")
    if requires_grad and t._wg_data.dtype.kind not in "fcVW":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t._wg_require(True) if requires_grad and not is_recorded(t) else t


def _has_memory(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor on the array's own memory: writes to one show in the other."""
    if not isinstance(array, np.ndarray):
        kind = type(array)
        module = "numpy." if kind.__module__ == "numpy" else ""
        raise TypeError(f"expected np.ndarray (got {module}{kind.__name__})")
    dt.of(array.dtype)  # refuses types that PyTorch has not
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between "
            "byte orders is currently not supported.")
    if array.ndim and min(array.strides) < 0:
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides "
            "are not currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) ")
    if not array.flags.writeable:
        warn_once("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This "
            "means writing to this tensor will result in undefined behavior. You may want to copy the array to protect "
            "its data or make it writable before converting it to a tensor. This type of warning will be suppressed "
            "for the rest of this program.")
    if isinstance(array.base, np.ndarray) and type(array) is np.ndarray and array.flags.writeable:
        array = np.ndarray(array.shape, array.dtype, np.asarray(_Memory(array)), 0, array.strides)
    return finish(array if type(array) is np.ndarray else np.asarray(array))


class _Memory:
    """The bytes that an array spans, without what it is a part of: a tensor on them begins at their start."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        span = sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize if array.size else 0
        self.__array_interface__ = {"data": array.__array_interface__["data"], "shape": (span,), "typestr": "|u1",
            "version": 3}


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor on the memory of a Python buffer.

    Raises ``ValueError`` where the buffer does not hold ``count`` elements from byte ``offset`` on, or none at all.
    """
    try:
        total = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    kind = np_dtype(dtype)
    item = kind.itemsize
    if not total or not count:
        raise ValueError(f"both buffer length ({total}) and count ({count}) must not be 0")
    if not 0 <= offset < total:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({total} "
            "bytes) minus 1")
    if count > 0 and offset + count * item > total:
        raise ValueError(f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) "
            f"must not be greater than actual buffer length ({total} bytes)")
    if count < 0 and (total - offset) % item:
        raise ValueError(f"buffer length ({total - offset} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size ({item})")
    array = np.frombuffer(buffer, kind, count, offset)
    if not array.flags.writeable:
        warn_once("The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you "
            "can write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the "
            "buffer to protect its data or make it writable before converting it to a tensor. This type of warning "
            "will be suppressed for the rest of this program.")
    return finish(array, requires_grad)


def from_file(filename: Any, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor of ``size`` elements on the memory of a file, as NumPy's ``tofile`` writes it.

    ``shared``: writes to the tensor go to the file, which is made, or made longer with zeros, if it is too short.
    Raises ``RuntimeError`` if the file cannot be opened or, unless ``shared``, is too short.
    """
    on_cpu(device)
    return finish(file_array(filename, shared, size, np_dtype(dtype)), requires_grad)


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the memory of ``tensor``; what takes it shares that memory."""
    return tensor.__dlpack__(max_version=(1, 0))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array (an object with ``__dlpack__``, or a capsule).

    >>> t = torch.arange(3)
    >>> torch.from_dlpack(t)[0] = 7
    >>> t
    tensor([7, 1, 2])
    """
    where = placed(device)
    if isinstance(ext_tensor, Tensor):
        ext_tensor._wg_check_shareable()
        array = ext_tensor._wg_data
        where = where if device is not None else None
    elif (found := taken(ext_tensor)) is not None:
        array = found
    else:
        source = ext_tensor
        if not hasattr(source, "__dlpack__"):  # a capsule
            source = SimpleNamespace(__dlpack__=lambda **_: ext_tensor, __dlpack_device__=lambda: (1, 0))
        try:
            array = np.from_dlpack(source)
        except ValueError as error:
            raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
                "only once, so you might have already constructed a tensor from it once.") from error
    return finish(array.copy() if copy else array, False, where)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of the default floating type (or ``dtype``)."""
    if not isinstance(s, Tensor) and dt.of_python(s) is None:
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    return finish(np.asarray(s).astype(np_dtype(dtype)), requires_grad, placed(device))


# what makes tensors of other layouts than ``torch.strided``, new ones and ones like a given one: see
# ``overloads_sparse``
LAYOUTS: dict[str, Callable[..., Any]] = {}

# -- from sizes -------------------------------------------------------------------------------------------------------


def _new(where: Any, shape: tuple[int, ...], d: np.dtype, strides: tuple[int, ...] | None, requires_grad: bool,
        make: Callable[..., np.ndarray] = np.empty) -> Tensor:
    """A new tensor on the CPU, or on the device ``where``."""
    return finish(blank(shape, d, strides, make) if where is None else elsewhere(where, shape, d, strides, make),
        requires_grad)


def _sized(name: str, make: Callable[..., np.ndarray], number: int | None,
        doc: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor], Callable[..., Tensor]]:
    """``zeros``, ``zeros_like`` and ``Tensor.new_zeros`` from one array function, and the number that it writes."""

    def sized(*sizes: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
            pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None) -> Tensor:
        found = everyday.filled(number, None, sizes, dtype, layout, device, requires_grad, size, out, pin_memory,
            memory_format, not sizes, number is None and uninitialized.fills)
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
        if not sizes and size is None:
            raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
        where = None if device is None else placed(device)
        if type(requires_grad) is not bool:
            raise TypeError(f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
        if layout is not None and layout is not strided:
            if not isinstance(layout, type(strided)):
                raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type(layout).__name__}")
            return LAYOUTS["new"](name, sizes_given(name, sizes, size), layout, dtype, requires_grad)
        shape = sizes_given(name, sizes, size)
        check_sizes(shape, name)
        if out is not None:
            return write_out(out, make(shape, out_type(out, dtype, dt.default_float())), name, requires_grad)
        d = np_dtype(dtype)
        if memory_format is None:
            return finish(make(shape, d) if where is None else elsewhere(where, shape, d, None, make), requires_grad)
        if format_name(memory_format) == "preserve_format":
            raise RuntimeError("unsupported memory format Preserve")
        return _new(where, shape, d, format_strides(shape, memory_format), requires_grad, make)

    def like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
            memory_format: Any = None, pin_memory: bool = False) -> Tensor:
        found = everyday.filled(number, input, None, dtype, layout, device, requires_grad, memory_format, pin_memory,
            number is None and uninitialized.fills)
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}_like(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if input.layout is not strided or (layout is not None and layout is not strided):
            return LAYOUTS["like"](name, input, layout, None if dtype is None else np_dtype(dtype), requires_grad)
        a = input._wg_data
        return _new(placed(device, input), a.shape, np_dtype(dtype, a.dtype), layout_like(a, memory_format),
            requires_grad, make)

    def new(self: Tensor, *sizes: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
            pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
        found = everyday.filled(number, self, sizes, dtype, layout, device, requires_grad, size, pin_memory, not sizes,
            number is None and uninitialized.fills)
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
        if not sizes and size is None:
            raise TypeError(f'new_{name}() missing 1 required positional arguments: "size"')
        shape = sizes_given("new_" + name, sizes, size)
        check_sizes(shape, "")
        d = np_dtype(dtype, self._wg_data.dtype)
        return _new(placed(device, self), shape, d, None, requires_grad, make)

    return (described(sized, name, f"A tensor of the given sizes, {doc}."),
        _by_example(described(like, name + "_like", f"A tensor of the shape and type of ``input``, {doc}.")),
        _by_example(described(new, "new_" + name, f"A tensor of the type of this one, {doc}.")))


def _by_example(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f``, which takes shape or type from a tensor: under ``vmap`` the result is batched as that tensor is."""

    @functools.wraps(f)
    def made(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        found = f(input, *args, **kwargs)
        return classes.mapping.batched_as(input, found) if type(input) is classes.Batched_ else found

    return made


def check_sizes(shape: tuple[int, ...], name: str) -> None:
    """Refuse sizes below zero, and those that overflow."""
    for i, n in enumerate(shape):
        if not -(2**63) <= n < 2**63:
            error = '"Overflow when unpacking long long"'
            raise TypeError(f"{name}(): argument 'size' failed to unpack the object at pos {i + 1} with error {error}")
        if n < 0:
            if name in ("zeros", "full"):
                raise RuntimeError(f"{name}: Dimension size must be non-negative.")
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    check_countable(*shape)


def out_type(out: Any, dtype: Any, default: np.dtype) -> np.dtype:
    """The type of what goes into ``out``, or of a new tensor: both the type of ``out`` and ``dtype`` cannot be had."""
    if out is None:
        return np_dtype(dtype, default)
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    d = out._wg_data.dtype
    if dtype is not None and np_dtype(dtype) != d:
        raise RuntimeError(f"dtype {dt.scalar_name(np_dtype(dtype))} does not match dtype of out parameter "
            f"({dt.scalar_name(d)})")
    return d


def refuse_recorded(out: Tensor, name: str) -> None:
    """Refuse to make new numbers in a tensor whose operations are recorded, or in what is no tensor."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if modes().grad and is_recorded(out):
        raise RuntimeError("cannot resize variables that require grad" if name in ("empty", "randn") else
            f"aten::{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad.")


def write_out(out: Tensor, array: np.ndarray, name: str, requires_grad: bool = False) -> Tensor:
    """``array``, which the function ``name`` made, written into ``out``, which takes its shape."""
    refuse_recorded(out, name)
    if overlapping(out._wg_data):
        raise RuntimeError(OVERLAP)
    if out._wg_data.shape == array.shape:
        out._wg_data[...] = array
    else:
        out._wg_data = moved(array.astype(out._wg_data.dtype), class_of(out._wg_data))
    bump(out)
    return out._wg_require() if requires_grad else out


def deliver(array: np.ndarray, out: Any, name: str, requires_grad: bool = False, where: Any = None) -> Tensor:
    """``array``, which the function ``name`` made, in ``out`` or as a new tensor."""
    return finish(array, requires_grad, where) if out is None else write_out(out, array, name)


zeros, zeros_like, new_zeros = _sized("zeros", np.zeros, 0, "filled with 0")
ones, ones_like, new_ones = _sized("ones", np.ones, 1, "filled with 1")
empty, empty_like, new_empty = _sized("empty", uninitialized.empty, None,
    "with whatever the memory holds")


def _filling(name: str, value: Any) -> Any:
    """The number to fill with. A tensor that is recorded would lose its history, so it is refused."""
    if isinstance(value, Tensor) and not (value.ndim or value.requires_grad):
        return value.item()
    if isinstance(value, Tensor) or dt.of_python(value) is None:
        raise TypeError(f"{name}(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}")
    return value


def full(size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of shape ``size`` filled with ``fill_value``, whose type it takes unless ``dtype`` says otherwise."""
    found = everyday.full(fill_value, size, dtype, layout, device, requires_grad, out, pin_memory)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    where = placed(device)
    value = _filling("full", fill_value)
    if isinstance(size, int):
        raise TypeError("full(): argument 'size' (position 1) must be tuple of ints, not int")
    if isinstance(value, np.generic):
        value = dt.number(value)
    shape = shape_of((size,), "full")
    check_sizes(shape, "")
    if out is not None:
        d = out_type(out, dtype, dt.default_float())
        refuse_overflow(value, d)
        return write_out(out, np.full(shape, converted(np.asarray(value), d), d), "full", requires_grad)
    d = np_dtype(dtype) if dtype is not None else (dt.of_python(value) or dt.default_float())
    refuse_overflow(value, d)
    if where is not None:
        made = finish(elsewhere(where, shape, d), requires_grad)
        if where.type != "meta":
            made._wg_data[...] = converted(np.asarray(value), d)
        return made
    return finish(np.full(shape, converted(np.asarray(value), d), d), requires_grad)


@_by_example
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, memory_format: Any = None) -> Tensor:
    """A tensor of the shape and type of ``input`` filled with ``fill_value``."""
    if fill_value is not None:
        found = everyday.filled(fill_value, input, None, dtype, layout, device, requires_grad, memory_format)
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
    a = input._wg_data
    d = np_dtype(dtype, a.dtype)
    value = _filling("full_like", fill_value)
    refuse_overflow(value, d)
    made = _new(placed(device, input), a.shape, d, layout_like(a, memory_format), requires_grad)
    if not made.is_meta:
        made._wg_data[...] = converted(np.asarray(value), d)
    return made


@_by_example
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the type of this one filled with ``fill_value``."""
    if isinstance(size, int):
        raise TypeError("new_full(): argument 'size' (position 1) must be tuple of ints, not int")
    d = dt.of(np_dtype(dtype, self._wg_data.dtype))
    return full(size, _filling("new_full", fill_value), dtype=d, device=placed(device, self),
        requires_grad=requires_grad)


def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A copy of ``data`` in the type of this tensor."""
    if isinstance(data, Tensor):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor).")
    return finish(array_of(data, np_dtype(dtype, self._wg_data.dtype)), requires_grad, placed(device, self))


def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uninitialised memory whose dimensions lie from the outermost to the innermost as ``physical_layout`` names them.

    >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    where = placed(device)
    if not isinstance(physical_layout, (tuple, list)):
        raise must_be("empty_permuted", "physical_layout", 2, physical_layout, "tuple of ints")
    shape, order = shape_of((size,)), tuple(physical_layout)
    if len(shape) != len(order):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}")
    for i, d in enumerate(order):
        if not 0 <= d < len(shape):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d} at "
                f"index {i})")
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    return _new(where, shape, np_dtype(dtype), strides_for(shape, order), requires_grad)


def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uninitialised memory with the given strides (in elements)."""
    d = np_dtype(dtype)
    for at, (key, row) in enumerate((("size", size), ("stride", stride))):
        if not isinstance(row, (tuple, list)):
            raise must_be("empty_strided", key, at + 1, row, "tuple of ints")
    shape, steps = shape_of((size,), "empty_strided"), shape_of((stride,), "empty_strided")
    if len(shape) != len(steps):
        raise RuntimeError(f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(steps)})")
    if builtins.any(s < 0 for s in steps):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    where = placed(device)
    if where is not None:
        return finish(elsewhere(where, shape, d, steps), requires_grad)
    flat = uninitialized.empty(span(shape, steps), d)
    return finish(np.lib.stride_tricks.as_strided(flat, shape, [s * d.itemsize for s in steps]), requires_grad)


METHODS = {f.__name__: f for f in (new_zeros, new_ones, new_empty, new_full, new_tensor)}
FUNCTIONS = (tensor, as_tensor, asarray, from_numpy, frombuffer, from_file, from_dlpack, scalar_tensor, zeros,
    zeros_like, ones, ones_like, empty, empty_like, full, full_like, empty_permuted, empty_strided)
for _f in (zeros_like, ones_like):  # the core makes the gradients that were not given, or that there are not, by them
    setattr(TRACED_OPS, _f.__name__, _f)
