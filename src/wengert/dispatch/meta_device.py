"""Operators on tensors of the device ``meta``: shapes, strides and dtypes of results, without data.

The array of such a tensor is a ``StoragelessArray``. A pointwise operator runs on one element, to find the dtype of its
result; the shape of a matrix product is computed; every other operator runs on zeros that take no memory, and its
values are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.layouts import kept_strides, result_strides
from ..arrays.lazy import Lazy
from ..arrays.storageless import StoragelessArray, when_first_meta
from ..graph.interceptors import Interceptor
from ..graph.modes import DEVICES, install
from ..tensor import arguments, classes
from ..tensor.namespaces import in_composite, internal_calls, without_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.interceptors import Call
    from ..ops.operator import Operator

NO_DATA = "Cannot copy out of meta tensor; no data!"

# Operators the shape of whose result depends on numbers, or whose result is one that the program looks at.
_NUMBERS = frozenset(("nonzero", "unique", "unique_consecutive", "masked_select", "equal", "bincount", "unique_dim",
    "argwhere", "repeat_places"))


def no_numbers(name: str) -> NotImplementedError:
    """The complaint about an operator that tensors of the device ``meta`` cannot have."""
    return NotImplementedError(f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake "
        "impl or Meta kernel registered: what it gives depends on numbers, which tensors of the device 'meta' do not "
        "have.")


def storageless(a: Any, device: str = "meta") -> Any:
    """The array ``a`` without numbers: the same shape and type, laid out as ``preserve_format`` has it."""
    if type(a) is StoragelessArray and a.device == device:
        return a
    return StoragelessArray.of(a.shape, kept_strides(getattr(a, "window", a)), 0, a.dtype, device)


def all_without(answer: Any) -> Any:
    """What a composite made of tensors without numbers, with no numbers either."""
    if type(answer) in (tuple, list):
        return type(answer)(map(all_without, answer))
    return answer.to("meta") if type(answer) is classes.Tensor_ and type(answer._wg_data) is np.ndarray else answer


class MetaDevice(Interceptor):
    """Tensors of the device ``meta``: a forward is one of shapes."""

    order = DEVICES

    def applies_to(self, call: Call) -> bool:
        return (call.kind in ("operator", "inplace", "composite")
            and any(map(_without_numbers, (*call.args, *call.kwargs.values()))))

    def intercept(self, call: Call, call_next: Any) -> Any:
        if call.kind != "composite":
            check_devices(call.op, dict(zip(call.op.params, call.args)))
            call.forward = forward
            return call_next(call)
        token = in_composite.set(True)  # its constants meet tensors of every device
        try:
            with internal_calls():
                return all_without(call_next(call))
        finally:
            in_composite.reset(token)


def _without_numbers(v: Any) -> bool:
    if type(v) is list or type(v) is tuple:
        return any(map(_without_numbers, v))
    return stands_in(getattr(v, "_wg_data", None))


when_first_meta.append(lambda: install(MetaDevice()))


def forward_of(op: Operator, raw: dict[str, Any]) -> Any:
    """The forward of ``op`` on converted arguments, storageless or not."""
    any_storageless = any(stands_in(x) for v in raw.values() for x in (v if type(v) is list else (v,)))
    return forward(op, raw) if any_storageless else arguments.forward(op, raw)


def stands_in(v: Any) -> bool:
    """Whether ``v`` is what a tensor of the device ``meta`` holds."""
    return type(v) is StoragelessArray and v.device == "meta"


def forward(op: Operator, raw: dict[str, Any]) -> Any:
    """The forward of ``op`` on converted arguments of which some are storageless; so are its results."""
    if op.name in _NUMBERS:
        raise no_numbers(op.name)
    if op.view:
        return _storageless_results(_run(op, {p: _opened(v) for p, v in raw.items()}), True, raw.get(op.params[0]))
    if op.pointwise:
        return _elementwise(op, raw)
    rule = _SHAPES.get(op.name)
    opened = {p: _opened(v) for p, v in raw.items()}
    if rule is not None:
        shape = rule(*(opened[p] for p in op.tensors))
        if shape is not None:
            return StoragelessArray.of(shape, None, 0, opened[op.tensors[0]].dtype, "meta")
    if op.layout == "elementwise":
        return _ordered(_run(op, opened),
            [v for p in op.tensors for v in (raw[p] if type(raw[p]) is list else (raw[p],)) if np.ndim(v)])
    return _storageless_results(_run(op, opened), False, None, op.layout == "rows")


def _opened(v: Any) -> Any:
    if type(v) is list or type(v) is tuple:
        return type(v)(map(_opened, v))
    return v.window if stands_in(v) else v


def _storageless_results(answer: Any, view: bool, source: Any = None, rows: bool = False) -> Any:
    if type(answer) is tuple or type(answer) is list:
        return type(answer)(_storageless_results(v, view, source, rows) for v in answer)
    if type(answer) is Lazy:  # whether numbers that are not there are to be conjugated does not matter
        return StoragelessArray(answer.window, "meta")
    if not isinstance(answer, (np.ndarray, np.generic)):
        return answer
    a = np.asarray(answer)
    if view and (a.base is source.base or a is source.window):
        return StoragelessArray(a if a.base is not None else a[...], "meta")
    strides = None if rows or a.flags.c_contiguous else tuple(s // a.itemsize for s in a.strides)
    return StoragelessArray.of(a.shape, strides, 0, a.dtype, "meta")


def _ordered(answer: Any, arrays: list[Any]) -> Any:
    """Storageless results, with strides in the order of the arguments."""
    if type(answer) is tuple:
        return tuple(_ordered(v, arrays) for v in answer)
    if not isinstance(answer, (np.ndarray, np.generic)):
        return answer
    return StoragelessArray.of(answer.shape, result_strides(answer.shape, arrays), 0, answer.dtype, "meta")


def _run(op: Operator, opened: dict[str, Any]) -> Any:
    """The operator on zeros; where those will not do (an inverse), on identity matrices."""
    with np.errstate(all="ignore"):
        try:
            return arguments.forward(op, opened)
        except Exception:
            matrices = {p: _identity(v) if isinstance(v, np.ndarray) and v.ndim > 1 and v.dtype.kind in "fc" else v
                for p, v in opened.items()}
            try:
                return arguments.forward(op, matrices)
            except Exception:
                pass
            raise


def _identity(a: np.ndarray) -> np.ndarray:
    found = np.zeros(a.shape, a.dtype)
    np.einsum("...ii->...i", found[..., : min(a.shape[-2:]), : min(a.shape[-2:])])[...] = 1
    return found


def _elementwise(op: Operator, raw: dict[str, Any]) -> Any:
    """The dtype comes from one element; the shapes broadcast."""
    arrays = [v for p in op.tensors for v in (raw[p] if type(raw[p]) is list else (raw[p],)) if hasattr(v, "shape")]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    with np.errstate(all="ignore"):
        sample = arguments.forward(op, {p: _single(v) if p in op.tensors else _opened(v) for p, v in raw.items()})
    made = tuple(v if not isinstance(v, (np.ndarray, np.generic))
        else StoragelessArray.of(shape, result_strides(shape, arrays), 0, v.dtype, "meta")
        for v in (sample if type(sample) is tuple else (sample,)))
    return made if type(sample) is tuple else made[0]


def _single(v: Any) -> Any:
    if type(v) is list:
        return [_single(x) for x in v]
    return np.ones((1,) * v.ndim, v.dtype) if isinstance(v, (np.ndarray, StoragelessArray)) and v.ndim else _opened(v)


def check_devices(op: Operator, inputs: dict[str, Any]) -> None:
    """Refuse to mix tensors with and without data in a pointwise operator (except single numbers)."""
    if (not op.pointwise and op.name not in ("cat", "stack")) or without_numbers.get() or in_composite.get():
        return
    row = [t for v in inputs.values() for t in (v if type(v) in (list, tuple) else (v,))
        if isinstance(t, classes.Tensor_)]
    if op.name == "copy" or not any(stands_in(t._wg_data) for t in row):
        return
    for t in row:
        if isinstance(t._wg_data, np.ndarray) and t._wg_data.ndim:
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, meta "
                f"and cpu! (in {op.name}: one argument has numbers, and another is on the device 'meta', where there "
                "are none)")


# -- shapes of products ------------------------------------------------------------------------------------------------


def _product(a: Any, b: Any) -> Any:
    """The shape of a product of matrices or batches of them; None where NumPy shall find it, or the complaint."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        return None
    return (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])


def _added(bias: Any, a: Any, b: Any) -> Any:
    shape = _product(a, b)
    return None if shape is None or np.broadcast_shapes(bias.shape, shape) != shape else shape


def _linear(x: Any, w: Any, b: Any = None) -> Any:
    return None if w.ndim != 2 or not x.ndim or x.shape[-1] != w.shape[1] else (*x.shape[:-1], w.shape[0])


_SHAPES: dict[str, Callable[..., Any]] = {
    "mm": _product, "bmm": _product, "matmul": _product, "addmm": _added, "baddbmm": _added, "linear": _linear,
}
