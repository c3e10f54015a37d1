"""Writing into tensors: the in-place form of an operator, ``out=``, and what PyTorch refuses to write to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import as_array, new_filled
from ..arrays.errors import warn
from ..arrays.lazy import Lazy, address, put, through
from ..arrays.storageless import StoragelessArray
from ..arrays.strides import look, memory_of, resized_window, start_of
from ..graph.interceptors import Call, run_interceptors
from ..graph.modes import modes
from ..ops.errors import explain, warn_resized
from ..ops.operator import TABLE
from ..ops.outs import APART, OVERLAP, check_memory, check_type, overlapping
from . import classes
from .arguments import convert, forward
from .autograd_meta import bump, check_normal, edge_of, requires_grad
from .copy_slices import rebase
from .record import pack_inputs, record
from .results import look_up, out_row, version_results
from .views import creation_error

if TYPE_CHECKING:
    from ..graph.modes import Modes
    from ..ops.operator import Operator
    from .tensor import Tensor


def inplace(op: Operator, args: tuple[Any, ...], public: Any = None) -> Any:
    """The in-place form: compute, write into the first argument's memory, count the write, rewrite history."""
    try:
        return run_interceptors(Call("inplace", op, args, write, public=public), modes().interceptors)
    except Exception as error:
        better = classes.annotated(op.name + "_", op.params, args, {}, error)
        if better is None:
            raise
        raise better from error


def compute_inplace(op: Operator, args: tuple[Any, ...]) -> Any:
    """The in-place form, through the interceptors from forward mode inwards (outer ones have handled the call)."""
    return run_interceptors(Call("inplace", op, args, write), modes().from_levels)


def write(call: Call) -> Tensor:
    """The in-place form itself: convert the arguments, run the forward, leave a node, write, rewrite the history."""
    op, target, m = call.op, call.args[0], modes()
    inputs, values = convert(op, call.args)
    recording, stale = history_of_write(op, inputs, target, m)
    shared = check_write(op, call.args, inputs, recording, stale, m)
    a = target._wg_data
    if m.saved_tensor_hooks is not None and recording:
        pack_inputs(op, inputs, values, m, op.params[0])
    y = run_forward(op, inputs, values, a, call.forward or forward)
    check_shape(y.shape, a.shape)
    check_cast(y.dtype, a.dtype, c_named=op.name in _CLAMPS)
    if shared and op.name in APART:  # which look at their arguments first
        check_memory(op, a, shared)
    node = None
    if recording:
        node = record_write(op, inputs, values, target, y, m)
    elif stale:
        node = record(TABLE["zero"], {"input": target}, values, (target,), m)  # type: ignore[arg-type]
    if type(a) is not StoragelessArray:
        if type(y) is StoragelessArray:
            y._refuse()
        put(a, y, y != a if overlapping(a) else True)
    if not m.below_autograd:  # where it is the call above that counts
        bump(target)
    if node is not None:
        version_results(op, node, [target])
        rebase(target, node)
    return target


def history_of_write(op: Operator, inputs: dict[str, Any], target: Any, m: Modes) -> tuple[bool, bool]:
    """Whether the write is recorded; and whether, if not, it cuts the history of its target."""
    if not m.grad:
        return False, False
    wanted = any(requires_grad(t) for p in op.wrt for t in _row(inputs.get(p)))
    if wanted and target._wg_data.dtype.kind in "fcVW":  # integers take the values alone
        return True, False
    return False, isinstance(target, classes.Tensor_) and requires_grad(target) and op.name not in _UNSEEN


def _row(v: Any) -> list[Any]:
    return [t for t in (v if type(v) is list else [v]) if t is not None]


def check_write(op: Operator, args: tuple[Any, ...], inputs: dict[str, Any], recording: bool, stale: bool,
        m: Modes) -> list[Any]:
    """Refuse what PyTorch refuses, before any write; gives the arguments' arrays that share the target's memory."""
    target = args[0]
    check_writable(target, recording or stale, m, op.name in _IDEMPOTENT and _shares(op, args))
    a = target._wg_data
    if op.name in _ADVISED and overlapping(a):
        warn(f"Use of {op.name.removesuffix('_tensor')}_ on expanded tensors is deprecated. Please clone() the tensor "
            f"before performing this operation. This also applies to advanced indexing e.g. tensor{_ADVISED[op.name]}")
    if op.name == "abs" and a.dtype.kind in "cW":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    shared = [v._wg_data for p, v in inputs.items()
        if type(v) is not list and p != op.params[0] and v._wg_vc is target._wg_vc]
    if shared and op.name not in APART and op.name != "fill":  # whose one number is read first
        check_memory(op, a, shared)
    if recording:
        edge_of(target)  # a stale view that must not be written to is refused here, before the forward
    return shared


def run_forward(op: Operator, inputs: dict[str, Any], values: dict[str, Any], a: Any, forward: Any) -> Any:
    """The array that is to be written into ``a``; what the forward gives for its gradient alone joins ``values``."""
    try:
        y = forward(op, values)
    except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError) as e:
        look_up(inputs, modes())
        raise explain(op, values, e) from e
    except NotImplementedError:  # a type that has no kernel: whether the result can be written is checked first
        if op.scalars:
            try:
                whole = np.broadcast_shapes(*(np.shape(values[p]) for p in op.promoted))
            except ValueError as e:
                raise explain(op, values, e) from e
            check_shape(whole, a.shape)
        if op.promote:
            check_cast(values[op.params[0]].dtype, a.dtype)
        raise
    if op.aux:
        values.update(zip(op.aux, y[1:]))
        y = y[0]
    return y if y is a or type(y) is StoragelessArray else as_array(y)


def record_write(op: Operator, inputs: dict[str, Any], values: dict[str, Any], target: Tensor, y: Any, m: Modes) -> Any:
    """The node of the write, before it is done."""
    a, first = target._wg_data, op.params[0]
    values["result"] = a if type(a) is not Lazy else as_array(y).astype(a.dtype)
    if first in op.saved:  # some rule needs the value that is about to be overwritten
        values[first] = a if type(a) is StoragelessArray else a.copy()
    return record(op, inputs, values, (target,), m, first)


def check_cast(result: np.dtype, target: np.dtype, c_named: bool = False) -> None:
    """Refuse to write fractions into integers and the like; ``c_named``: in PyTorch's C++ names of dtypes."""
    if not dt.can_cast(result, target):
        wanted = dt.c_name(target) if c_named else dt.scalar_name(target)
        raise RuntimeError(f"result type {dt.scalar_name(result)} can't be cast to the desired output type {wanted}")


def check_shape(result: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Refuse to write a result of another shape."""
    if result != target:
        raise RuntimeError(f"output with shape {list(target)} doesn't match the broadcast shape {list(result)}")


_LEAF = ("Write to it under torch.no_grad(), as an optimizer does; to go on from changed numbers, write to a clone() "
    "of it.")
# Writes that may go to an expanded tensor: where places share memory, all of them are meant.
_IDEMPOTENT = frozenset(("copy", "fill", "zero", "masked_fill", "masked_fill_tensor", "index_fill", "index_fill_tensor",
    "index_put", "tril", "triu"))

# Writes that PyTorch does not record.
_UNSEEN = frozenset(("logical_and", "logical_not", "logical_or", "logical_xor"))

_CLAMPS = frozenset(("clamp", "clamp_max", "clamp_min"))
_ADVISED = {"index_put": "[indices] = tensor", **dict.fromkeys(
    ("index_fill", "index_fill_tensor", "masked_fill", "masked_fill_tensor"), "[mask] = scalar",
)}


def _shares(op: Operator, args: tuple[Any, ...]) -> bool:
    """Whether this write of an operator among ``_IDEMPOTENT`` may overlap: from a number, or a copy of the target."""
    if op.name == "fill":
        return not isinstance(args[1], classes.Tensor_)
    if op.name != "copy":
        return True
    target, source = args[0], args[1]
    if source is target:
        return True
    a, b = target._wg_data, getattr(source, "_wg_data", None)
    return (type(a) is type(b) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
        and address(a) == address(b))


def check_writable(t: Tensor, recording: bool, m: Modes, shared: bool = False) -> None:
    """Refuse in-place writes that PyTorch refuses, before anything is changed.

    ``shared``: the elements may share memory with each other.
    """
    if not isinstance(t, classes.Tensor_):
        raise TypeError(f"an in-place operation needs a Tensor, not {type(t).__name__}")
    if m.mutation is not None:
        m.mutation.before_write(t)
    if not t._wg_data.flags.writeable:
        if memory_of(t._wg_data).flags.writeable:  # NumPy gives expanded arrays, and all views of them, as read-only
            t._wg_data = through(lambda a: look(a, a.shape, a.strides, start_of(a)), t._wg_data)
        else:
            raise RuntimeError(
                "this tensor's memory is read-only: it belongs to somebody else (a file, or a read-only NumPy array). "
                "clone() it first."
            )
    if recording:
        check_history(t)
    if not shared and overlapping(t._wg_data):
        raise RuntimeError(OVERLAP)
    check_normal(t, m)


def check_history(t: Tensor) -> None:
    """Refuse a recorded write to a leaf, a view of one, or a view that was not recorded."""
    meta = t._wg_meta
    if meta is None:
        return
    view = meta.view
    if view is not None:
        if view.creation is not None:
            raise RuntimeError(creation_error(view.creation, t))
        if view.base._wg_edge is None and requires_grad(t):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation. "
                f"{_LEAF}")
    if t._wg_edge is None and meta.requires_grad:
        raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation. {_LEAF}")


def into(op: Operator, arrays: list[Any], out: Any, inputs: dict[str, Any], m: Modes) -> Any:
    """Write results into the tensors of ``out=``, resizing empty ones as PyTorch does."""
    targets = list(out) if isinstance(out, (tuple, list)) else [out]
    flat = refuse_recorded(op, targets, inputs, m)
    for a, t in zip(arrays, targets):
        a = a if type(a) is StoragelessArray else as_array(a)
        check_type(op.name, a.dtype, t._wg_data.dtype)
        if overlapping(t._wg_data):
            raise RuntimeError(OVERLAP)
        check_memory(op, t._wg_data, [x._wg_data for x in flat if x._wg_vc is t._wg_vc], a.nbytes)
        check_normal(t, m)
    for a, t in zip(arrays, targets):
        a = a if type(a) is StoragelessArray else as_array(a)
        if m.mutation is not None:
            m.mutation.before_write(t)
        if t._wg_data.shape != a.shape:
            if t._wg_data.size:
                warn_resized(t._wg_data.shape, a.shape)
            seen = resized_window(t._wg_data, a.shape) if type(t._wg_data) is np.ndarray is type(a) else None
            if seen is None:
                seen = (a.astype(t._wg_data.dtype) if type(a) is StoragelessArray
                    else new_filled(a, np.empty, a.shape, t._wg_data.dtype))
            t._wg_data = seen
        if type(a) is StoragelessArray is not type(t._wg_data):
            a._refuse()
        if type(t._wg_data) is not StoragelessArray:
            put(t._wg_data, a)
        bump(t)
    return out_row(op.name, out)


def refuse_recorded(op: Any, out: Any, inputs: dict[str, Any], m: Modes) -> list[Any]:
    """Refuse ``out=`` that is no tensor, or where a gradient is required; returns the tensors among the inputs."""
    targets = out if isinstance(out, (tuple, list)) else (out,)
    flat = [t for v in inputs.values() for t in (v if type(v) is list else [v]) if t is not None]
    for t in targets:
        if not isinstance(t, classes.Tensor_):
            raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(t).__name__}")
    if m.grad and any(requires_grad(t) for t in (*flat, *targets)):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    return flat
