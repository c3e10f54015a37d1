"""Conversion of operator arguments: the tensors that the user passed, and all values as the forward takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import flags
from ..arrays import kernels as K
from ..arrays.array_likes import ARRAYS, FOREIGN
from ..arrays.float8 import converted
from ..arrays.foreign import run
from ..arrays.lazy import Lazy, plain, through
from ..ops import float8
from ..ops.errors import must_be as complaint
from . import classes
from .classes import UNSET

if TYPE_CHECKING:
    from ..ops.operator import Operator


_AS_THEY_ARE = frozenset({bool, int, float, str, type(None)})


def convert(op: Operator, args: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(tensors, values)`` by parameter: tensors that the user passed, and all values as the forward takes them."""
    inputs: dict[str, Any] = {}
    raw: dict[str, Any] = {}
    for i, (p, v) in enumerate(zip(op.params, args)):
        if p not in op.tensors:
            raw[p] = v if type(v) in _AS_THEY_ARE and p not in op.flags else _option(op, p, i, v)
        elif p in op.tensor_lists:
            inputs[p] = _tensor_list(op, p, i, v)
            raw[p] = [None if x is None else plain(x._wg_data) for x in inputs[p]]
        elif isinstance(v, classes.Tensor_):
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
    if not inputs and op.scalars == "one":
        raise must_be(op, op.tensors[0], 0, raw[op.tensors[0]], "Tensor")
    if classes.settle_devices is not None:
        classes.settle_devices(op, inputs, raw)
    if op.promote:
        promote(op, raw)
    return inputs, raw


def _tensor_list(op: Operator, p: str, i: int, v: Any) -> list[Any]:
    """The list of tensors that was passed for the parameter ``p``, number ``i``."""
    if not isinstance(v, (list, tuple)):
        raise must_be(op, p, i, v, "tuple of Tensors")
    for at, x in enumerate(v):
        if not isinstance(x, classes.Tensor_) and not (x is None and p in op.optional):
            raise TypeError(f"expected Tensor as element {at} in argument {i}, but got {type(x).__name__}")
    return list(v)


def _option(op: Operator, p: str, i: int, v: Any) -> Any:
    """What the forward takes for ``v``, passed for the parameter ``p``, number ``i``, which is no tensor."""
    if p in op.flags:
        if not isinstance(v, (bool, np.bool_)):
            raise must_be(op, p, i, v, "bool")
        return v
    if type(v) is dt.dtype:
        return v.np
    if p == "dtype" and isinstance(v, type) and v in dt.OF_TYPES:
        return dt.OF_TYPES[v].np
    if v is UNSET:
        raise TypeError(f'{op.name}() missing 1 required positional arguments: "{p}"')
    if isinstance(v, classes.Tensor_):
        if v.requires_grad:  # its history would be lost
            raise must_be(op, p, i, v, "Number")
        return v.item()
    if type(v) in (list, tuple) and any(isinstance(x, classes.Tensor_) for x in v):
        return tuple(x.item() if isinstance(x, classes.Tensor_) else x for x in v)
    return dt.number(v) if isinstance(v, np.generic) else v


def must_be(op: Operator, p: str, i: int, v: Any, kind: str) -> TypeError:
    """The complaint about an argument of the wrong kind."""
    return complaint(op.name.removesuffix("_dim"), p, i + 1, v, kind)


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
        elif type(v) in ARRAYS:
            raw[p] = v if v.dtype == d else v.astype(d if v.ndim else number)
        elif v is not None:
            raw[p] = scalar(v, number)


def scalar(v: Any, d: np.dtype) -> np.ndarray:
    """A Python number as a 0-d array of type ``d``; an integer of 64 bits that does not fit wraps around."""
    if d.kind in "ui" and isinstance(v, int):
        if not -(2**63) <= v < 2**64:
            raise OverflowError("int too big to convert")
        v &= (1 << (8 * d.itemsize)) - 1
        if d.kind == "i" and v >> (8 * d.itemsize - 1):
            v -= 1 << (8 * d.itemsize)
        return np.asarray(v, d)
    return converted(np.asarray(v), d)


def forward(op: Operator, raw: dict[str, Any]) -> Any:
    """The forward on converted arguments; in half precision its kernel where it has one, or through float32."""
    before = flags.quieten(flags.IGNORED)
    try:
        return _forward(op, raw)
    finally:
        flags.restore(before)


def _forward(op: Operator, raw: dict[str, Any]) -> Any:
    if dt.RARE_IN_USE:
        d = float8.float8_dtype(op, raw)
        if d is not None:
            wide = float8.taken(op, raw, d)
            if wide is not None:
                return float8.given(op.forward(*positional(op, wide), **keywords(op, wide)), d)
    if (op.kernel is not None and op.promote) or op.opmath:
        for p in op.tensors:
            if type(a := raw[p]) is np.ndarray and dt.is_half(a.dtype):
                return half(op, raw, a.dtype)
    if op.view and type(raw[op.params[0]]) is Lazy and not op.lazy:
        if (op.name == "view"
                and any(isinstance(v, (dt.dtype, np.dtype)) for v in np.atleast_1d(np.asarray(raw["shape"], object)))):
            kind = "conjugate view tensors" if raw["input"].conjugated else "tensors with negative bit set"
            raise RuntimeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
        return through(op.forward, *positional(op, raw), **keywords(op, raw))
    if FOREIGN:
        return run(op.name, op.forward, positional(op, raw), keywords(op, raw))
    return op.forward(*positional(op, raw), **keywords(op, raw))


def half(op: Operator, raw: dict[str, Any], d: np.dtype) -> Any:
    """The forward for arguments of 16 bits."""
    arrays = [raw[p] for p in op.tensors]
    usual = all(p in op.tensors or raw[p] == op.defaults.get(p, UNSET) for p in op.params)
    if op.kernel is not None and usual and all(a.dtype is d for a in arrays):
        return op.kernel(*arrays)
    if not op.opmath or any(a is not None and a.dtype != d and a.ndim for a in arrays):
        return op.forward(*positional(op, raw), **keywords(op, raw))
    raw = (
        raw | {p: K.cast(a, np.dtype(np.float32)) for p, a in zip(op.tensors, arrays)
            if a is not None and a.dtype == d})
    return K.cast(op.forward(*positional(op, raw), **keywords(op, raw)), d)


def positional(op: Operator, raw: dict[str, Any]) -> list[Any]:
    """The positional arguments of the forward."""
    return [raw[p] for p in (op.params[: -op.kwonly] if op.kwonly else op.params)]


def keywords(op: Operator, raw: dict[str, Any]) -> dict[str, Any]:
    """The keyword-only arguments of the forward."""
    return {p: raw[p] for p in op.params[-op.kwonly :]} if op.kwonly else {}
