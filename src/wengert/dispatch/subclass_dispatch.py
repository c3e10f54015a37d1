"""Tensors whose class has a ``__torch_dispatch__``: it runs every operator on them, below autograd.

Such a tensor often has no memory of its own (``Tensor._make_wrapper_subclass``): its array has the right shape, strides
and type, and numbers that mean nothing. So nodes of its operators save tensors instead of arrays, in the manner of
saved-tensor hooks; and a backward that will meet such a node speaks in tensors, so that rules too reach the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.storageless import StoragelessArray
from ..functions.conversion import METHODS
from ..functions.copying import copy_attributes, same_class
from ..functions.parameter import Parameter
from ..graph.modes import modes, set_modes
from ..tensor import classes
from ..tensor.autograd_meta import meta_of
from ..tensor.classes import check_class
from ..tensor.record import record, unchanged
from ..tensor.saved_tensor_hooks import call_pack_hook, changed
from ..tensor.tensor import Tensor
from ..tensor.types import Size, contiguous_format
from ..tensor.version_check import Packed
from .torch_dispatch import ask, aten, check_result, dispatching, prim
from .torch_function import Overriding, disabled
from .watch_functions import watch_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph.modes import Modes
    from ..ops.operator import Operator


def questions(policy: Any, device: bool, layout: bool) -> frozenset[str]:
    """The geometry methods that the class of a new tensor overrides."""
    if policy not in (None, "sizes", "strides"):
        raise ValueError(f"Unknown sizes_strides_policy: {policy}; expected 'strides' or 'sizes'")
    geometry = () if policy is None else ("strides",) if policy == "strides" else ("sizes", "strides")
    return frozenset((*geometry, *("device",) * device, *("layout",) * layout))


def wrapper(cls: Any, size: Any, strides: Any, offset: Any, dtype: Any, requires_grad: bool, device: Any = None,
        overridden: tuple[Any, bool, bool] = (None, False, False), keys: Any = None) -> Tensor:
    """See ``Tensor._make_wrapper_subclass``."""
    check_class(cls)
    if cls not in classes.DISPATCHING:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    wanted = questions(*overridden)
    kind = dt.default_float() if dtype is None else dtype.np
    if kind.kind not in "fcVW" and requires_grad:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    steps = None if strides is None else tuple(int(s) for s in strides)
    array = StoragelessArray.of(tuple(int(n) for n in size), steps, int(offset or 0), kind, str(device or "cpu"))
    made = Tensor._wg_from.__func__(cls, array)  # type: ignore[attr-defined]
    made._wg_data.overridden = wanted
    if keys is not None:
        made.__dict__["_extra_dispatch_keys"] = keys
    if requires_grad:
        meta_of(made).requires_grad = True
    return made  # type: ignore[no-any-return]


def prepare(cls: Any) -> None:
    """Register a new class of tensors that dispatch; methods of Tensor are replaced by dispatching ones."""
    if cls.__torch_dispatch__ is _off:
        return
    classes.DISPATCHING.add(cls)
    cls._wg_dispatches = True
    watch_functions()
    if ("__torch_dispatch__" in vars(cls) and "__torch_function__" not in vars(cls)
            and getattr(cls.__torch_function__, "__func__", None) is _ASKING):
        cls.__torch_function__ = disabled  # one of the two is enough
    for name, method in _METHODS.items():
        if not any(name in vars(c) for c in _own_bases(cls)):
            setattr(cls, name, method)


def _own_bases(cls: Any) -> list[Any]:
    """The class and those of its bases that the user wrote."""
    return [c for c in cls.__mro__ if issubclass(c, Tensor) and c not in (Tensor, Parameter, Overriding)]


_ASKING = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]
_off = getattr(Tensor.__torch_dispatch__, "__func__", None)


def _detach(self: Any) -> Any:
    if not dispatching((self,)):
        return Tensor.detach(self)
    return _twin(self, self._wg_vc)  # a write to either is one to both


def _data(self: Any) -> Any:
    return _twin(self, [0]) if dispatching((self,)) else Tensor.data.fget(self)  # type: ignore[attr-defined]


def _twin(self: Any, counter: Any) -> Any:
    found = ask(aten.detach.default, Tensor.detach, False, (self,), {}, modes())
    check_result(found, False)
    if isinstance(found, Tensor) and found is not self and found._wg_edge is None:
        found._wg_vc = counter
    return found


def _number(self: Any) -> Any:
    if not dispatching((self,)):
        return Tensor.item(self)
    if self._wg_data.size != 1:
        raise RuntimeError(f"a Tensor with {self._wg_data.size} elements cannot be converted to Scalar")
    return ask(aten._local_scalar_dense.default, Tensor.item, False, (self,), {}, modes())


def _numpy(self: Any, *, force: bool = False) -> Any:
    if not dispatching((self,)):
        return Tensor.numpy(self, force=force)
    raise RuntimeError(".numpy() is not supported for tensor subclasses.")


def _list(self: Any) -> Any:
    if not dispatching((self,)):
        return Tensor.tolist(self)
    raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")


def _set(self: Any, source: Any = None, *args: Any, **kwargs: Any) -> Any:
    if not dispatching((self, source)):
        return METHODS["set_"](self, source, *args, **kwargs)
    overload = "default" if source is None else "source_Tensor" if isinstance(source, Tensor) else "source_Storage"
    if args or kwargs:
        overload += "_storage_offset"
    given = () if source is None else (source, *args)
    ask(getattr(aten.set_, overload), METHODS["set_"], True, (self, *given), kwargs, modes())
    return self


def _question(asking: str, name: str, usual: Callable[..., Any], namespace: Any = aten) -> Callable[..., Any]:
    """A method that dispatches for the geometry of tensors that were made to do so (``None``: as made)."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        a = self._wg_data
        overridden = a.overridden if type(a) is StoragelessArray else self.__dict__.get("_overridden", ())
        if asking not in overridden or not dispatching((self,)):
            return usual(self, *args, **kwargs)
        asked = (*args, *kwargs.values()) if name == "is_contiguous" else ()
        overload = "memory_format" if asked or kwargs else "default"
        func = getattr(getattr(namespace, name), overload)
        found = ask(func, usual, False, (self, *asked), {} if asked else kwargs, modes(),
            f"torch.ops.{namespace.__name__[10:]}.{name}")
        if found is None:
            return usual(self, *args, **kwargs)
        if name in ("sym_size", "sym_stride"):
            found = Size(found) if name == "sym_size" else tuple(found)
            return found[args[0]] if args and args[0] is not None else found
        return found

    return method


_is_contiguous = _question("strides", "is_contiguous", Tensor.is_contiguous)
_size = _question("sizes", "sym_size", Tensor.size)
_stride = _question("strides", "sym_stride", Tensor.stride)
_dim = _question("sizes", "dim", Tensor.dim)
_numel = _question("sizes", "sym_numel", Tensor.numel)
_device = _question("device", "device", Tensor.device.fget, prim)  # type: ignore[attr-defined,arg-type]
_layout = _question("layout", "layout", Tensor.layout.fget, prim)  # type: ignore[attr-defined,arg-type]


def _contiguous(self: Any, memory_format: Any = contiguous_format) -> Any:
    if type(self._wg_data) is not StoragelessArray and "_overridden" not in self.__dict__:
        return METHODS["contiguous"](self, memory_format)
    usual = memory_format is contiguous_format
    return self if self.is_contiguous(*() if usual else (memory_format,)) else self.clone(memory_format=memory_format)


def _address(self: Any) -> int:
    return 0 if type(self._wg_data) is StoragelessArray else Tensor.data_ptr(self)


def _index(self: Any) -> int:
    if self._wg_data.size != 1 or self._wg_data.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_number(self))


def numbers(t: Any) -> np.ndarray:
    """The elements of a tensor that dispatches, one by one from its class: for checks and tests."""
    t = t.detach()
    kind = t._wg_data.dtype if t._wg_data.dtype.kind != "V" else np.float32
    return np.array([e.item() for e in t.reshape(-1).unbind()], kind).reshape(t.shape)


def _deep_copy(self: Any, memo: Any) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    if self._wg_edge is not None:
        return Tensor.__deepcopy__(self, memo)
    before = modes()
    set_modes(before.with_(grad=False))
    try:
        found = self.clone()
    finally:
        set_modes(before)
    same_class(self, found, "wrapper", "clone() and for which cloning")
    memo[id(self)] = found._wg_require(self.requires_grad)
    copy_attributes(self, found, memo)
    return found


_METHODS: dict[str, Any] = {
    "detach": _detach, "item": _number, "__bool__": lambda self: bool(_number(self)), "__deepcopy__": _deep_copy,
    "set_": _set, "is_contiguous": _is_contiguous, "contiguous": _contiguous, "size": _size, "stride": _stride,
    "dim": _dim, "numel": _numel, "shape": property(lambda self: _size(self)),
    "ndim": property(lambda self: _dim(self)), "device": property(_device), "layout": property(_layout),
    "numpy": _numpy, "tolist": _list, "data_ptr": _address, "__index__": _index,
    "data": property(_data, Tensor.data.fset),  # type: ignore[attr-defined]
}


# -- results and what nodes save ---------------------------------------------------------------------------------------


def alias(t: Any) -> Any:
    """The same tensor as another object, without history."""
    new = object.__new__(type(t))
    new._wg_data, new._wg_edge, new._wg_meta, new._wg_vc = t._wg_data, None, None, t._wg_vc
    new.__dict__.update(t.__dict__)
    for kind in _own_bases(type(t)):
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(t, name):
                setattr(new, name, getattr(t, name))
    return new


def result(t: Any, args: tuple[Any, ...]) -> Any:
    """A handler's answer as a result: the tensor itself, unless it is an argument or has a history."""
    given = [x for v in args for x in (v if type(v) in (list, tuple) else (v,))]
    if t._wg_edge is not None or (t._wg_meta is not None and t._wg_meta.requires_grad) or any(t is x for x in given):
        return alias(t)
    if t._wg_meta is not None:  # what it is a view of is for the operator to say
        t._wg_meta.view = None
    return t


_NOTHING: dict[str, Any] = {}


def record_tensors(op: Operator, inputs: dict[str, Any], values: dict[str, Any], live: tuple[Any, ...],
        results: list[Any], m: Modes, aux: Mapping[str, Any] = _NOTHING) -> Any:
    """``record`` of an operator that dispatched: the node keeps tensors. ``aux``: further values from the class."""
    for p, t in inputs.items():  # as the user gave them: what promotion made of them means nothing
        values[p] = [None if x is None else x._wg_data for x in t] if type(t) is list else t._wg_data
    hooked = m if m.saved_tensor_hooks is not None else m.with_(saved_tensor_hooks=(unchanged, unchanged))
    node = record(op, inputs, values, live, hooked)
    if node is not None:
        for i, name in enumerate(op.saved):  # what only the gradient needs
            t = aux.get(name)
            if isinstance(t, Tensor) and node.saved[3 * i] is not None:
                node.saved = changed(node.saved, 3 * i, (Packed(t, unchanged), [0], 0))
        classes.RECORDING_TENSORS[:] = [True]
        node.__dict__["keeps_tensors"] = True
        if m.saved_tensor_hooks is None:
            for i, name in enumerate(op.saved):
                t = inputs.get(name)
                if isinstance(t, Tensor) and type(node.saved[3 * i]) is Packed and type(t._wg_vc) is list:
                    node.saved = changed(node.saved, 3 * i, (node.saved[3 * i], t._wg_vc, t._wg_vc[0]))
        keep_results(op, node, results, m)
    return node


def record_write(op: Operator, inputs: dict[str, Any], values: dict[str, Any], target: Any, m: Modes) -> Any:
    """``record_tensors`` of an in-place form, before the write: what is about to be overwritten is cloned."""
    first = op.params[0]
    node = record_tensors(op, inputs, values, (target,), [target], m)
    if node is not None and first in op.saved and op.saved.index(first) * 3 < len(node.saved):
        at = 3 * op.saved.index(first)
        if node.saved[at] is not None:
            before = modes()
            set_modes(before.with_(grad=False))
            try:
                _put(node, at, target.clone(), m)
            finally:
                set_modes(before)
    return node


def keep_results(op: Operator, node: Any, results: list[Any], m: Modes) -> None:
    """Have the node keep the results that it saves, as tensors without history."""
    for name, t in zip(op.outputs if op.outputs is not ... else (), results):
        if name in op.saved and node.saved[3 * op.saved.index(name)] is not None:
            kept = alias(t) if m.saved_tensor_hooks is not None or not t._wg_dispatches else _detach(t)
            _put(node, 3 * op.saved.index(name), kept, m, True)


def _put(node: Any, at: int, t: Any, m: Modes, versioned: bool = False) -> None:
    pack, unpack = m.saved_tensor_hooks if m.saved_tensor_hooks is not None else (unchanged, unchanged)
    entry = Packed(call_pack_hook(pack, t), unpack)
    counter = t._wg_vc if versioned and m.saved_tensor_hooks is None and type(t._wg_vc) is list else [0]
    node.saved = changed(node.saved, at, (entry, counter, counter[0]))
