"""Results of operators: tensors around arrays, views of others, named tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..graph.modes import modes
from ..ops.operator import TABLE
from ..ops.structseq import FIELDS, structseq
from . import classes
from .arguments import forward
from .autograd_meta import INFERENCE_VERSION, Meta, Released, edge_of, normal_version
from .saved_tensor_hooks import changed, pack_results
from .views import View

if TYPE_CHECKING:
    from ..graph.modes import Modes
    from ..ops.operator import Operator
    from .tensor import Tensor


def look_up(inputs: dict[str, Any], m: Modes) -> None:
    """Ask for the histories of the inputs of a forward that failed: what is wrong with one is said before."""
    for t in inputs.values() if m.grad else ():
        for x in t if type(t) is list else (t,):
            if x is not None and x._wg_meta is not None and x._wg_meta.view is not None:
                edge_of(x)


def _given(t: Any, array: Any) -> Any:
    """What an argument was before it was converted: it is its layout that counts."""
    return array if t is None or type(t) is list else t._wg_data


def is_type(shape: Any) -> bool:
    """Whether ``view`` was given a type instead of a shape."""
    return isinstance(shape[0] if type(shape) is tuple and len(shape) == 1 else shape, (dt.dtype, type))


def seen_as(t: Tensor, raw: dict[str, Any], op: Operator, m: Modes) -> Tensor:
    """The same bytes in another type: shared memory and version, but no gradient and no view relation."""
    found = fresh(forward(op, raw), m)
    if not m.inference and not t.is_inference():
        found._wg_vc = t._wg_vc
    return found


def version_results(op: Operator, node: Any, results: list[Tensor]) -> None:
    """Have saved outputs checked against the version counter of the results, and give them to hooks."""
    saved_tensor_hooks = modes().saved_tensor_hooks
    if saved_tensor_hooks is not None:
        pack_results(op, node, saved_tensor_hooks)
        return
    for name, t in zip(op.outputs if op.outputs is not ... else (), results):
        if name in op.saved:
            at = 3 * op.saved.index(name)
            if type(node.saved[at]) is np.ndarray:
                node.saved = changed(node.saved, at, (node.saved[at], t._wg_vc, t._wg_vc[0]))


def fresh(a: np.ndarray, m: Modes) -> Tensor:
    """A tensor around a result."""
    t: Tensor = object.__new__(classes.Tensor_)
    t._wg_data, t._wg_edge, t._wg_meta = a, None, None
    t._wg_vc = INFERENCE_VERSION if m.inference else [0] if m.grad_scope is None else [0, m.grad_scope]
    return t


def attach_view(t: Tensor, source: Tensor, op: Any, args: tuple[Any, ...], m: Modes,
        creation: str | None = None) -> None:
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
    """``t`` shares memory with ``source`` but counts its own writes; in inference mode, as in PyTorch, it is a view."""
    if source.is_inference():
        t._wg_vc = INFERENCE_VERSION
    elif m.inference:
        attach_view(t, source, op, args, m)
        t._wg_vc = normal_version()


def looks_at(a: np.ndarray, source: np.ndarray) -> bool:
    """Whether ``a``, made from ``source``, is a view of it (NumPy's ``base`` is the owner of the memory)."""
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
    """The result of a function with ``out=``: those tensors, named if there are several."""
    if not isinstance(out, (tuple, list)):
        return out
    kind = return_type(f"{name.removesuffix('_stable')}_out")
    return out if kind is None else tuple.__new__(kind, out)


def named(op: Any, results: list[Any]) -> Any:
    """Several outputs as a named tuple, ``torch.return_types.max(values=..., indices=...)``."""
    return tuple.__new__(result_type(op), results)
