"""Writing into tensors: the in-place form of an operator, ``out=``, and what PyTorch refuses to write to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.errors import warn
from ..arrays.ghost import META_DEVICE, Ghost
from ..arrays.lazy import Lazy, address, put, through
from ..arrays.places import look, memory_of, refitted, start_of
from ..graph.modes import Modes, modes, set_modes
from ..ops.operator import TABLE
from . import call
from .call import PLAIN, check_devices, concerned, convert, forward, look_up, overridden, version_results, within
from .errors import explain, warn_resized
from .meta import INFERENCE_VERSION, creation_error, edge_of, requires_grad
from .outs import APART, check_memory, check_type
from .packing import pack_inputs
from .record import PACKED, record, rename
from .rewriting import rebase

if TYPE_CHECKING:
    from ..ops.operator import Operator
    from .tensor import Tensor


def into(op: Operator, arrays: list[Any], out: Any, inputs: dict[str, Any], m: Modes) -> Any:
    """Write results into the tensors of ``out=``, resizing empty ones as PyTorch does."""
    targets = list(out) if isinstance(out, (tuple, list)) else [out]
    flat = refuse_recorded(op, targets, inputs, m)
    for a, t in zip(arrays, targets):
        a = a if type(a) is Ghost else np.asarray(a)
        check_type(op.name, a.dtype, t._wg_data.dtype)
        if overlapping(t._wg_data):
            raise RuntimeError(OVERLAP)
        check_memory(op, t._wg_data, [x._wg_data for x in flat if x._wg_vc is t._wg_vc], a.nbytes)
        check_normal(t, m)
    for a, t in zip(arrays, targets):
        a = a if type(a) is Ghost else np.asarray(a)
        if m.mutation is not None:
            m.mutation.before_write(t)
        if t._wg_data.shape != a.shape:
            if t._wg_data.size:
                warn_resized(t._wg_data.shape, a.shape)
            seen = refitted(t._wg_data, a.shape) if type(t._wg_data) is np.ndarray is type(a) else None
            if seen is None:
                seen = a.astype(t._wg_data.dtype) if type(a) is Ghost else np.empty(a.shape, t._wg_data.dtype)
            t._wg_data = seen
        if type(a) is Ghost is not type(t._wg_data):
            a._refuse()
        if type(t._wg_data) is not Ghost:
            put(t._wg_data, a)
        bump(t)
    return call.out_row(op.name, out)


def refuse_recorded(op: Any, targets: Any, inputs: dict[str, Any], m: Modes) -> list[Any]:
    """Refuse ``out=`` that is no tensor, or where a gradient would be asked for; gives the tensors among the inputs."""
    flat = [t for v in inputs.values() for t in (v if type(v) is list else [v]) if t is not None]
    for t in targets:
        if not isinstance(t, call.Tensor_):
            raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(t).__name__}")
    if m.grad and any(requires_grad(t) for t in (*flat, *targets)):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    return flat


def bump(t: Tensor) -> None:
    """Count one more write to the tensor's memory."""
    if type(t._wg_vc) is list or (t._wg_vc is not INFERENCE_VERSION and not modes().inference):
        t._wg_vc[0] += 1


def inplace(op: Operator, args: tuple[Any, ...], public: Any = None) -> Any:
    """The in-place form: compute, write into the first argument's memory, count the write, rewrite history."""
    m = modes()
    if m.functions:
        from .function_modes import asked

        return asked(op, args, {}, m, inplace=True, public=public)
    if m.inside is not None:
        m.inside.check(args[0], op, args)
    if call.mapping is not None and call.mapping.holds_batched(args):
        return call.mapping.mapped_inplace(op, args)
    for v in args:
        if isinstance(v, call.Tensor_) and type(v) not in PLAIN:
            answer = overridden(op.name + "_", args, {}, public)
            if answer is not NotImplemented:
                return answer
            break
    run: Any = write
    for observer in m.observers:
        if hasattr(observer, "inplace"):
            run = observer.inplace(run)
    try:
        return run(op, args, m)
    except Exception as error:
        better = call.told(op.name + "_", op.params, args, {}, error)
        if better is None:
            raise
        raise better from error


def write(op: Operator, args: tuple[Any, ...], m: Modes) -> Any:
    """The in-place form itself."""
    if m.levels:
        level = concerned(m, args)
        if level is not None:
            return within(m, level, level.write, op, args)
    target = args[0]
    inputs, raw = convert(op, args)
    if META_DEVICE:
        check_devices(op, inputs)
    recording = m.grad and any(requires_grad(t) for p in op.wrt for t in (lambda v: v if type(v) is list else [v])(inputs.get(p)) if t is not None)
    recording = recording and target._wg_data.dtype.kind in "fcVW"  # integers take the values alone
    # nothing depends on its old values any more
    stale = m.grad and not recording and isinstance(target, call.Tensor_) and requires_grad(target) and op.name not in _UNSEEN
    check_writable(target, recording or stale, m, op.name in _IDEMPOTENT and _shares(op, args))
    a = target._wg_data
    if op.name in _ADVISED and overlapping(a):
        warn(
            f"Use of {op.name.removesuffix('_tensor')}_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
            f"operation. This also applies to advanced indexing e.g. tensor{_ADVISED[op.name]}"
        )
    beside = [v._wg_data for p, v in inputs.items() if type(v) is not list and p != op.params[0] and v._wg_vc is target._wg_vc]
    if op.name == "abs" and a.dtype.kind in "cW":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    if beside and op.name not in APART and op.name != "fill":  # whose one number is read first
        check_memory(op, a, beside)
    if recording:
        edge_of(target)  # a stale view that must not be written to is refused here, before the forward
    own = call.dispatching(args)
    if m.dispatch or own:  # the modes do the writing, and the counting
        y = a
    else:
        try:
            y = forward(op, raw)
        except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError) as e:
            look_up(inputs, m)
            raise explain(op, raw, e) from e
        except NotImplementedError:  # a type that has no kernel: whether the result could be written is asked first
            if op.scalars:
                try:
                    whole = np.broadcast_shapes(*(np.shape(raw[p]) for p in op.promoted))
                except ValueError as e:
                    raise explain(op, raw, e) from e
                check_shape(whole, a.shape)
            if op.promote:
                check_cast(raw[op.params[0]].dtype, a.dtype)
            raise
    if op.aux:
        for name, value in zip(op.aux, y[1:]):
            raw[name] = value
        y = y[0]
    if y is not a and type(y) is not Ghost:
        y = np.asarray(y)
    check_shape(y.shape, a.shape)
    check_cast(y.dtype, a.dtype, c_named=op.name in _CLAMPS)
    if beside and op.name in APART:  # which look at their arguments first
        check_memory(op, a, beside)
    node = None
    if recording:
        raw["result"] = a if type(a) is not Lazy else np.asarray(y).astype(a.dtype)
        first, private = op.params[0], None
        if first in op.saved:  # some rule needs the value that is about to be overwritten
            if m.packing is not None and not own:
                private = _cloned(target, m)  # with its history, as hooks see it
                raw[first] = private._wg_data
            else:
                raw[first] = a if own or type(a) is Ghost else a.copy()  # (tensors that dispatch copy themselves)
        if m.packing is not None and not own:
            raw[PACKED] = pack_inputs(op, inputs, m, None, {first: private})
        if own:
            from .wrappers import record_write

            node = record_write(op, inputs, raw, target, m)
        else:
            node = record(op, inputs, raw, (target,), m, first)
            if m.dispatch and first in op.saved and node is not None and node.saved[3 * op.saved.index(first)] is not None:
                from .dispatch import ask, aten

                ask(aten.clone.default, call.Tensor_.clone, False, (target,), {}, m)
    elif stale:
        node = record(TABLE["zero"], {"input": target}, raw, (target,), m)  # type: ignore[arg-type]
        if node is not None and op.name in _COMPARING:
            rename(node, f"{op.name.capitalize()}Backward{int(isinstance(args[1], call.Tensor_))}")
    if node is not None and op.inplace_node is not None:
        rename(node, op.inplace_node if op.name != "fill" or isinstance(args[1], call.Tensor_) else "FillBackward2")
    if m.dispatch or own:
        from .dispatch import dispatched_inplace

        dispatched_inplace(op, args, m)
    elif type(a) is not Ghost:
        if type(y) is Ghost:
            y._refuse()
        put(a, y, y != a if overlapping(a) else True)
    if not m.below:  # where it is the call above that counts
        bump(target)
    if node is not None:
        if own:
            from .wrappers import keep_results

            keep_results(op, node, [target], m)
        else:
            version_results(op, node, [target], raw)
            if m.dispatch:
                from .dispatch import saved_results

                saved_results(op, node, [target], m)
        if m.dispatch or own:
            node.__dict__["seen"] = {p: call.seen(v) for p, v in zip(op.params, args)}
        rebase(target, node)
    return target


def _cloned(target: Tensor, m: Modes) -> Tensor:
    set_modes(m.with_(packing=None))
    try:
        return target.clone()
    finally:
        set_modes(m)


def check_cast(result: np.dtype, target: np.dtype, c_named: bool = False) -> None:
    """Refuse to write what would lose its kind: fractions into integers, say. ``c_named``: PyTorch names the target as C++ does."""
    if not dt.can_cast(result, target):
        wanted = dt.c_name(target) if c_named else dt.scalar_name(target)
        raise RuntimeError(f"result type {dt.scalar_name(result)} can't be cast to the desired output type {wanted}")


def check_shape(result: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Refuse to write a result of another shape."""
    if result != target:
        raise RuntimeError(f"output with shape {list(target)} doesn't match the broadcast shape {list(result)}")


_LEAF = "Write to it under torch.no_grad(), as an optimizer does; to go on from changed numbers, write to a clone() of it."
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)
# Writes that may go to an expanded tensor: where places share memory, all of them are meant.
_IDEMPOTENT = frozenset((
    "copy", "fill", "zero", "masked_fill", "masked_fill_tensor", "index_fill", "index_fill_tensor", "index_put", "tril", "triu",
))  # fmt: skip

# Writes that PyTorch's tape does not see at all, and those that cut the history under a name of their own.
_UNSEEN = frozenset(("logical_and", "logical_not", "logical_or", "logical_xor"))
_COMPARING = frozenset(("eq", "ge", "gt", "le", "lt", "ne"))

_CLAMPS = frozenset(("clamp", "clamp_max", "clamp_min"))
_ADVISED = {"index_put": "[indices] = tensor", **dict.fromkeys(
    ("index_fill", "index_fill_tensor", "masked_fill", "masked_fill_tensor"), "[mask] = scalar",
)}  # fmt: skip


def _shares(op: Operator, args: tuple[Any, ...]) -> bool:
    """Whether this write of an operator among ``_IDEMPOTENT`` may: not a number from a tensor, nor a copy but of the target itself."""
    if op.name == "fill":
        return not isinstance(args[1], call.Tensor_)
    if op.name != "copy":
        return True
    target, source = args[0], args[1]
    if source is target:
        return True
    a, b = target._wg_data, getattr(source, "_wg_data", None)
    return type(a) is type(b) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and address(a) == address(b)


def check_writable(t: Tensor, recording: bool, m: Modes, shared: bool = False) -> None:
    """Refuse in-place writes that PyTorch refuses, before anything is changed.

    ``shared``: the elements may share memory with each other.
    """
    if not isinstance(t, call.Tensor_):
        raise TypeError(f"an in-place operation needs a Tensor, not {type(t).__name__}")
    if m.mutation is not None:
        m.mutation.before_write(t)
    if not t._wg_data.flags.writeable:
        if memory_of(t._wg_data).flags.writeable:  # NumPy gives expanded arrays, and all views of them, as read-only
            t._wg_data = through(lambda a: look(a, a.shape, a.strides, start_of(a)), t._wg_data)
        else:
            raise RuntimeError(
                "this tensor's memory is read-only: it belongs to somebody else (a file, or a read-only NumPy array). clone() it first."
            )
    if recording:
        check_history(t)
    if not shared and overlapping(t._wg_data):
        raise RuntimeError(OVERLAP)
    check_normal(t, m)


def check_history(t: Tensor) -> None:
    """Refuse a write that would be recorded to what has no history to go on from: a leaf, a view of one, a view that was not recorded."""
    meta = t._wg_meta
    if meta is None:
        return
    view = meta.view
    if view is not None:
        if view.creation is not None:
            raise RuntimeError(creation_error(view.creation, t))
        if view.base._wg_edge is None and requires_grad(t):
            raise RuntimeError(f"a view of a leaf Variable that requires grad is being used in an in-place operation. {_LEAF}")
    if t._wg_edge is None and meta.requires_grad:
        raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation. {_LEAF}")


def check_normal(t: Tensor, m: Modes) -> None:
    """Refuse to change an inference tensor outside of inference mode."""
    if t._wg_vc is INFERENCE_VERSION and not m.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before doing"
            " inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def overlapping(a: np.ndarray) -> bool:
    """Whether two elements share memory (an expanded array)."""
    return 0 in a.strides and a.size > 1 and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape))
