"""The keys that PyTorch's dispatcher orders kernels by, and sets of them: names that programs pass on, and no more."""

from __future__ import annotations

import enum
from typing import Any

_NAMES = ("Undefined Dense CPU CUDA Meta MkldnnCPU SparseCPU SparseCsrCPU QuantizedCPU NestedTensorCPU NestedTensor "
    "BackendSelect AutogradCPU AutogradCUDA AutogradMeta AutogradOther Autograd AutogradNestedTensor "
    "AutogradFunctionality ADInplaceOrView AutocastXPU AutocastMPS AutocastCPU AutocastCUDA Functionalize Conjugate "
    "Negative ZeroTensor FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper FuncTorchDynamicLayerFrontMode "
    "FuncTorchDynamicLayerBackMode PythonTLSSnapshot Python PreDispatch PythonDispatcher CompositeImplicitAutograd "
    "CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional")

# in the order of priority
DispatchKey: Any = enum.Enum("DispatchKey", _NAMES, module="torch._C", start=0)  # type: ignore[misc]


_TAGS = ("core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace "
    "inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
    "nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy")
# what a library says of its operators, to compilers
Tag: Any = enum.Enum("Tag", _TAGS, module="torch", start=0)  # type: ignore[misc]


class DispatchKeySet(frozenset[Any]):
    """A set of keys."""

    def __new__(cls, *keys: Any) -> DispatchKeySet:
        return super().__new__(cls, keys)

    has = frozenset.__contains__

    def __or__(self, other: Any) -> DispatchKeySet:
        return DispatchKeySet(*super().__or__(other))

    def __and__(self, other: Any) -> DispatchKeySet:
        return DispatchKeySet(*super().__and__(other))

    def __sub__(self, other: Any) -> DispatchKeySet:
        return DispatchKeySet(*super().__sub__(other))

    def add(self, key: Any) -> DispatchKeySet:
        return DispatchKeySet(*self, key)

    def remove(self, key: Any) -> DispatchKeySet:
        return self - {key}

    def highestPriorityTypeId(self) -> Any:
        return max(self, key=lambda key: key.value, default=DispatchKey["Undefined"])

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in sorted(self, key=lambda key: -key.value))})"


def keys_of(tensor: Any) -> DispatchKeySet:
    """The keys that PyTorch would give a tensor."""
    from ..tensor.classes import DISPATCHING

    where = "Meta" if tensor.is_meta else "SparseCPU" if tensor.is_sparse else "CPU"
    names = [where, "AutogradMeta" if where == "Meta" else "AutogradCPU", "AutocastCPU", "ADInplaceOrView"]
    if tensor.is_inference():
        names = [where, "AutocastCPU"]
    extra = getattr(tensor, "_extra_dispatch_keys", None)
    names += [key.name for key in extra] if extra is not None else []
    if tensor.is_conj():
        names.append("Conjugate")
    if tensor.is_neg():
        names.append("Negative")
    if type(tensor) in DISPATCHING:
        names += ["Python", "PythonTLSSnapshot"]
    return DispatchKeySet(*(DispatchKey[name] for name in names))


def parsed(name: str) -> Any:
    """The key of this name; ``ValueError`` if there is none."""
    found = DispatchKey.__members__.get(name)
    if found is None:
        raise ValueError(f"could not parse dispatch key: {name}")
    return found
