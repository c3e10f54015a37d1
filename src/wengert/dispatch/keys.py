"""The keys that PyTorch's dispatcher orders kernels by, and sets of them: names that programs pass on; nothing here
goes by them.

>>> keys = DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutogradCPU)
>>> keys.has(DispatchKey.CPU), keys.highestPriorityTypeId().name
(True, 'AutogradCPU')
"""

from __future__ import annotations

import enum
from typing import Any

_NAMES = ("Undefined Dense CPU CUDA Meta MkldnnCPU SparseCPU SparseCsrCPU QuantizedCPU NestedTensorCPU NestedTensor "
    "BackendSelect AutogradCPU AutogradCUDA AutogradMeta AutogradOther Autograd AutogradNestedTensor "
    "AutogradFunctionality ADInplaceOrView AutocastCPU AutocastCUDA Functionalize Conjugate Negative "
    "ZeroTensor FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper FuncTorchDynamicLayerFrontMode "
    "FuncTorchDynamicLayerBackMode PythonTLSSnapshot Python PreDispatch PythonDispatcher CompositeImplicitAutograd "
    "CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional")

_made: Any = enum.Enum
# in the order of priority
DispatchKey: Any = _made("DispatchKey", [(name, i) for i, name in enumerate(_NAMES.split())])
DispatchKey.__module__ = "torch._C"


class DispatchKeySet:
    """A set of keys."""

    __slots__ = ("keys",)

    def __init__(self, *keys: Any) -> None:
        self.keys = frozenset(keys)

    def has(self, key: Any) -> bool:
        """Whether the key is in it."""
        return key in self.keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys | other.keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys & other.keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys - other.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.keys == other.keys

    def __hash__(self) -> int:
        return hash(self.keys)

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one key more."""
        return DispatchKeySet(*self.keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(*self.keys - {key})

    def highestPriorityTypeId(self) -> Any:
        """The key of highest priority."""
        return max(self.keys, key=lambda key: key.value, default=DispatchKey.Undefined)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in sorted(self.keys, key=lambda key: -key.value))})"


def keys_of(tensor: Any) -> DispatchKeySet:
    """The keys that PyTorch would give a tensor."""
    from ..tensor.classes import DISPATCHING

    where = "Meta" if tensor.is_meta else "SparseCPU" if tensor.is_sparse else "CPU"
    names = [where, "AutogradMeta" if where == "Meta" else "AutogradCPU", "AutocastCPU", "ADInplaceOrView"]
    if tensor.is_inference():
        names = [where, "AutocastCPU"]
    extra = getattr(tensor, "_extra_dispatch_keys", None)
    names += [key.name for key in extra.keys] if extra is not None else []
    if tensor.is_conj():
        names.append("Conjugate")
    if tensor.is_neg():
        names.append("Negative")
    if type(tensor) in DISPATCHING:
        names += ["Python", "PythonTLSSnapshot"]
    return DispatchKeySet(*(DispatchKey[name] for name in names))


def parsed(name: str) -> Any:
    """The key of this name.

    Raises:
        ValueError: there is none.
    """
    found = DispatchKey.__members__.get(name)
    if found is None:
        raise ValueError(f"could not parse dispatch key: {name}")
    return found
