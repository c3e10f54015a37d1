"""What a file may name: tensors from storages, parameters from tensors.

These functions are the only ones that reading a file calls, so they check what they are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import lazy
from ..arrays.storageless import StoragelessArray
from ..functions.copying import own_slots
from ..functions.creation import empty_strided
from ..functions.overloads_sparse import sparse_compressed_tensor, sparse_coo_tensor
from ..functions.parameter import Parameter
from ..functions.storage import UntypedStorage, look_at, window
from ..functions.typed_storage import TypedStorage
from ..tensor import types
from ..tensor.classes import DISPATCHING
from ..tensor.exchange import refuse_storage
from ..tensor.tensor import Tensor, wrap
from .errors import shown


def to_parts(tensor: Tensor) -> tuple[UntypedStorage, int, tuple[int, ...], tuple[int, ...], dt.dtype, bool]:
    """A tensor as ``(storage, offset, size, stride, dtype, requires_grad)``."""
    refuse_storage(tensor)
    if tensor._backward_hooks:
        from ..utils.hooks import warn_if_has_hooks

        warn_if_has_hooks(tensor)
    array = lazy.window(tensor._wg_data)
    storage, offset, stride = window(array)
    return storage, offset, array.shape, stride, dt.of(array.dtype), tensor.requires_grad


def from_parts(storage: UntypedStorage | TypedStorage, offset: int, size: tuple[int, ...], stride: tuple[int, ...],
        dtype: dt.dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The tensor that :func:`to_parts` took apart; its memory is the storage's."""
    if type(storage) is TypedStorage:
        storage = storage.untyped()
    if type(storage) is not UntypedStorage:
        raise RuntimeError(f"a tensor is rebuilt from a storage, got {type(storage).__name__}")
    if (requires_grad not in (True, False)
            or not all(type(n) is int for n in (offset, *_sequence(size), *_sequence(stride)))):
        raise RuntimeError("a tensor's offset, sizes and strides must be integers")
    if storage.meta:
        return rebuild_meta_tensor_no_storage(dtype or storage.dtype, size, stride, requires_grad)
    tensor = wrap(look_at(storage, offset, tuple(size), tuple(stride), dtype))
    return tensor._wg_require() if requires_grad else tensor


def _sequence(numbers: Any) -> Any:
    if not isinstance(numbers, (tuple, list)):
        raise RuntimeError(f"a tensor's sizes and strides must be integers, got {shown(numbers)}")
    return numbers


def _tensor(thing: Any) -> Any:
    if not isinstance(thing, Tensor):
        raise RuntimeError(f"there must be a tensor, got {shown(thing)}")
    return thing


def _places(thing: Any) -> Any:
    """A tensor that says where others lie, and is read whole: it is no small storage, repeated endlessly."""
    if thing is not None and _tensor(thing).numel() * thing.dtype.itemsize > thing.untyped_storage().nbytes():
        raise RuntimeError(f"{thing.numel()} indices are more than the {thing.untyped_storage().nbytes()} bytes of "
            "their storage")
    return thing


def rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Tensor:
    """A tensor as files before 0.4 spell it."""
    return from_parts(storage, storage_offset, size, stride)


def rebuild_tensor_v2(storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any,
        backward_hooks: Any, metadata: Any = None) -> Tensor:
    """A tensor of its storage's type. Hooks are not kept in files."""
    return marked(from_parts(storage, storage_offset, size, stride, None, requires_grad), metadata)


def rebuild_tensor_v3(storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any,
        backward_hooks: Any, dtype: Any, metadata: Any = None) -> Tensor:
    """A tensor whose type PyTorch's storages have no name for, such as uint16."""
    return marked(from_parts(storage, storage_offset, size, stride, dtype, requires_grad), metadata)


def marks_of(tensor: Tensor) -> dict[str, bool]:
    """What files say beside the parts of a tensor: that it is a lazy conjugate or negative."""
    return {name: True for name, on in zip(("conj", "neg"), lazy.marks(tensor._wg_data)) if on}


def marked(tensor: Tensor, metadata: Any) -> Tensor:
    """The tensor with its numbers conjugated or negated when they are read, as ``marks_of`` says."""
    marks = {name for name, on in (metadata or {}).items() if on}
    if not marks <= {"conj", "neg"}:
        raise RuntimeError(f"tensors marked {sorted(str(name)[:50] for name in marks if type(name) is str)} are not "
            "supported")
    if marks:
        tensor._wg_data = lazy.seen(tensor._wg_data, "conj" in marks, "neg" in marks)
    return tensor


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Parameter:
    """A parameter that shares the memory of the tensor ``data``."""
    return Parameter(_tensor(data), bool(requires_grad))


def rebuild_parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Parameter:
    """A parameter that has attributes of its own."""
    return attributed(rebuild_parameter(data, requires_grad, backward_hooks), state)


def rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Tensor:
    """A tensor of a subclass, or one that has attributes."""
    if type(args) is not tuple:
        raise RuntimeError(f"a tensor's parts are a tuple, got {shown(args)}")
    if func is rebuild_njt:
        return func(*args)
    if not any(func is known for known in _PLAIN):
        raise RuntimeError(f"{shown(func)} does not rebuild tensors")
    if not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
        raise RuntimeError(f"{shown(new_type)} is not a class of tensors")
    tensor = func(*args)
    return attributed(tensor if type(tensor) is new_type else tensor.as_subclass(new_type), state)


def state_of(tensor: Any) -> Any:
    """What is kept of a tensor beside its numbers: its attributes, and those in slots of its class."""
    slots = own_slots(tensor)
    return (dict(tensor.__dict__), slots) if slots else dict(tensor.__dict__)


def attributed(tensor: Any, state: Any) -> Any:
    """The tensor, with the state of ``state_of``."""
    own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if not isinstance(slots or {}, dict) or not isinstance(own or {}, dict):
        raise RuntimeError("a tensor's attributes must be a dictionary")
    tensor.__dict__.update(own or {})
    for name, value in (slots or {}).items():
        if (name not in {n for kind in type(tensor).__mro__ if kind not in Tensor.__mro__
                for n in vars(kind).get("__slots__", ())}):
            raise RuntimeError(f"{type(tensor).__name__} has no slot {name!r}")
        setattr(tensor, name, value)
    return tensor


def is_wrapper(tensor: Any) -> bool:
    """Whether the tensor's class answers for it, and it has no memory of its own."""
    return type(tensor) in DISPATCHING and type(tensor._wg_data) is StoragelessArray


def wrapper_parts(tensor: Any) -> tuple[Any, ...]:
    """The arguments of ``rebuild_wrapper_subclass``."""
    return (type(tensor), tensor.dtype, tuple(tensor._wg_data.shape), tuple(tensor.stride()), tensor.storage_offset(),
        tensor.layout, tensor.device, tensor.requires_grad)


def rebuild_wrapper_subclass(kind: Any, dtype: Any, size: Any, stride: Any, storage_offset: Any, layout: Any,
        device: Any, requires_grad: Any) -> Any:
    """A tensor of a class that answers for it; what it holds is among its attributes."""
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise RuntimeError(f"{shown(kind)} is not a class of tensors")
    return Tensor._make_wrapper_subclass(kind, size, strides=stride, dtype=dtype, storage_offset=storage_offset,
        layout=layout, device=device, requires_grad=bool(requires_grad))


def rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Tensor:
    """A tensor of a device whose memory files do not hold."""
    return _tensor(data).to(dtype=dtype, device=device)._wg_require(bool(requires_grad))


def rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor of the device ``meta``, which has no numbers."""
    if not all(type(n) is int and n >= 0 for n in (*_sequence(size), *_sequence(stride))):
        raise RuntimeError("a tensor's sizes and strides must be integers, and not negative")
    return empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=bool(requires_grad))


def rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """A sparse tensor from its indices, its values, its shape and, in files that are not old, whether it is coalesced.

    The indices are not checked: in the format before zip files they have not been read yet.
    """
    if layout is types.strided:
        raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")
    if layout is not types.sparse_coo:
        starts, others, values, size = data
        return sparse_compressed_tensor(_places(starts), _places(others), _tensor(values), size, layout=layout,
            check_invariants=False)
    indices, values, size, *coalesced = data
    return sparse_coo_tensor(_places(indices), _tensor(values), size, check_invariants=False,
        is_coalesced=bool(coalesced and coalesced[0]))


def rebuild_nested_tensor(buffer: Any, sizes: Any, strides: Any, storage_offsets: Any) -> Any:
    """A nested tensor of the layout ``torch.strided`` from its numbers, and where each part lies in them."""
    from ..nested._strided import rebuilt

    shapes, steps = (tuple(map(tuple, _places(t).tolist())) for t in (sizes, strides))
    starts = tuple(_places(storage_offsets).tolist())
    if len(shapes) != len(steps) or len(shapes) != len(starts) or _tensor(buffer).dim() != 1:
        raise RuntimeError("the parts of a nested tensor do not fit together")
    memory = UntypedStorage(np.ascontiguousarray(buffer.detach()._wg_data))
    for part in zip(starts, shapes, steps):
        look_at(memory, *part)  # raises for what lies outside
    return rebuilt(buffer.detach(), shapes, steps, starts, buffer.requires_grad)


def rebuild_njt(parts: dict[str, Any]) -> Any:
    """A jagged tensor from what its class is called with."""
    from ..nested._internal.nested_tensor import NestedTensor

    for part in (_tensor(parts["offsets"]), parts.get("lengths")):
        _places(part)
    given = {k: v for k, v in parts.items() if k in ("lengths", "_ragged_idx", "requires_grad")}
    return NestedTensor(_tensor(parts["values"]), parts["offsets"], **given)


def validate(t: Any) -> None:
    """Raises ``RuntimeError`` if a tensor says of its own numbers that they lie where there is nothing.

    Called when all storages are read: in the format before zip files that is after the tensors are made.
    """
    if t.layout is types.jagged:
        starts, ends = t.offsets()._wg_data[:-1], t.offsets()._wg_data[1:]
        ends = ends if t.lengths() is None else starts + t.lengths()._wg_data
        if (starts < 0).any() or (ends < starts).any() or (ends > t.values().shape[t._ragged_idx - 1]).any():
            raise RuntimeError("the parts of a nested tensor do not lie within its values")
    elif t.layout is types.sparse_coo:
        sparse_coo_tensor(t._indices().detach(), t._values().detach(), tuple(t.shape), check_invariants=True)
    else:
        a: Any = t._wg_data
        sparse_compressed_tensor(wrap(a.starts), wrap(a.others), wrap(a.values), tuple(t.shape), layout=t.layout,
            check_invariants=True)


class Jagged:
    """The class of jagged tensors, where a file names it: it is imported when there is a tensor of it."""


class DimRange:
    """What PyTorch's compiler notes of a dimension, which travels with jagged tensors and says nothing here."""

    def __setstate__(self, state: Any) -> None:
        pass


def get_layout(name: str) -> types.layout:
    """The layout that prints as ``name``."""
    found = {repr(layout): layout for layout in types.LAYOUTS.values()}.get(name) if type(name) is str else None
    if found is None:
        raise RuntimeError(f"{name[:50] if type(name) is str else shown(name)} is no layout of tensors")
    return found


def encode(text: str, encoding: str) -> bytes:
    """Bytes, which files that Python 2 could read hold as text."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise RuntimeError("bytes are held as text in latin1")
    return text.encode("latin1")


_PLAIN = (rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_parameter, rebuild_parameter_with_state,
    rebuild_device_tensor_from_cpu_tensor, rebuild_meta_tensor_no_storage, rebuild_wrapper_subclass)
