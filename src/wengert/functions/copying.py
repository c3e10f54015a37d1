"""Copies of tensors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..arrays.array_likes import has_memory
from ..arrays.storageless import StoragelessArray
from ..tensor.autograd_meta import new_version, requires_grad
from ..tensor.tensor import Tensor
from .memory import array_at, place_and_type, place_of
from .parameter import Parameter


def memory_of(t: Tensor) -> np.ndarray:
    """The whole memory that the tensor is a window of."""
    a = t._wg_data
    while isinstance(a.base, np.ndarray) and a.base.dtype == a.dtype:
        a = a.base
    return a


def deep_copy(t: Tensor, memo: dict[Any, Any]) -> Any:
    """A copy of a leaf; tensors that share memory share it in the copy too."""
    seen = t._wg_data
    if not has_memory(seen):
        return _deep_copy_of(t, seen.like(seen.window) if type(seen) is StoragelessArray else seen.copy(), memo)
    flat, offset, strides = place_of(seen)
    key = ("wengert memory", place_and_type(flat))
    if key not in memo:
        memo[key] = flat.copy(), flat  # which keeps the address in use
    return _deep_copy_of(t, array_at(memo[key][0], offset, seen.shape, strides), memo)


def same_class(t: Tensor, made: Tensor, kind: str, method: str) -> None:
    """Refuse to copy ``t`` if its class has no way to make a tensor of itself: what it ``made`` is of another."""
    if type(made) is not type(t):
        name = method.partition("(")[0]
        raise RuntimeError(f"The default implementation of __deepcopy__() for {kind} subclasses only works for "
            f"subclass types that implement {method} returns another instance of the same subclass. You should either "
            f"properly implement {name}() for your subclass or override __deepcopy__() if it is intended behavior for "
            f"{name}() to return an instance of a different type.")


def copy_attributes(t: Tensor, new: Tensor, memo: dict[int, Any]) -> None:
    """Copy to ``new`` the gradient of ``t`` and the attributes that the program has set, in slots too."""
    if t._wg_meta is not None and t._wg_meta.grad is not None:
        new.grad = copy.deepcopy(t._wg_meta.grad, memo)
    for name, value in own_slots(t).items():
        setattr(new, name, copy.deepcopy(value, memo))
    if t.__dict__:
        new.__dict__ = copy.deepcopy(t.__dict__, memo)


def own_slots(t: Any) -> dict[str, Any]:
    """What is in the slots of classes that the program has derived from Tensor."""
    from ..dispatch.torch_function import Overriding

    kinds = [k for k in type(t).__mro__
        if k not in Tensor.__mro__ and k not in (Parameter, Overriding) and "_own_operators" not in vars(k)]
    names = [n for kind in kinds for slots in (vars(kind).get("__slots__", ()),)
        for n in ((slots,) if isinstance(slots, str) else slots)]
    return {name: getattr(t, name) for name in names if name not in ("__dict__", "__weakref__") and hasattr(t, name)}


def _deep_copy_of(t: Tensor, array: Any, memo: dict[int, Any]) -> Any:
    new = object.__new__(type(t))
    new._wg_data, new._wg_edge, new._wg_meta, new._wg_vc = array, None, None, new_version()
    if has_memory(array) and not new.is_inference():
        new._wg_vc[0] = 1  # in PyTorch its memory is put in, and that counts as a write
    memo[id(t)] = new
    if requires_grad(t):
        new._wg_require(True)
    copy_attributes(t, new, memo)
    return new
