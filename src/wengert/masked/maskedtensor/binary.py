"""Operators of two: they work on the data of arguments whose masks are equal."""

from __future__ import annotations

from typing import Any

from ...dispatch.torch_dispatch import aten
from ...tensor import Tensor
from ...tensor.types import strided
from .core import (
    _get_data,
    _masks_match,
    _maybe_get_mask,
    _tensors_match,
    _wrap_result,
    is_masked_tensor,
    parts,
    with_values,
)

BINARY_NAMES = [
    "add", "atan2", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
    "div", "divide", "floor_divide", "fmod", "logaddexp", "logaddexp2", "mul", "multiply", "nextafter", "remainder",
    "sub", "subtract", "true_divide", "eq", "ne", "le", "ge", "greater", "greater_equal", "gt", "less_equal", "lt",
    "less", "maximum", "minimum", "fmax", "fmin", "not_equal",
]
INPLACE_BINARY_NAMES = [
    n + "_" for n in BINARY_NAMES if n not in ("logaddexp", "logaddexp2", "maximum", "minimum", "fmax", "fmin")]


def _get_at_least_one_mask(a: Any, b: Any) -> Any:
    """The mask that both have, or the one that has it."""
    if not is_masked_tensor(a) and not is_masked_tensor(b):
        raise TypeError("At least one of `a` and `b` must be a MaskedTensor")
    if not _masks_match(a, b):
        raise ValueError("a and b must have matching masks")
    return _maybe_get_mask(a if is_masked_tensor(a) else b)


def _binary_helper(fn: Any, args: Any, kwargs: Any, inplace: bool) -> Any:
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(isinstance(a, Tensor) for a in args[2:]):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not _masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    first, second = (_get_data(a) for a in args[:2])
    mask = _get_at_least_one_mask(*args[:2])
    where = first if isinstance(first, Tensor) else second
    if where.layout is strided and getattr(second, "layout", strided) is strided:
        result = fn(first, second, *args[2:])
    else:
        result = with_values(where, fn(*_values_of_both(first, second), *args[2:]))
    if inplace:
        args[0]._set_data_mask(result, mask)
        return args[0]
    if result.size() != mask.size() and result.layout is strided:
        mask = mask.expand_as(result)
    return _wrap_result(result, mask)


def _values_of_both(first: Any, second: Any) -> tuple[Any, Any]:
    """The values of two sparse tensors whose places are the same, or of one and a number."""
    if not (isinstance(first, Tensor) and isinstance(second, Tensor)):
        return tuple(  # type: ignore[return-value]
            parts(v)[-1] if isinstance(v, Tensor) else v for v in (first, second))
    for v, name in ((first, "first"), (second, "second")):
        if v.layout is strided and v.dim() == 0:
            return (v, parts(second)[-1]) if name == "first" else (parts(first)[-1], v)
    if first.layout is not second.layout:
        _tensors_match(first, second)  # refuses
    places, others = parts(first)[:-1], parts(second)[:-1]
    if not all(_tensors_match(a, b) for a, b in zip(places, others)):
        if len(places) == 1:
            raise ValueError("sparse_coo indices must match. If you need support for this, please open an issue on "
                "Github.")
        which = "crow" if not _tensors_match(places[0], others[0]) else "col"
        raise ValueError(f"sparse_csr {which} indices must match. If you need support for this, please open an issue "
            "on Github.")
    return parts(first)[-1], parts(second)[-1]


def _table(names: list[str], inplace: bool) -> dict[Any, Any]:
    def rule(packet: Any) -> Any:
        def apply(*args: Any, **kwargs: Any) -> Any:
            return _binary_helper(packet, args, kwargs, inplace)

        return apply

    return {packet: rule(packet) for packet in (getattr(aten, n) for n in names)}


NATIVE_BINARY_MAP = _table(BINARY_NAMES, False)
NATIVE_INPLACE_BINARY_MAP = _table(INPLACE_BINARY_NAMES, True)
NATIVE_BINARY_FNS = list(NATIVE_BINARY_MAP)
NATIVE_INPLACE_BINARY_FNS = list(NATIVE_INPLACE_BINARY_MAP)


def _is_native_binary(fn: Any) -> bool:
    return fn in NATIVE_BINARY_MAP or fn in NATIVE_INPLACE_BINARY_MAP


def _apply_native_binary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    known = NATIVE_BINARY_MAP.get(fn) or NATIVE_INPLACE_BINARY_MAP.get(fn)
    return NotImplemented if known is None else known(*args, **kwargs)
