"""Which names in a file stand for which objects: the allow-list, and the way back when a file is written.

Files speak PyTorch's names. A name that is not in this table, nor among those that the user added with
``add_safe_globals``, is never looked up.
"""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes as dt
from ..names.homes import find, their_module

BLOCKED = ("sys", "os", "posix", "nt")  # never, even if the user names them
REBUILDERS = ("rebuild_tensor", "rebuild_tensor_v2", "rebuild_tensor_v3", "rebuild_parameter",
    "rebuild_parameter_with_state", "rebuild_device_tensor_from_cpu_tensor", "rebuild_meta_tensor_no_storage",
    "rebuild_sparse_tensor", "rebuild_wrapper_subclass", "rebuild_nested_tensor")


class StorageType:
    """What ``torch.FloatStorage`` and its kin stand for in a file: the type of a storage's elements."""

    __slots__ = ("dtype", "name")

    def __init__(self, name: str, dtype: dt.dtype) -> None:
        self.name, self.dtype = name, dtype

    def __repr__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


_by_name: dict[str, Any] = {}
_by_object: dict[int, tuple[str, str]] = {}
STORAGE_TYPES: dict[dt.dtype, StorageType] = {}
UNTYPED = StorageType("UntypedStorage", dt.uint8)


def known() -> dict[str, Any]:
    """PyTorch's full name -> object, for all that a file may name without further permission."""
    if _by_name:
        return _by_name
    from collections import Counter, OrderedDict, defaultdict

    from ..functions.parameter import Parameter
    from ..tensor import types
    from ..tensor.tensor import Tensor
    from ..torch_version import TorchVersion
    from . import rebuild

    ours: dict[str, Any] = {f"torch.{d.name}": d for d in dt.ALL}
    for d in dt.ALL:
        if d not in (dt.uint16, dt.uint32, dt.uint64, *dt.FLOAT8, dt.complex32):
            name = dt.SCALAR_NAMES[d.name] + "Storage"
            STORAGE_TYPES[d] = ours[f"torch.{name}"] = StorageType(name, d)
    for name in REBUILDERS:
        ours[f"torch._utils._{name}"] = getattr(rebuild, name)
    for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"):
        ours[f"torch.{name}"] = getattr(types, name)
    ours |= {
        "torch._tensor._rebuild_from_type_v2": rebuild.rebuild_from_type_v2,
        "torch.serialization._get_layout": rebuild.get_layout,
        "torch.nested._internal.nested_tensor._rebuild_njt": rebuild.rebuild_njt,
        "torch.nested._internal.nested_tensor.NestedTensor": rebuild.Jagged,
        "torch._dynamo.decorators._DimRange": rebuild.DimRange, "torch.storage.UntypedStorage": UNTYPED,
        "torch.nn.parameter.Parameter": Parameter, "torch.Tensor": Tensor, "torch.Size": types.Size,
        "torch.device": types.device, "torch.torch_version.TorchVersion": TorchVersion,
    }
    for full, thing in ours.items():
        module, _, name = full.rpartition(".")
        _by_object[id(thing)] = (module, name)
    plain: tuple[type, ...] = (list, dict, tuple, set, frozenset, int, float, complex, bool, str, bytes, bytearray)
    for kind in (*plain, OrderedDict, Counter, defaultdict):
        ours[f"{kind.__module__}.{kind.__name__}"] = kind
    ours["_codecs.encode"] = rebuild.encode
    _by_name.update(ours)
    return _by_name


def torch_name(thing: Any, name: str | None = None) -> tuple[str, str] | None:
    """``(module, name)`` under which PyTorch has ``thing``; None for what is not this package's."""
    known()
    found = _by_object.get(id(thing))
    if found is not None:
        return found
    name = name or getattr(thing, "__qualname__", None)
    module = their_module(str(getattr(thing, "__module__", None)), name) if name else None
    return (module, name) if module is not None and name and find(module, name) is thing else None


# -- what the user allows ---------------------------------------------------------------------------------------------

CONSTANTS = {"builtins.Ellipsis": Ellipsis, "builtins.NotImplemented": NotImplemented}  # which say no name of theirs
_safe: dict[Any, None] = {}  # in the order in which they came


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow files to name these functions and classes, or pairs ``(function or class, full name in the file)``: to
    call them, to make instances, to set their state.

    >>> from fractions import Fraction
    >>> torch.serialization.add_safe_globals([Fraction])
    >>> torch.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> torch.serialization.clear_safe_globals()
    """
    _safe.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Any]:
    """What the user has allowed files to name."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget all that was added with :func:`add_safe_globals`."""
    _safe.clear()


class safe_globals:
    """Context in which files may also name these functions and classes; see :func:`add_safe_globals`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self.new = [thing for thing in self.safe_globals if thing not in _safe]
        add_safe_globals(self.new)

    def __exit__(self, *exc: object) -> None:
        for thing in self.new:
            _safe.pop(thing, None)


def allowed_by_user() -> dict[str, Any]:
    """Full name -> object, for what the user has allowed; this package's own also under PyTorch's names."""
    found = {}
    for thing in _safe:
        if isinstance(thing, tuple):
            if len(thing) != 2:
                raise ValueError("Expected tuple of length 2 (global, str of callable full path), but got tuple of "
                    f"length: {len(thing)}")
            thing, full = thing
            if type(full) is not str:
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(full)}")
            found[full] = thing
            continue
        full = next((name for name, value in CONSTANTS.items() if value is thing), None)
        full = full or f"{thing.__module__}.{thing.__qualname__}"
        found[full] = thing
        other = other_name(full)
        if other is not None:
            found.setdefault(other, thing)
        theirs = torch_name(thing)
        if theirs is not None:
            found[".".join(theirs)] = thing
    return found


def other_name(full: str) -> str | None:
    """What has this name in other versions of NumPy or Python."""
    for new, old in (("numpy._core.", "numpy.core."), ("pathlib._local.", "pathlib."), ("numpy.rec.", "numpy.")):
        for one, other in ((new, old), (old, new)):
            if full.startswith(one):
                return other + full[len(one) :]
    return None
