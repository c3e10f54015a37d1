"""Code for one operator, generated from its declaration, as ``dataclasses`` generates ``__init__``.

The generated function is the general path of ``call`` written out for the common case: plain tensors of one floating
type, nothing watching. Everything else falls through to the general path at its end. Print ``source(op, kind)`` to
read one.
"""

from __future__ import annotations

from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import flags
from ..arrays import kernels as K
from ..arrays.layouts import in_order_of
from ..graph import anomaly
from ..graph.modes import RECORD, SILENT, UNSAVING, modes
from ..graph.node import next_sequence
from ..ops.errors import explain
from ..ops.spellings import OTHER_NAMES
from . import classes
from .autograd_meta import INFERENCE_VERSION, edge_among, edge_of
from .call import general
from .classes import PLAIN, UNSET
from .inplace import inplace
from .namespaces import ARRAY_OPS, TRACED_OPS
from .native_call import JOINING, native, native_call, rebuilder
from .native_call import watch as watch_native_calls
from .record import OpNode, conjugated, make_class, node_class, rarely_rebuilt, rebuilt, renamed
from .results import attach_view, looks_at
from .saved_tensor_hooks import UNVERSIONED
from .version_check import check_versions, freed, modified

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ops.operator import Operator


def specialise(op: Operator, kind: str, scope: dict[str, Any]) -> Any:
    """Compile the function of ``op`` (``kind``: call, inplace, dunder, reflected, augmented) into ``scope``."""
    scope.update(Tensor=classes.Tensor_, PLAIN=PLAIN, modes=modes, RECORD=RECORD, SILENT=SILENT, new=object.__new__,
        ndarray=np.ndarray, asarray=np.asarray, in_order_of=in_order_of, F32=dt.F32, F64=dt.F64, edge_of=edge_of,
        edge_among=edge_among, INFERENCE=INFERENCE_VERSION, next_seq=next_sequence, general=_reported(general, scope),
        inplace=_reported(inplace, scope), op=op, attach_view=attach_view, looks_at=looks_at, explained=_explained,
        forward=op.forward, kernel=op.kernel, UNV=UNVERSIONED, renamed_keywords=_renamed_keywords,
        deprecated_signature=deprecated_signature, foreign=_foreign, equal=_equal, not_a_tensor=_not_a_tensor,
        UNSET=UNSET, KINDS=(dt.dtype, type), set_flags=flags.quieten, reset_flags=flags.restore, IGNORED=flags.IGNORED)
    nodes = node_maker(op) if op.wrt else None
    others = {} if nodes is None else {p: renamed(nodes, name) for p, name in op.without.items()}
    writes = 1 + _kernel_writes(op) if kind in ("inplace", "augmented") else 0
    if not op.saved:
        UNSAVING[op.name] = True
    scope["quick"] = native_call(op, nodes or object, others, writes)
    if nodes is not None and not writes:
        makers = {"NodeClass": nodes, **{f"NodeWithout_{p}": other for p, other in others.items()}}
        if scope["quick"] is not None and op.name not in _around:
            classes.NATIVE_CALLS[op.name] = scope["quick"]
        scope.update(makers)
        _node_makers.append((scope, makers))
        if anomaly.current is not None:
            _watch(anomaly.current)
    _compiled.setdefault(op.name, []).append(scope)
    if op.name in _around:
        _put_around(scope, _around[op.name])
    made = FunctionType(_code(op, kind), scope)
    made.__defaults__, made.__kwdefaults__ = _defaults(op, kind)
    return made


def _code(op: Operator, kind: str) -> CodeType:
    """The code of ``source(op, kind)``; sources that differ only in the names of parameters are compiled once."""
    names = {f"p{i}": p for i, p in enumerate(op.params)} if native(op) and not op.variadic else {}
    code = _function_code(source(op, kind, tuple(names)))
    return code.replace(co_varnames=tuple(names.get(n, n) for n in code.co_varnames),
        co_filename=f"<wengert operator {op.name}>")


@cache
def _function_code(text: str) -> CodeType:
    """The code of the one function that ``text`` defines."""
    return next(c for c in compile(text, "<wengert>", "exec").co_consts if type(c) is CodeType)


_compiled: dict[str, list[dict[str, Any]]] = {}  # the scopes of the functions of each operator
_around: dict[str, Any] = {}  # what was put around operators


def put_around(name: str, wrap: Any) -> None:
    """Have every call of the operator ``name`` take the general path inside of ``wrap(path)``; None ends that."""
    if wrap is None:
        _around.pop(name, None)
    else:
        _around[name] = wrap
        classes.NATIVE_CALLS.pop(name, None)
    for scope in _compiled.get(name, ()):
        scope.update(scope.pop("_before", {}))
        if wrap is not None:
            _put_around(scope, wrap)


def _put_around(scope: dict[str, Any], wrap: Any) -> None:
    scope["_before"] = {key: scope[key] for key in ("quick", "general", "inplace", "RECORD", "SILENT") if key in scope}
    scope.update(quick=lambda *args: NotImplemented, general=wrap(scope["general"]), inplace=wrap(scope["inplace"]),
        RECORD=_NO_MODE, SILENT=_NO_MODE)


_NO_MODE = object()  # replaces a mode for which the fast path runs


def _reported(path: Any, scope: dict[str, Any]) -> Any:
    """The general path, which passes the public method on to overrides."""
    public = scope.get("_public")
    return path if public is None else partial(path, public=public)


# the scopes that make nodes, and what they make them with
_node_makers: list[tuple[dict[str, Any], dict[str, Any]]] = []


def _watch(current: Any) -> None:
    """Make nodes with or without notifying anomaly mode: the generated code does not test whether it is on."""
    watch_native_calls(current)
    for scope, makers in _node_makers:
        for key, made in makers.items():
            scope[key] = made if current is None else current.maker(made)


anomaly.listeners.append(_watch)


def _foreign(v: Any) -> bool:
    """Whether an operand is neither a number nor something that overrides operators."""
    return dt.of_python(v) is None and not hasattr(type(v), "__torch_function__")


def _equal(tensor: Any, other: Any) -> Any:
    """``tensor == other`` for no tensor: PyTorch compares arrays, but leaves all other operators to NumPy."""
    if type(other) is not np.ndarray or other.dtype.kind not in "biufc":
        return NotImplemented
    return tensor == classes.Tensor_._wg_wrap(other)


def _not_a_tensor(op: Operator, v: Any) -> Exception:
    return TypeError(f"descriptor '__{op.name}__' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type(v).__name__}' object")


def _explained(op: Operator, args: tuple[Any, ...], error: Exception) -> Exception:
    found = error if isinstance(error, RuntimeError) else explain(
        op, {p: getattr(v, "_wg_data", v) for p, v in zip(op.params, args)}, error)
    return (classes.annotated(op.name, op.params, args, {}, error) if found is error else None) or found


def _renamed_keywords(op: Operator, args: tuple[Any, ...], more: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """Take NumPy's keyword names (``axis`` for ``dim``) and ``out`` out of ``more``."""
    out = more.pop("out", None)
    row = list(args)
    other = OTHER_NAMES.get(op.name, {})
    for key, value in more.items():
        name = (other.get(key) or {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x2": "other",
            "self": "input"}.get(key, key))
        if key in ("input", "self") and "input" not in op.params:
            name = op.params[0]
        if key == "axis" and "dim" not in op.params and "dims" in op.params:
            name = "dims"
        if name not in op.params or name == key:
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{key}'")
        row[op.params.index(name)] = value
    return tuple(row), out


# Have a deprecated order of arguments, too: a call in that order, of the module ``functions.overloads_deprecated``.
DEPRECATED_SIGNATURES = ("add", "sub", "addcmul", "addcdiv", "addmm", "addbmm", "baddbmm", "addmv", "addr")
deprecated_signature: Any = None


def fast(op: Operator) -> bool:
    """Whether the declaration is simple enough for a fast path: one output, no lists of tensors, no ``aux`` values."""
    simple = op.outputs is not ... and not op.aux and not op.tensor_lists and op.lazy not in (True, "native")
    return simple and len(op.outputs) == 1 and bool(op.tensors)


@cache
def node_maker(op: Operator) -> type[OpNode]:
    """The class of its nodes: a fast one where they are given one gradient, and give one for each of ``wrt``."""
    single = op.outputs is not ... and len(op.differentiable) == 1 and not {*op.tensor_lists} & {*op.wrt}
    return fast_node(op) if single else node_class(op)


def _defaults(op: Operator, kind: str) -> tuple[Any, Any]:
    if kind in ("dunder", "reflected", "augmented"):
        return None, None
    plain = op.params[: -op.kwonly] if op.kwonly else op.params
    required = _renamable(op)
    positional = tuple(op.defaults.get(p, UNSET) for p in plain
        if (p in op.defaults or p in required) and p != op.variadic)
    keyword = {p: op.defaults[p] for p in (op.params[-op.kwonly :] if op.kwonly else ()) if p in op.defaults}
    if op.variadic and positional:
        keyword.update({p: op.defaults[p] for p in plain if p in op.defaults and p != op.variadic})
        positional = ()
    return positional or None, keyword or None


def _renamable(op: Operator) -> tuple[str, ...]:
    """The required parameters that may arrive under another name: Python must not miss them before we have looked."""
    plain = op.params[: -op.kwonly] if op.kwonly else op.params
    if op.variadic:
        return ()
    required = tuple(p for p in plain if p not in op.defaults)
    if op.name in OTHER_NAMES or len(required) == 1 or (required and required[0] != "input"):
        return required
    if "dim" not in required:
        return ()
    return ("dim",) if all(p in op.defaults for p in plain[plain.index("dim") + 1 :]) else ()


def _signature(op: Operator, kind: str, params: tuple[str, ...]) -> str:
    if kind in ("dunder", "reflected", "augmented"):
        return ", ".join(reversed(params[:2]) if kind == "reflected" else params[:2])
    plain = list(params[: -op.kwonly] if op.kwonly else params)
    keyword = list(params[-op.kwonly :] if op.kwonly else ())
    if op.variadic:  # permute(*dims): what follows the variadic parameter is keyword-only
        at = plain.index(op.variadic)
        return ", ".join([*plain[:at], f"*{op.variadic}", *plain[at + 1 :], *keyword, "**more"])
    star = "*old" if op.name in DEPRECATED_SIGNATURES else "*"
    return ", ".join([*plain, *([star, *keyword] if keyword else []), "**more"])


def source(op: Operator, kind: str = "call", names: tuple[str, ...] = ()) -> str:
    """The generated Python source; ``names``: other names for the parameters."""
    params = names or op.params
    lines = [f"def _made({_signature(op, kind, params)}):"]
    add = lines.append
    args = "(" + ", ".join(params) + ",)"
    special = kind in ("dunder", "reflected", "augmented")
    if op.name in DEPRECATED_SIGNATURES and not special:
        given = f"zip(op.params[{-op.kwonly}:], ({', '.join(params[-op.kwonly :])},))"
        add(f"    if old: return deprecated_signature(op, {kind == 'inplace'}, "
            f"({', '.join(params[: -op.kwonly])}, *old), dict({given}, **more))")
    if special:  # the further parameters have their defaults: plain names, so that the rest reads the same
        lines += [f"    {name} = {op.defaults[p]!r}" for p, name in zip(op.params[2:], params[2:])]
    elif op.variadic:
        v = op.variadic
        add(f"    if len({v}) == 1 and not isinstance({v}[0], int) and ({v}[0] is None or hasattr({v}[0], '__len__')): "
            f"{v} = {v}[0]")
        add(f"    elif not {v} and {v!r} in more: {v} = more.pop({v!r})")
        for theirs, ours in OTHER_NAMES.get(op.name, {}).items():
            if ours == v:
                add(f"    elif not {v} and {theirs!r} in more: {v} = more.pop({theirs!r})")
        if op.variadic in op.defaults:
            add(f"    elif not {v}: {v} = {op.defaults[v]!r}")
    if kind in ("inplace", "augmented"):
        if special:
            add(f"    if not isinstance({params[1]}, Tensor) and foreign({params[1]}): return NotImplemented")
        else:
            add(f"    if more: {args}, _ = renamed_keywords(op, {args}, more)")
        lines += _native(params) if native(op) else _writing(op, special)
        add(f"    return inplace(op, {args})")
        return "\n".join(lines)
    if not special:
        into = f"y if (y := quick({', '.join(params)}, **more)) is not NotImplemented else " if native(op) else ""
        add(f"    if more: return {into}general(op, *renamed_keywords(op, {args}, more))")
    if native(op):
        lines += _native(params)
    elif fast(op):
        if op.name == "view":  # of another dtype: not recorded as a view
            add(f"    if shape and type(shape) is tuple and type(shape[0]) in KINDS: return general(op, {args})")
        lines += _shortcut(op, kind, args)
    if special:
        me, other = params[:2] if kind == "dunder" else params[1::-1]
        add(f"    if not isinstance({me}, Tensor): raise not_a_tensor(op, {me})")
        answer = f"equal({me}, {other})" if op.name == "eq" else "NotImplemented"
        add(f"    if not isinstance({other}, Tensor) and foreign({other}): return {answer}")
    add(f"    return general(op, {args})")
    return "\n".join(lines)


def _native(params: tuple[str, ...]) -> list[str]:
    return [f"    y = quick({', '.join(params)})", "    if y is not NotImplemented: return y"]


def _shortcut(op: Operator, kind: str, args: str) -> list[str]:
    """The code for plain tensors; for two-operand arithmetic, also for a tensor and a Python number."""
    special = kind in ("dunder", "reflected")
    tensor, number = op.tensors[:: -1 if kind == "reflected" else 1] if len(op.tensors) == 2 else (None, None)
    if op.optional or not (number in op.scalars if type(op.scalars) is tuple else op.scalars and number):
        return _path(op, args, None, special)
    both = [] if kind == "reflected" else _path(op, args, None, special)
    return [*both, f"    if (type({number}) is float or type({number}) is int) and type({tensor}) in PLAIN:",
        *_path(op, args, number, special)[1:]]


def _native_kernel(op: Operator) -> bool:
    """Whether the kernel is one of our own in C: it gives arrays, and warns of nothing."""
    return K.available and getattr(K, getattr(op.kernel, "__name__", ""), None) is op.kernel


def _path(op: Operator, args: str, number: str | None, special: bool) -> list[str]:
    """One way through the operator: all arguments tensors, or one of them (``number``) a Python number."""
    lines: list[str] = []
    add = lines.append
    tensors = [p for p in op.tensors if p != number]
    add(f"    if {' and '.join(_everyday_arguments(op, tensors, special))}:")
    add("        m = modes()")
    for p in tensors:
        add(f"        _{p} = None if {p} is None else {p}._wg_data" if p in op.optional
            else f"        _{p} = {p}._wg_data")
    add(f"        if (m is RECORD or m is SILENT) and {_one_floating_type(op, tensors)}:")
    raw = [f"_{p}" if p in tensors else p for p in op.params]
    keyword = op.params[-op.kwonly :] if op.kwonly else ()
    if op.kernel is not None and (special or all(p in op.tensors for p in op.params)):
        invoke = f"kernel({', '.join(v for p, v in zip(op.params, raw) if p in op.tensors)})"
    else:
        invoke = f"forward({', '.join(f'{p}={v}' if p in keyword else v for p, v in zip(op.params, raw))})"
    add("            _flags = set_flags(IGNORED)")
    add(f"            try: y = {invoke}")
    add("            except (ValueError, TypeError, IndexError, OverflowError, RuntimeError) as e: raise "
        f"explained(op, {args}, e) from e")
    add("            finally: reset_flags(_flags)")
    if not (invoke.startswith("kernel") and _native_kernel(op)):
        # NumPy's own functions give scalars for 0-d arrays
        add("            if type(y) is not ndarray: y = asarray(y)")
    lines += _wrapping(op, tensors)
    if op.wrt:
        lines += _recording(op, number)
    add("            return out")
    return lines


def _everyday_arguments(op: Operator, tensors: list[str], special: bool) -> list[str]:
    """The tests that arguments are of the everyday kinds."""
    test = [f"({p} is None or type({p}) in PLAIN)" if p in op.optional else f"type({p}) in PLAIN" for p in tensors]
    test += [f"{p} is None" for p in op.params if p == "dtype"]
    if not special:
        test += [f"{p} is not UNSET" for p in _renamable(op)]
        # a number given as a tensor
        test += [f"type({p}) is bool" if p in op.flags else f"type({p}) not in PLAIN" for p in op.params
            if p not in op.tensors and p != "dtype"]
    return test


def _one_floating_type(op: Operator, tensors: list[str]) -> str:
    """The test that the arrays are plain, and those that gradients go to are of one floating type."""
    floats = [p for p in tensors if p in op.wrt or (op.promote and p in op.promoted)] or tensors[:1]
    given = f"_{floats[0]} is not None and " if floats[0] in op.optional else ""
    same = given + f"((d := _{floats[0]}.dtype) is F32 or d is F64)"
    same += "".join(f" and ({f'_{p} is None or ' if p in op.optional else ''}type(_{p}) is ndarray)" for p in tensors)
    for p in floats[1:]:
        same += f" and (_{p} is None or _{p}.dtype is d)" if p in op.optional else f" and _{p}.dtype is d"
    return same + (f" and type({op.params[0]}._wg_vc) is list" if op.view else "")


def _wrapping(op: Operator, tensors: list[str]) -> list[str]:
    """The code that makes the result ``y`` a tensor: laid out as declared, a view where it is one."""
    lines: list[str] = []
    add = lines.append
    if op.layout == "rows":
        add("            if not y.flags.c_contiguous: y = y.copy()")
    elif op.layout == "elementwise":
        whole = " and ".join(f"(_{p} is None or _{p}.flags.c_contiguous)" if p in op.optional
            else f"_{p}.flags.c_contiguous" for p in tensors)
        add(f"            if not (y.flags.c_contiguous and 1 not in y.shape and {whole}): y = in_order_of(y, "
            f"({''.join(f'_{p}, ' for p in tensors)}))")
    add("            out = new(Tensor); out._wg_data = y; out._wg_edge = out._wg_meta = None")
    if op.view is True:
        add(f"            attach_view(out, {op.params[0]}, op, ({''.join(p + ', ' for p in op.params[1:])}), m)")
    elif op.view:
        add(f"            if looks_at(y, _{op.params[0]}): attach_view(out, {op.params[0]}, op, "
            f"({''.join(p + ', ' for p in op.params[1:])}), m)")
        add("            else: out._wg_vc = [0]")
    else:
        add("            out._wg_vc = [0]")
    return lines


def _recording(op: Operator, number: str | None) -> list[str]:
    pad = " " * 20
    live = [p for p in op.wrt if p != number]
    lines = ["            if m is RECORD:"]
    add = lines.append
    among = ", ".join(p for p in op.tensors if p != number)
    for p in live:
        get = f"{p}._wg_edge if {p}._wg_meta is None else edge_of({p})"
        # numbers count as normal tensors; clone is the way from inference tensors to normal ones
        if number is None and op.name != "clone":
            get += f" if {p}._wg_vc is not INFERENCE else edge_among({p}, ({among},))"
        add(f"                e_{p} = {f'None if {p} is None else {get}' if p in op.optional else get}")
    add(f"                if {' or '.join(f'e_{p} is not None' for p in live) or 'False'}:")
    kind = f"NodeWithout_{number}" if number in op.without else "NodeClass"
    for p in op.without:
        if p in op.optional:
            kind = f"({kind} if {p} is not None else NodeWithout_{p})"
    add(f"{pad}node = {kind}(); node.seq = next_seq(); node.hooks = None")
    add(f"{pad}node.edges = ({', '.join('None' if p == number else f'e_{p}' for p in op.wrt)},)")
    keeps_type = op.promote in ("elementwise", "float") and op.kernel is not None
    add(f"{pad}node.shape = y.shape; node.dtype = {'d' if keeps_type else 'y.dtype'}")
    if len(live) == 2 and not op.optional:  # say for each case what is kept, rather than ask for each value
        a, b = live
        for test, known in ((f"if e_{a} is None", {b}), (f"elif e_{b} is None", {a}), ("else", {a, b})):
            add(f"{pad}{test}: node.saved = {_memory(op, number, known)}")
    else:
        add(f"{pad}node.saved = {_memory(op, number, set(live) if len(live) == 1 else None)}")
    add(f"{pad}out._wg_edge = (node, 0)")
    return lines


def _memory(op: Operator, number: str | None, known: set[str] | None) -> str:
    """The tuple that the node saves; ``known``: the parameters that need gradients, None if only the call can tell."""
    row: list[str] = []
    for name in op.saved:
        users = [op.wrt[i] for i in op.users[name] if op.wrt[i] != number]
        if known is not None and not known & set(users):
            row += ["None", "UNV", "0"]
            continue
        if name in op.outputs:
            triple = ["y", "out._wg_vc", "out._wg_vc[0]" if op.view else "0"]
        elif name == number:
            triple = [f"{name}", "UNV", "0"]
        else:
            triple = [f"_{name}", f"{name}._wg_vc", f"{name}._wg_vc[0]"]
        tests = [f"{name} is not None"] if name in op.optional else []
        if known is None and len(users) < len(op.wrt):
            tests.append("(" + " or ".join(f"e_{u} is not None" for u in users) + ")")
        if tests:
            triple = [f"{v} if {' and '.join(tests)} else {other}" for v, other in zip(triple, ("None", "UNV", "0"))]
        row += triple
    for name in op.consts:
        row.append(name if name in op.params else _shape_of(name[:-6], op, number))
    return f"({', '.join(row)}{',' if len(row) == 1 else ''})"


def _shape_of(p: str, op: Operator, number: str | None) -> str:
    if p == number:
        return "()"
    return f"None if _{p} is None else _{p}.shape" if p in op.optional else f"_{p}.shape"


def _kernel_writes(op: Operator) -> bool:
    """Whether the kernel takes the memory for its result as its last argument."""
    return op.kernel is not None and not op.optional and len(op.tensors) <= 1 + bool(op.promote or op.name in JOINING)


def _writing(op: Operator, special: bool) -> list[str]:
    """The in-place form where nothing is recorded: the kernel writes into the memory at once.

    A kernel that refuses has written nothing, and the general path then says what is wrong. So it does where elements
    share memory (an expanded tensor), which a kernel would not notice.
    """
    keyword = [f"{p} == {op.defaults[p]!r}" for p in op.params
        if p not in op.tensors and p in op.defaults and not special]
    if not _kernel_writes(op) or len(keyword) + len(op.tensors) < len(op.params) - 2 * special:
        return []
    a, *rest = op.tensors
    ours = _native_kernel(op)
    lines: list[str] = []
    for number in (False, True) if rest else (False,):
        b = rest[0] if rest else None
        tests = [f"type({a}) in PLAIN", *keyword]
        free = f"({a}._wg_edge is None and {a}._wg_meta is None"
        operands = [f"{a}._wg_data"]
        if b is not None:
            apart = (f"type({b}) in PLAIN and type({b}._wg_data) is type({a}._wg_data) and {b}._wg_data.dtype is "
                f"{a}._wg_data.dtype and ({b}._wg_vc is not {a}._wg_vc or {b} is {a})")
            tests.append(f"(type({b}) is float or type({b}) is int)" if number else apart)
            free += "" if number else f" and {b}._wg_edge is None and {b}._wg_meta is None"
            operands.append(b if number else f"{b}._wg_data")
        lines += [
            f"    if {' and '.join(tests)}:",
            f"        m = modes(); d = {a}._wg_data.dtype",
            f"        if (m is SILENT or (m is RECORD and {free}))) and (d is F32 or d is F64)"
            f" and type({a}._wg_vc) is list and 0 not in {a}._wg_data.strides:",
            *([] if ours else ["            _flags = set_flags(IGNORED)"]),
            f"            try: kernel({', '.join(operands)}, {a}._wg_data)",
            "            except (ValueError, TypeError, RuntimeError): pass",
            f"            else: {a}._wg_vc[0] += 1; return {a}",
            *([] if ours else ["            finally: reset_flags(_flags)"]),
        ]
    return lines


# -- the node's half --------------------------------------------------------------------------------------------------


_GENERAL_CALLS = 32  # of a method of a node, which cost together what compiling the method costs


@cache
def fast_node(op: Operator, conjugates: bool = False) -> type[OpNode]:
    """The node class whose ``raw`` (and ``recorded``) unpack (and conjugate), check versions and call the rules."""
    kind = make_class(op, {"conjugating": classmethod(
        lambda cls: renamed(cls if op.wirtinger else fast_node(op, True), cls.__name__))})
    _compiled_later(kind, "raw", lambda: raw_source(op, conjugates))
    if fast(op):
        _compiled_later(kind, "recorded", lambda: recorded_source(op))
    return kind


def _compiled_later(kind: type[OpNode], name: str, text: Callable[[], str]) -> None:
    """Give nodes a method ``name``: the general one, and after some calls the one that ``text()`` defines."""
    general, calls = getattr(OpNode, name), iter(range(_GENERAL_CALLS))

    def method(self: OpNode, *args: Any) -> Any:
        if next(calls, None) is not None:
            return general(self, *args)
        op = kind.op
        code = _function_code(text()).replace(co_filename=f"<wengert gradient of {op.name}>")
        scope = dict(F=ARRAY_OPS, T=TRACED_OPS, freed=freed, modified=modified, modes=modes, RECORD=RECORD, F32=dt.F32,
            F64=dt.F64, general=OpNode.recorded, rebuilt=rebuilder() or rebuilt, rarely=rarely_rebuilt, op=op,
            check_versions=check_versions, conjugated=conjugated, rule=op.joint and op.joint[0],
            **{f"rule{i}": rule for i, (rule, _) in enumerate(op.rules)})
        setattr(kind, name, FunctionType(code, scope, name, (None,) if name == "recorded" else None))
        return getattr(self, name)(*args)

    setattr(kind, name, method)


def raw_source(op: Operator, conjugates: bool = False) -> str:
    """The generated source of ``raw`` of a node."""
    lines = ["def raw(self, g):", *_unpacked(op)]
    for n in (*op.saved, *op.consts) if conjugates else ():
        one = "[conjugated(F, x, op) for x in {0}]" if n in op.tensor_lists else "conjugated(F, {0}, op)"
        lines.append(f"    {n} = {one.format(n)}")
    if op.joint is not None:
        given = "".join(", " + ("self.wanted" if n == "needs" else n) for n in op.joint[1])
        return "\n".join([*lines, f"    return rule(F, g{given})"])
    if len(op.wrt) > 1:
        lines.append(f"    {', '.join(f'w_{p}' for p in op.wrt)} = self.wanted")
    parts = []
    for i, (_, names) in enumerate(op.rules):
        text = f"rule{i}(F, g{''.join(', ' + n for n in names)})"
        parts.append(text if len(op.wrt) == 1 else f"{text} if w_{op.wrt[i]} else None")
    return "\n".join([*lines, f"    return ({', '.join(parts)},)"])


def _unpacked(op: Operator) -> list[str]:
    """What a node saved, by name, checked for having been overwritten."""
    if not (op.saved or op.consts):
        return []
    lines = ["    saved = self.saved"]
    if op.saved:
        lines.append("    if saved is None: freed(self)")
    names = [f"{n}, c_{n}, v_{n}" for n in op.saved] + list(op.consts)
    lines.append(f"    {', '.join(names)}{',' if len(op.saved) == 0 and len(names) == 1 else ''} = saved")
    return lines + [f"    if {n} is not None: check_versions(self, {n!r}, {n}, c_{n}, v_{n})" if n in op.tensor_lists
        else f"    if c_{n}[0] != v_{n}: {n} = modified(self, {n!r}, {n}, v_{n}, c_{n}[0])" for n in op.saved]


def recorded_source(op: Operator) -> str:
    """The source of ``recorded`` of a node: ``OpNode._gradients`` where nothing but recording is in force."""
    lines = ["def recorded(self, g, needs=None):",
        "    if modes() is not RECORD or not (self.dtype is F32 or self.dtype is F64): return general(self, g, needs)",
        *_unpacked(op), "    if needs is None: needs = self.wanted",
        f"    {', '.join(f'w_{p}' for p in op.wrt)}{',' if len(op.wrt) == 1 else ''} = needs"]
    add = lines.append
    if any(n in op.wrt for n in op.saved):
        add(f"    {', '.join(f'e_{p}' for p in op.wrt)}{',' if len(op.wrt) == 1 else ''} = self.edges")
    for n in op.saved:
        edge = f"e_{n}" if n in op.wrt else "(self, 0)" if n in op.outputs and n not in op.nondifferentiable else "None"
        users = [f"w_{op.wrt[i]}" for i in op.users[n]]
        add(f"    if not ({' or '.join(users)}): {n} = None")
        add(f"    elif {n} is not None:")
        add(f"        t_ = rebuilt({n}, c_{n}, {edge})")
        add(f"        {n} = rarely(self, {n!r}, {n}, c_{n}) if t_ is None else t_")
    if op.joint is not None:
        add(f"    return rule(T, g{''.join(', ' + n for n in op.joint[1])})")
        return "\n".join(lines)
    for i in range(len(op.rules) - 1, -1, -1):  # the last first, as in OpNode._gradients
        add(f"    r{i} = rule{i}(T, g{''.join(', ' + n for n in op.rules[i][1])}) if w_{op.wrt[i]} else None")
    add(f"    return ({', '.join(f'r{i}' for i in range(len(op.rules)))},)")
    return "\n".join(lines)
