"""The general path of an operator call: overrides, conversion, promotion, forward, views, recording.

The functions that users call are generated from the declarations with a short cut for the everyday case (see
``specialise``); whatever the short cut does not cover comes here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import flags
from ..arrays import kernels as K
from ..arrays.eight import converted
from ..arrays.ghost import META_DEVICE, Ghost
from ..arrays.layouts import in_order_of
from ..arrays.lazy import Lazy, plain, through
from ..graph.modes import Modes, modes, set_modes
from ..ops.operator import TABLE
from .errors import explain
from .meta import INFERENCE_VERSION, Meta, Released, View, edge_of, normal_version
from .outs import DECIDING
from .packing import changed, pack_inputs, pack_results
from .record import PACKED, record
from .structseq import FIELDS, structseq

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ops.operator import Operator
    from .tensor import Tensor

# Filled by the tensor module: the class, and the classes whose operators need no override check.
Tensor_: Any = None
PLAIN: set[type] = set()
RECORDING_TENSORS: list[bool] = []  # whether some node ever saved tensors that dispatch: a backward then looks for it
SHORTCUTS: dict[str, Any] = {}  # the native short cuts of operators, as far as they were made
DISPATCHING: set[type] = set()  # the classes of tensors with a ``__torch_dispatch__``: see the module ``wrappers``
Batched_: Any = None  # the tensors of mapped functions, once somebody maps one,
mapping: Any = None  # and what is done with them: the module ``batching.dispatch``
KNOWN: set[type] = {int, float, bool, complex, str, type(None), np.ndarray, dt.dtype}  # and PLAIN: never override anything
prepare: Any = None  # of the module ``overrides``: what is done to a new subclass of Tensor
PARTS = frozenset(("unsafe_split", "unsafe_split_with_sizes"))
UNSET = type("unset", (), {"__repr__": lambda self: "..."})()  # a required argument that was not given by its own name


_SIMPLE = frozenset((int, float, bool, type(None), str, np.ndarray))


def general(op: Operator, args: tuple[Any, ...], out: Any = None, public: Any = None) -> Any:
    """Call ``op`` with ``args`` in the order of its parameters; ``out`` as in PyTorch. ``public``: what was called, if not its function."""
    if out is not None and op.name in DECIDING and isinstance(out, Tensor_):
        at = op.params.index("dtype")
        if args[at] is None:
            args = (*args[:at], out.dtype, *args[at + 1 :])
    m = modes()
    if m.functions:
        from .function_modes import asked

        return asked(op, args, {} if out is None else {"out": out}, m, public=public)
    call: Any = compute
    if mapping is not None and (mapping.holds_batched(args) or (out is not None and mapping.holds_batched((out,)))):
        call = mapping.mapped
    for v in args:
        kind = type(v)
        if kind in PLAIN or kind in _SIMPLE or kind is Batched_:
            continue
        if any(type(x) not in PLAIN and type(x) not in _SIMPLE for x in v) if kind is list or kind is tuple else hasattr(kind, "__torch_function__"):
            answer = overridden(op.name, args, {} if out is None else {"out": out}, public)
            if answer is not NotImplemented:
                return answer
            break
    try:
        return observed(op, args, out, m, call) if m.observers else call(op, args, out, m)
    except Exception as error:
        better = told(op.name, op.params, args, {} if out is None else {"out": out}, error)
        if better is None:
            raise
        raise better from error


def observed(op: Operator, args: tuple[Any, ...], out: Any, m: Modes, call: Any) -> Any:
    """The call seen by profilers, autocast and the like: each observer wraps the next."""
    for observer in m.observers:
        call = observer.around(call)
    return call(op, args, out, m)


def compute(op: Operator, args: tuple[Any, ...], out: Any, m: Modes) -> Any:
    """Convert, run the forward, wrap its results, leave a node."""
    if m.levels:
        level = concerned(m, args if out is None else (*args, out))
        if level is not None:
            return within(m, level, level.run, op, args, out)
    inputs, raw = convert(op, args)
    if META_DEVICE:
        check_devices(op, inputs)
    if op.name == "view" and is_type(args[1]) and not m.dispatch:
        return seen_as(inputs["input"], raw, op, m)
    own = dispatching(args)
    if out is not None:  # what has a gradient is refused before anything else is looked at
        from .writes import refuse_recorded

        refuse_recorded(op, out if isinstance(out, (tuple, list)) else (out,), inputs, m)
    packing = m.packing is not None and m.grad
    if out is None and (m.dispatch or own or packing):  # what PyTorch makes of others is made of them here, above the tape
        from .lowering import COMPOSED, HOOKED

        parts = (COMPOSED if m.dispatch or own else HOOKED).get(op.name)
        if parts is not None:
            answer = composed(parts, tuple(v if p in op.tensors or not isinstance(v, Tensor_) else raw[p] for p, v in zip(op.params, args)))
            if answer is not NotImplemented:
                return answer
    early = pack_inputs(op, inputs, m, raw.get("also")) if packing and op.wrt else None
    if out is not None and (m.dispatch or own or dispatching((out,))):
        from .dispatch import dispatched_into

        return dispatched_into(op, args, out, m)
    if m.dispatch or own:
        from .dispatch import dispatched

        answer, given = dispatched(op, args, m)
    else:
        given = None
        try:
            answer = forward(op, raw)
        except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError) as e:
            look_up(inputs, m)
            raise explain(op, raw, e) from e
        except (RuntimeError, NotImplementedError):
            look_up(inputs, m)
            raise
    values = raw
    if op.aux:
        shown = answer[: len(op.outputs)]
        for name, value in zip(op.aux, answer[len(op.outputs) :]):
            values[name] = value
        arrays = list(shown)
    elif op.outputs is ... or len(op.outputs) > 1:
        arrays = list(answer)
    else:
        arrays = [answer]
    if out is not None:
        from .writes import into

        return into(op, arrays, out, inputs, m)
    source = inputs.get(op.params[0]) if op.view else None
    many = op.outputs is ...
    layout = op.layout if op.layout in ("rows", "elementwise") and given is None else None
    results = []
    for i, a in enumerate(arrays):
        if type(a) is not np.ndarray and type(a) is not Lazy and type(a) is not Ghost:
            a = np.asarray(a)
        if layout and type(a) is np.ndarray and not (layout == "rows" and a.flags.c_contiguous):
            a = in_order_of(a, [_given(inputs.get(p), raw[p]) for p in op.tensors]) if layout == "elementwise" else K.in_order(a)
        looking = source is not None and (op.view is True or looks_at(a, source._wg_data))
        if given is not None and isinstance(given[i], Tensor_) and not (m.inference and type(given[i]) is Tensor_):
            from .wrappers import result

            looking = looking or (source is not None and type(a) is Ghost and given[i]._is_view())
            own = own or type(given[i]) in DISPATCHING
            t = result(given[i], args)
        else:
            t = fresh(a, m)
        if looking:
            assert source is not None
            attach_view(t, source, op, (i, *args[1:]) if many else args[1:], m, "multi" if many else None)
        elif many and op.name in PARTS:
            attach_part(t, inputs[op.params[0]], op, (i, *args[1:]), m)
        results.append(t)
    if m.grad and op.wrt and not (source is not None and type(source._wg_vc) is Released):
        if many:
            live = tuple(results)
        else:
            live = tuple(results[i] for i in op.differentiable if results[i]._wg_data.dtype.kind in "fcVW")
            for name, t in zip(op.outputs, results):
                values[name] = t._wg_data
        if live:
            if early is not None:
                values[PACKED] = early
            if own:
                from .wrappers import record_tensors

                more = dict(zip(op.aux, given[len(op.outputs) :])) if op.aux else {}  # type: ignore[arg-type,index]
                node = record_tensors(op, inputs, values, live, results, m, more)
            else:
                node = record(op, inputs, values, live, m)
            if node is not None:
                for i, t in enumerate(live):
                    t._wg_edge = (node, i)
                if given is not None:
                    node.__dict__["seen"] = {p: seen(v) for p, v in zip(op.params, args)}
                if not own:
                    version_results(op, node, results, values)
                    if given is not None and m.packing is None:
                        from .dispatch import saved_results

                        saved_results(op, node, results, m)
    if many:
        return tuple(results)
    if len(results) == 1:
        return results[0]
    return named(op, results)


def look_up(inputs: dict[str, Any], m: Modes) -> None:
    """Ask for the histories of the inputs of a forward that failed: what is wrong with one is said before."""
    for t in inputs.values() if m.grad else ():
        for x in t if type(t) is list else (t,):
            if x is not None and x._wg_meta is not None and x._wg_meta.view is not None:
                edge_of(x)


def _given(t: Any, array: Any) -> Any:
    """What an argument was before it was converted: it is its layout that counts."""
    return array if t is None or type(t) is list else t._wg_data


def composed(parts: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """``parts(*args)``, seen as PyTorch's own code."""
    from .spaces import within_operators

    with within_operators():
        return parts(*args)


def again(t: Any) -> Any:
    """The same tensor as another object, without history; of a class that dispatches it stays one of that class."""
    if type(t) in DISPATCHING:
        from .wrappers import alias

        return alias(t)
    found = fresh(t._wg_data, modes())
    found._wg_vc = t._wg_vc
    return found


def seen(v: Any) -> Any:
    """What a formula may ask about an argument afterwards: shape and strides of a tensor, a number itself."""
    if isinstance(v, Tensor_):
        a = v._wg_data
        return a.shape, tuple(s // a.itemsize for s in a.strides)
    return v if v is None or isinstance(v, (int, float)) else ...


def dispatching(args: tuple[Any, ...]) -> bool:
    """Whether the class of a tensor among them has a ``__torch_dispatch__`` that is to be asked."""
    if not DISPATCHING:
        return False
    from . import dispatch

    return bool(dispatch.dispatching(args))


def is_type(shape: Any) -> bool:
    """Whether ``view`` was given a type instead of a shape."""
    return isinstance(shape[0] if type(shape) is tuple and len(shape) == 1 else shape, (dt.dtype, type))


def seen_as(t: Tensor, raw: dict[str, Any], op: Operator, m: Modes) -> Tensor:
    """The same bytes in another type: memory and version are shared, but no gradient passes, and it is no view to the tape."""
    found = fresh(forward(op, raw), m)
    if not m.inference and not t.is_inference():
        found._wg_vc = t._wg_vc
    return found


def concerned(m: Modes, args: tuple[Any, ...]) -> Any:
    """The innermost transformation that an operator of ``args`` concerns, or None; in inference mode it concerns nobody."""
    if m.inference:
        return None
    for level in reversed(m.levels):
        if level.concerns(args):
            return level
    return None


def within(m: Modes, level: Any, run: Callable[..., Any], *args: Any) -> Any:
    """``run(*args)`` as the levels outside ``level`` see it."""
    set_modes(m.outside(level))
    try:
        return run(*args)
    finally:
        set_modes(m)


def version_results(op: Operator, node: Any, results: list[Tensor], values: dict[str, Any]) -> None:
    """Saved outputs are checked against the version counter of the tensor that the user got; hooks get them now that they are written."""
    packing = modes().packing
    if packing is not None:
        pack_results(op, node, results, values, packing)
        return
    for name, t in zip(op.outputs if op.outputs is not ... else (), results):
        if name in op.saved:
            at = 3 * op.saved.index(name)
            if type(node.saved[at]) is np.ndarray:
                node.saved = changed(node.saved, at, (node.saved[at], t._wg_vc, t._wg_vc[0]))


def fresh(a: np.ndarray, m: Modes) -> Tensor:
    """A tensor around a result."""
    t: Tensor = object.__new__(Tensor_)
    t._wg_data, t._wg_edge, t._wg_meta = a, None, None
    t._wg_vc = INFERENCE_VERSION if m.inference else [0] if m.inside is None else [0, m.inside]
    return t


def attach_view(t: Tensor, source: Tensor, op: Any, args: tuple[Any, ...], m: Modes, creation: str | None = None) -> None:
    """Make ``t`` a view of ``source``: one version counter, and the steps from the base."""
    counter = source._wg_vc
    if type(counter) is Released:
        counter = INFERENCE_VERSION
    t._wg_vc = counter
    if counter is INFERENCE_VERSION:
        return
    parent = source._wg_meta.view if source._wg_meta is not None else None
    if parent is not None:
        base = parent.base
        last: tuple[Any, tuple[Any, ...], Any] = (op, args, parent.last)
        creation = creation or parent.creation
    else:
        base, last = source, (op, args, None)
    if m.inference:
        creation = "inference"
    elif not m.grad:
        creation = creation if creation not in (None, "multi") else "no_grad"
    meta = t._wg_meta = Meta()
    meta.view = View(base, last, counter[0], creation)


def attach_part(t: Tensor, source: Tensor, op: Any, args: tuple[Any, ...], m: Modes) -> None:
    """``t`` shares memory with ``source`` but counts its own writes: no view, but in inference mode, where PyTorch makes it of those."""
    if source.is_inference():
        t._wg_vc = INFERENCE_VERSION
    elif m.inference:
        attach_view(t, source, op, args, m)
        t._wg_vc = normal_version()


def looks_at(a: np.ndarray, source: np.ndarray) -> bool:
    """Whether ``a``, made from ``source`` by a reshape or the like, is a view of it (NumPy names the owner of the memory)."""
    base = a.base
    return base is not None and (base is source or base is source.base)


_return_types: dict[str, type] = {}


def result_type(op: Any) -> type:
    """The class of the named tuple that holds several outputs, ``torch.return_types.max``."""
    return return_type(op.name, op.outputs)


def return_type(name: str, fields: tuple[str, ...] | None = None) -> Any:
    """``torch.return_types.NAME``; None if there is no such class."""
    kind = _return_types.get(name)
    if kind is None:
        fields = fields or fields_of(name)
        if fields is None:
            return None
        kind = _return_types[name] = structseq(name, fields)
    return kind


def fields_of(name: str) -> tuple[str, ...] | None:
    """The names of the results of the function ``name``, or of its form with ``out=``."""
    name = name.removesuffix("_out")
    if name in FIELDS:
        return FIELDS[name]
    op: Any = TABLE.get(name)
    outputs = getattr(op, "outputs", ())
    return outputs if outputs is not ... and len(outputs) > 1 else None


def out_row(name: str, out: Any) -> Any:
    """What a function gives that was told where its results go: those tensors, named if there are several."""
    if not isinstance(out, (tuple, list)):
        return out
    kind = return_type(f"{name.removesuffix('_stable')}_out")
    return out if kind is None else tuple.__new__(kind, out)


def named(op: Any, results: list[Any]) -> Any:
    """Several outputs as a named tuple, ``torch.return_types.max(values=..., indices=...)``."""
    return tuple.__new__(result_type(op), results)


# -- arguments --------------------------------------------------------------------------------------------------------


def convert(op: Operator, args: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(tensors, values)`` by parameter: what the user gave as tensors, and everything as the forward wants it."""
    inputs: dict[str, Any] = {}
    raw: dict[str, Any] = {}
    for i, (p, v) in enumerate(zip(op.params, args)):
        if p in op.tensors:
            if p in op.tensor_lists:
                if not isinstance(v, (list, tuple)):
                    raise must_be(op, p, i, v, "tuple of Tensors")
                rows = list(v)
                for at, x in enumerate(rows):
                    if not isinstance(x, Tensor_) and not (x is None and p in op.optional):
                        raise TypeError(f"expected Tensor as element {at} in argument {i}, but got {type(x).__name__}")
                inputs[p], raw[p] = rows, [None if x is None else plain(x._wg_data) for x in rows]
            elif isinstance(v, Tensor_):
                a = v._wg_data
                inputs[p], raw[p] = v, a if type(a) is not Lazy or (op.view and not i) else a.resolved()
            elif v is None:
                if p not in op.optional:
                    raise must_be(op, p, i, v, "Tensor")
                raw[p] = None
            elif ((op.scalars and type(op.scalars) is str) or p in op.scalars) and dt.of_python(v) is not None:
                raw[p] = dt.number(v) if isinstance(v, np.generic) else v
            elif v is UNSET:
                raise TypeError(f'{op.name}() missing 1 required positional arguments: "{p}"')
            else:
                raise must_be(op, p, i, v, "Tensor")
        elif type(v) is dt.dtype:
            raw[p] = v.np
        elif p == "dtype" and isinstance(v, type) and v in dt.OF_TYPES:
            raw[p] = dt.OF_TYPES[v].np
        elif v is UNSET:
            raise TypeError(f'{op.name}() missing 1 required positional arguments: "{p}"')
        elif isinstance(v, Tensor_):
            if v.requires_grad:  # its history would be lost
                raise must_be(op, p, i, v, "Number")
            raw[p] = v.item()
        elif type(v) in (list, tuple) and any(isinstance(x, Tensor_) for x in v):
            raw[p] = tuple(x.item() if isinstance(x, Tensor_) else x for x in v)
        else:
            raw[p] = dt.number(v) if isinstance(v, np.generic) else v
    if not inputs and op.scalars == "one":
        raise must_be(op, op.tensors[0], 0, raw[op.tensors[0]], "Tensor")
    if op.promote:
        promote(op, raw)
    return inputs, raw


def must_be(op: Operator, p: str, i: int, v: Any, kind: str) -> TypeError:
    """The complaint about an argument of the wrong kind."""
    from .argument_errors import must_be as complaint

    return complaint(op.name.removesuffix("_dim"), p, i + 1, v, kind)


def told(name: str, names: Any, args: Any, kwargs: Any, error: Exception) -> Exception | None:
    """What is raised in place of an ``error`` that a call ended with; None if that is fit to be seen."""
    from .argument_errors import told as of_arguments

    return of_arguments(name, names, args, kwargs, error)


def promote(op: Operator, raw: dict[str, Any]) -> None:
    """Bring the promoted arguments to their common type, by PyTorch's rules."""
    group: list[Any] = []
    for p in op.promoted:
        v = raw[p]
        group.extend(v) if type(v) is list else group.append(v) if v is not None else None
    d = dt.result(group)
    if d is None:
        return
    if op.promote == "float" and dt.category(d) < dt.FLOAT:
        d = dt.default_float()
    number = np.dtype(np.float32) if op.opmath and dt.is_half(d) else d
    for p in op.promoted:
        v = raw[p]
        if type(v) is list:
            raw[p] = [x if x is None or x.dtype is d else x.astype(d) for x in v]
        elif type(v) is np.ndarray:
            if v.dtype is not d:
                raw[p] = converted(v, d if v.ndim else number)
        elif type(v) is Ghost:
            raw[p] = v.astype(d)
        elif v is not None:
            raw[p] = scalar(v, number)


def scalar(v: Any, d: np.dtype) -> np.ndarray:
    """A Python number as a 0-d array of type ``d``; an integer of 64 bits that does not fit wraps around, as in PyTorch."""
    if d.kind in "ui" and isinstance(v, int):
        if not -(2**63) <= v < 2**64:
            raise OverflowError("int too big to convert")
        v &= (1 << (8 * d.itemsize)) - 1
        if d.kind == "i" and v >> (8 * d.itemsize - 1):
            v -= 1 << (8 * d.itemsize)
        return np.asarray(v, d)
    return converted(np.asarray(v), d)


def forward(op: Operator, raw: dict[str, Any]) -> Any:
    """The forward on converted arguments; in half precision its kernel where nothing else is asked for, or by way of float32."""
    before = flags.quieten(flags.IGNORED)
    try:
        return _forward(op, raw)
    finally:
        flags.restore(before)


def _forward(op: Operator, raw: dict[str, Any]) -> Any:
    if META_DEVICE and any(ghostly(v) for v in raw.values()):
        from . import shapes

        return shapes.forward(op, raw)
    if dt.RARE_IN_USE:
        from ..ops import eight

        d = eight.concerned(op, raw)
        if d is not None:
            wide = eight.taken(op, raw, d)
            if wide is not None:
                return eight.given(op.forward(*positional(op, wide), **keywords(op, wide)), d)
    if (op.kernel is not None and op.promote) or op.opmath:
        d = next((a.dtype for a in map(raw.get, op.tensors) if type(a) is np.ndarray and dt.is_half(a.dtype)), None)
        if d is not None:
            return half(op, raw, d)
    if op.view and type(raw[op.params[0]]) is Lazy and not op.lazy:
        if op.name == "view" and any(isinstance(v, (dt.dtype, np.dtype)) for v in np.atleast_1d(np.asarray(raw["shape"], object))):
            kind = "conjugate view tensors" if raw["input"].conjugated else "tensors with negative bit set"
            raise RuntimeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
        return through(op.forward, *positional(op, raw), **keywords(op, raw))
    return op.forward(*positional(op, raw), **keywords(op, raw))


def check_devices(op: Operator, inputs: dict[str, Any]) -> None:
    """Refuse tensors with numbers beside tensors of the device ``meta``."""
    from . import shapes

    shapes.check_devices(op, inputs)


def ghostly(v: Any) -> bool:
    """Whether a converted argument has no numbers, being on the device ``meta``."""
    return (type(v) is Ghost and v.device == "meta") or (type(v) is list and any(type(x) is Ghost and x.device == "meta" for x in v))


def half(op: Operator, raw: dict[str, Any], d: np.dtype) -> Any:
    """The forward for arguments of 16 bits."""
    arrays = [raw[p] for p in op.tensors]
    usual = all(p in op.tensors or raw[p] == op.defaults.get(p, UNSET) for p in op.params)
    if op.kernel is not None and usual and all(a.dtype is d for a in arrays):
        return op.kernel(*arrays)
    if not op.opmath or any(a is not None and a.dtype != d and a.ndim for a in arrays):
        return op.forward(*positional(op, raw), **keywords(op, raw))
    raw = raw | {p: K.cast(a, np.dtype(np.float32)) for p, a in zip(op.tensors, arrays) if a is not None and a.dtype == d}
    return K.cast(op.forward(*positional(op, raw), **keywords(op, raw)), d)


def positional(op: Operator, raw: dict[str, Any]) -> list[Any]:
    """The positional arguments of the forward."""
    return [raw[p] for p in (op.params[: -op.kwonly] if op.kwonly else op.params)]


def keywords(op: Operator, raw: dict[str, Any]) -> dict[str, Any]:
    """The keyword-only arguments of the forward."""
    return {p: raw[p] for p in op.params[-op.kwonly :]} if op.kwonly else {}


def overridden(name: str, args: Any, kwargs: Any, public: Any = None) -> Any:
    """Give tensor-likes with ``__torch_function__`` the call; ``NotImplemented`` where nobody takes it."""
    from .overrides import dispatch

    return dispatch(name, args, kwargs, public)
