"""Where tensors can be: the CPU, ``meta``, and the devices that a ``Runtime`` serves (see ``arrays.devices``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.array_likes import has_memory
from ..arrays.devices import class_of, known, missing, refuse_mixture, runtime
from ..arrays.lazy import window
from ..tensor import classes
from ..tensor.namespaces import TRACED_OPS
from ..tensor.types import CPU, META, device

if TYPE_CHECKING:
    from ..ops.operator import Operator

HOSTED: set[str] = set()  # other kinds of devices whose tensors are on the CPU too


def hosted(where: device) -> bool:
    """Whether tensors on a device are on the CPU."""
    return where.type == "cpu" or where.type in HOSTED


def on_cpu(where: Any) -> device:
    """The device that the user named; refused unless tensors of every kind can be there."""
    if where is None or where is CPU:
        return CPU
    d = device(where)
    if hosted(d):
        return CPU
    if isinstance(where, int) and not available("cuda"):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if known(d.type):
        runtime(d.type)  # says what is missing
    error, message = _ABSENT.get(d.type, (RuntimeError, f"tensors cannot be placed on device '{d}' here"))
    raise error(f"{message}; use device='cpu'")


# PyTorch's exceptions for devices that a build of it lacks, with what to do about it.
_ABSENT: dict[str, tuple[type[Exception], str]] = {
    "cuda": (NotImplementedError, "this is not there for CUDA tensors"),
    "xpu": (AssertionError, "Torch not compiled with XPU enabled: this build of wengert computes on the CPU"),
    "mps": (RuntimeError,
        "PyTorch is not linked with support for mps devices: this build of wengert computes on the CPU"),
}


def available(kind: str) -> bool:
    """Whether there are devices of a kind."""
    return missing(kind) is None


def placed(where: Any, near: Any = None) -> device | None:
    """The device where a new tensor goes: None for the CPU.

    ``where``: what the user named; ``near``: without a name it goes where this tensor is. Refused if there is no such
    device.
    """
    if where is None:
        if near is None or type(near._wg_data) is np.ndarray:
            return None
        return META if near.is_meta else _served(near._wg_data)
    if where is CPU or (type(where) is str and where == "cpu"):
        return None
    d = device(where)
    if d.type == "meta":
        return META
    if known(d.type) and not hosted(d):
        return numbered(d, isinstance(where, int))
    return on_cpu(where) and None


def numbered(d: device, bare: bool = False) -> device:
    """A served device with its number; ``RuntimeError`` if there is no such number.

    ``bare``: the user gave the number alone.
    """
    if bare and not available(d.type):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    found = runtime(d.type)
    index = found.current() if d.index is None else d.index
    if index >= found.count():
        raise RuntimeError(f"{d.type.upper()} error: invalid device ordinal: there is no device {d}, "
            f"torch.{d.type}.device_count() is {found.count()}")
    return d if d.index == index else device(d.type, index)


def array_class(where: device | None) -> Any:
    """The class of arrays on a device."""
    if where is None:
        return np.ndarray
    assert where.index is not None
    kind = runtime(where.type).arrays(where.index)
    classes.settle_devices = settle
    return kind


def taken(source: Any) -> Any:
    """The array on the memory of another library's array on a device (DLPack); None if that is on the CPU.

    ``source``: what has ``__dlpack__`` and says where it is.
    """
    where = getattr(source, "__dlpack_device__", None)
    kind, index = (1, 0) if where is None else where()
    name = _DLPACK.get(int(kind))
    if name is None or not known(name):
        return None
    cls = array_class(numbered(device(name, int(index))))
    return cls(cls.from_dlpack(source))


_DLPACK = {2: "cuda"}  # numbers of kinds of devices


def device_of(a: Any) -> device:
    """The device of an array in memory."""
    return _served(a) or CPU


def _served(a: Any) -> device | None:
    kind = class_of(a)
    return None if kind is np.ndarray else device(*kind.device)


def settle(op: Operator, inputs: dict[str, Any], raw: dict[str, Any]) -> None:
    """Bring the arguments of an operator to one device, as far as PyTorch does, and refuse others.

    Numbers (0-d tensors) may be on the CPU beside tensors on a device; indices, and the source of a copy, may be
    anywhere.
    """
    names = (*op.tensors, *_ARRAYS.get(op.name, ()))
    kinds = {class_of(a) for p in names for a in _row(raw.get(p)) if has_memory(a)}
    if len(kinds) < 2:
        return
    crossing = _CROSSING.get(op.name, ())
    checked = [p for p in names if p not in crossing and not _is_constant(inputs.get(p))]
    method, spelt = _SPELT.get(op.name, (op.name, {}))
    refuse_mixture([raw[p] for p in checked], method, [spelt.get(p, p) for p in checked],
        bool(op.promote or op.pointwise))
    first = raw[op.tensors[0]]
    target = (class_of(first) if op.name in _CROSSING and has_memory(first)
        else next(kind for kind in kinds if kind is not np.ndarray))
    if target is np.ndarray and op.name in ("index", "index_put"):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    for p in op.tensors:
        if type(inputs.get(p)) is list:
            inputs[p] = [_brought(t, target) for t in inputs[p]]
            raw[p] = [None if t is None else t._wg_data for t in inputs[p]]
        elif p in inputs and has_memory(raw[p]) and class_of(raw[p]) is not target:
            inputs[p] = _brought(inputs[p], target)
            raw[p] = inputs[p]._wg_data


#: Operators with arguments that may be on another device than the first, which decides.
_CROSSING = {"copy": ("src",), "index": ("indices",), "index_put": ("indices",)}


#: Options of operators that are arrays.
_ARRAYS = {"nll": ("target", "weight")}
#: What PyTorch calls an operator and its arguments in such complaints.
_SPELT: dict[str, tuple[str, dict[str, str]]] = {
    "matmul": ("mm", {"input": "self", "other": "mat2"}),
    "mm": ("mm", {"input": "self"}),
    "linear": ("addmm", {"input": "mat1", "weight": "mat2", "bias": "self"}),
    "embedding_rows": ("_index_select", {"weight": "self", "input": "self", "indices": "index"}),
    "nll": ("nll_loss_forward", {"input": "self"}),
    "addmm": ("addmm", {"input": "self"}),
}


def _is_constant(t: Any) -> bool:
    """Whether an argument is a constant that a composite or a gradient rule has made."""
    return t is not None and type(t) is not list and type(t._wg_vc) is classes.Constant


def _row(v: Any) -> Any:
    return v if type(v) in (list, tuple) else (v,)


def brought(t: Any, where: device | None) -> Any:
    """The tensor on a device (None: the CPU): itself if it is there, or is of a kind that has no other place."""
    a = window(t._wg_data)
    return _brought(t, array_class(where)) if has_memory(a) else t


def _brought(t: Any, target: Any) -> Any:
    return t if t is None or class_of(t._wg_data) is target else TRACED_OPS.to_device(t, target, class_of(t._wg_data))

