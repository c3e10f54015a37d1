"""Objects to pickle bytes: the part of a file that says what there is; the storages' contents lie beside it."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

from ..arrays import dtypes as dt
from ..functions.parameter import Parameter
from ..functions.storage import UntypedStorage
from ..functions.typed_storage import TypedStorage
from ..names.homes import find
from ..tensor import types
from ..tensor.autograd_meta import requires_grad
from ..tensor.tensor import Tensor
from ..utils.hooks import warn_if_has_hooks
from . import rebuild
from .names import STORAGE_TYPES, UNTYPED, StorageType, known, torch_name

_BY_NAME = (dt.dtype, StorageType, types.memory_format)


class Storages:
    """The storages met while pickling, each under a key; the same memory has the same key."""

    def __init__(self) -> None:
        self.by_key: dict[str, UntypedStorage] = {}
        self.written: dict[str, dt.dtype] = {}
        self._keys: dict[tuple[int, int], str] = {}
        self._dtypes: dict[int, dt.dtype] = {}

    def add(self, storage: UntypedStorage, dtype: dt.dtype) -> str:
        """The key of a storage whose tensors have type ``dtype``."""
        where, n = storage.data_ptr(), storage.nbytes()
        if n:
            if self._dtypes.setdefault(where, dtype) is not dtype:
                raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different "
                    "types")
            found = self._keys.get((where, n))
            if found is not None:
                return found
        key = self._keys[where, n] = str(len(self.by_key))
        self.by_key[key], self.written[key] = storage, dtype
        return key


_Writer: Any = pickle._Pickler  # the C pickler insists on importing every global by its name


class Pickler(_Writer):
    """Writes tensors as PyTorch does, and this package's objects under PyTorch's names; ``storages`` collects the
    storages, whose identifiers have a sixth element in the ``legacy`` format, before zip files.
    """

    def __init__(self, file: Any, protocol: int, storages: Storages, legacy: bool = False) -> None:
        super().__init__(file, protocol)
        known()
        self.storages, self.legacy = storages, legacy

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is TypedStorage:
            storage, written = obj.untyped(), STORAGE_TYPES.get(obj.dtype, UNTYPED)
        elif type(obj) is UntypedStorage:
            storage, written = obj, UNTYPED
        else:
            return None
        where = str(storage.device) if storage.is_cuda else "cpu"
        numel = storage.nbytes() // written.dtype.itemsize
        found = ("storage", written, self.storages.add(storage, written.dtype), where, numel)
        return (*found, None) if self.legacy else found

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor) and hasattr(type(obj._wg_data), "coo"):
            a: Any = obj._wg_data  # stored by rows or columns
            return (rebuild.rebuild_sparse_tensor,
                (obj.layout, (Tensor._wg_wrap(a.starts), Tensor._wg_wrap(a.others), obj._values(), obj.shape)))
        if isinstance(obj, Tensor) and obj.is_sparse:
            return (rebuild.rebuild_sparse_tensor,
                (obj.layout, (obj._indices(), obj._values(), obj.shape, obj.is_coalesced())))
        if isinstance(obj, Tensor) and obj.is_nested:
            return _reduced_nested(obj)
        if isinstance(obj, Tensor):
            reduce = type(obj).__reduce_ex__
            # a subclass's calls its class first
            if Tensor.__reduce_ex__ in (reduce, getattr(reduce, "__wrapped__", None)):
                return _reduced(obj)
        if isinstance(obj, _BY_NAME):
            return obj.name
        return (rebuild.get_layout, (repr(obj),)) if isinstance(obj, types.layout) else NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        found = torch_name(obj, name)
        if found is None:
            super().save_global(obj, name)
            return
        module, name = found
        owner, _, last = name.rpartition(".")
        if owner and self.proto < 4:  # there is no instruction for it
            self.save_reduce(getattr, (find(module, owner), last), obj=obj)
        elif self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
            self.memoize(obj)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            self.memoize(obj)

    dispatch = {**_Writer.dispatch}
    dispatch[type(rebuild.encode)] = save_global  # functions


def _reduced_nested(t: Any) -> Any:
    """How a nested tensor is made again; one with a history is written as its numbers."""
    wants, t = requires_grad(t), t.detach()
    values = t._packed
    if t.layout is types.jagged:
        parts = {"values": values, "offsets": t.offsets(), "lengths": t.lengths(), "_ragged_idx": t._ragged_idx,
            "requires_grad": wants}
        return rebuild.rebuild_from_type_v2, (rebuild.rebuild_njt, rebuild.Jagged, (parts,), {})
    if wants:
        values = values.detach()._wg_require()
    places = (t._nested_tensor_size(), t._nested_tensor_strides(), t._nested_tensor_storage_offsets())
    return rebuild.rebuild_nested_tensor, (values, *places)


def _reduced(tensor: Tensor) -> Any:
    """How a tensor is put together again: a function and its arguments."""
    state = rebuild.state_of(tensor)
    if isinstance(tensor, Parameter) and type(tensor) is Parameter:
        args: tuple[Any, ...] = (tensor.data, tensor.requires_grad, OrderedDict())
        if state:
            return rebuild.rebuild_parameter_with_state, (*args, state)
        return rebuild.rebuild_parameter, args
    func, args = _plain(tensor)
    if type(tensor) is Tensor and not state:
        return func, args
    return rebuild.rebuild_from_type_v2, (func, type(tensor), args, state)


def _plain(tensor: Tensor) -> Any:
    if rebuild.is_wrapper(tensor):
        return rebuild.rebuild_wrapper_subclass, rebuild.wrapper_parts(tensor)
    if tensor.is_meta:
        warn_if_has_hooks(tensor)
        return (rebuild.rebuild_meta_tensor_no_storage,
            (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad))
    storage, offset, size, stride, dtype, requires_grad = rebuild.to_parts(tensor)
    typed = TypedStorage(wrap_storage=storage, dtype=dtype)
    args: tuple[Any, ...] = (typed, offset, tuple(size), stride, requires_grad, OrderedDict())
    marks = rebuild.marks_of(tensor)
    if dtype in STORAGE_TYPES:
        return rebuild.rebuild_tensor_v2, (*args, marks) if marks else args
    return rebuild.rebuild_tensor_v3, (*args, dtype, marks) if marks else (*args, dtype)


def dumps(obj: Any, protocol: int, storages: Storages, legacy: bool = False) -> bytes:
    """The pickle of ``obj``; the storages of its tensors are added to ``storages``."""
    buffer = io.BytesIO()
    Pickler(buffer, protocol, storages, legacy).dump(obj)
    return buffer.getvalue()
