"""The native call of an operator (``native/operation.c``), made from the operator's declaration.

It does what ``call.compute`` does in the common case: plain tensors of one type, recorded or not, and no other
mode in force. In all other cases it returns ``NotImplemented``. Without the extension there is none: the generated
Python of ``specialise`` and the general path, which are its definition, do the work.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..arrays import dtypes as dt
from ..arrays import flags, kernels
from ..arrays.layouts import in_order_of
from ..graph.modes import INFERENCE, RECORD, SILENT, modes
from ..graph.node import leaf_row, next_sequence
from . import classes, results
from .autograd_meta import INFERENCE_VERSION, META_DEFAULTS, AccumulateGrad, Meta, edge_of
from .copy_slices import rebase
from .saved_tensor_hooks import UNVERSIONED
from .views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ops.operator import Operator

_native: Any = getattr(getattr(kernels, "_native", None), "_kernels", None)

#: Whether there are native calls.
available: bool = hasattr(_native, "tape")

# Operators that the extension has as functions of their tensors; they answer NotImplemented to what is not for them.
_KERNELS = ("linear", "matmul")

# Operators whose rules take a Python number for the first argument as well as for the second.
_NUMBERS_FIRST = frozenset(("add", "div", "mul", "rsub", "sub"))

# Operators that bring their arguments to one type themselves, and refuse truth values.
JOINING = frozenset(("sub", "rsub"))

_MOST = 16  # parameters that a native call can have


@cache
def _register_classes() -> None:
    """Give the extension our classes, once."""
    current, counter = modes.__self__, next_sequence.__self__  # type: ignore[attr-defined]
    _native.tape(classes.Tensor_, classes.PLAIN, dt.dtype, Meta, META_DEFAULTS, View, classes.UNSET, current, RECORD,
        SILENT, INFERENCE, INFERENCE_VERSION, counter, leaf_row, edge_of, UNVERSIONED, AccumulateGrad, in_order_of,
        flags.STATE, flags.IGNORED, rebase, kernels.cast, classes.NATIVE_CALLS, dt.default_float)


def watch(current: Any) -> None:
    """Call ``current.made`` for every node that a native call makes; None ends that."""
    if available:
        _native.tape_watch(None if current is None else current.made)


def rebuilder() -> Any:
    """``record.rebuilt`` in the extension; None without."""
    if not available:
        return None
    _register_classes()
    return _native.rebuilt


def hider(cls: type, memories: dict[Any, bytes]) -> Any:
    """A function of a tensor and a number: an object of ``cls``, a tensor that has the given one in its slot ``value``,
    and an array of all but its first dimension over one element from ``memories``. It may answer None.
    """
    if not available:
        return lambda value, number: None
    _register_classes()
    _native.hidden_class(cls, memories)
    return _native.hidden


def native(op: Operator) -> bool:
    """Whether ``op`` has a native call."""
    return (available and bool(op.tensors) and op.lazy is not True and len(op.params) <= _MOST
        and len(op.saved) + len(op.consts) <= _MOST)


def native_call(op: Operator, node_class: type | None, without: dict[str, type] | None = None,
        writes: int = 0, real: bool = False) -> Any:
    """A function of all the arguments of ``op``, in order; None where there is no native way.

    ``writes``: it is the in-place form; 2 if the kernel can put its result where it belongs. ``real``: not for complex.
    ``node_class``: of the nodes that it makes. (As its attribute ``node`` it may be replaced; by anything but a class
    to switch the native call off.) ``without``: of those that it makes where that argument is no tensor.
    """
    if not native(op):
        return None
    _register_classes()
    at = {p: i for i, p in enumerate(op.params)}
    outputs: tuple[str, ...] = () if op.outputs is ... else op.outputs
    floats = [p for p in op.tensors if p in op.wrt or (op.promote and p in op.promoted)] or op.tensors[:1]

    def source(name: str) -> tuple[bytes, int, int]:
        return _source(op, at, outputs, name)

    return _native.operation(op, op.forward, getattr(_native, op.name) if op.name in _KERNELS else op.kernel,
        op.params[-op.kwonly :] if op.kwonly else None, node_class,
        results.result_type(op) if len(outputs) > 1 else None,
        tuple(op.defaults.get(p, classes.UNSET) for p in op.params), b"".join([_kind(op, p) for p in op.params]),
        bytes(at[p] for p in floats), bytes(at[p] for p in op.wrt), bytes(op.differentiable),
        tuple(map(source, op.saved)), tuple(map(source, op.consts)), len(outputs), len(op.aux),
        {"elementwise": b"e", "float": b"f"}.get(op.promote or "", b"n"), b"v" if op.view is True else b"p" if op.view
        else {"rows": b"r", "elementwise": b"e"}.get(op.layout or "", b"n"), _numbers(op), tuple(without.get(p)
        for p in op.params) if without else None, writes, _mixes(op, floats),
        op.opmath | (op.kernel is not None and bool(op.promote or op.opmath or op.name in _NUMBERS_FIRST)) << 1
        | real << 2, getattr(op.numbered, "quick", None))


def _mixes(op: Operator, floats: Sequence[str]) -> int:
    """Whether the tensors that decide the type are brought to it; 2: unless there are truth values."""
    return 2 if op.name in JOINING else int(bool(op.promote) and set(floats) == set(op.promoted))


def _source(op: Operator, at: dict[str, int], outputs: tuple[str, ...], name: str) -> tuple[bytes, int, int]:
    """Where a node finds what it saves as ``name``: the kind of place, its number, bits of the gradients it is for."""
    users = sum(1 << i for i in op.users[name]) if name in op.users else (1 << len(op.wrt)) - 1
    if name in outputs:
        return b"r", outputs.index(name), users
    if name in op.aux:
        return b"a", len(outputs) + op.aux.index(name), users
    return (b"p", at[name], users) if name in at else (b"s", at[name[:-6]], users)


def _numbers(op: Operator) -> int:
    """Which parameters may be Python numbers, a bit each; a further bit if rules take a number that comes first."""
    if not op.scalars or op.optional or (len(op.tensors) != 2 and type(op.scalars) is str):
        return 0
    allowed = op.tensors if type(op.scalars) is str else op.scalars
    return sum(1 << op.params.index(p) for p in allowed) | (op.name in _NUMBERS_FIRST) << _MOST


def _kind(op: Operator, p: str) -> bytes:
    if p in op.tensor_lists:
        return b"h" if p in op.optional else b"l"
    if p in op.tensors:
        return b"o" if p in op.optional else b"t"
    return b"d" if p == "dtype" else b"b" if p in op.flags else b"x"
