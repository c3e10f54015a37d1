"""Operators of one tensor: they work on the data, and keep the mask."""

from __future__ import annotations

from typing import Any

from ...dispatch.torch_dispatch import aten
from ...tensor import Tensor
from .core import _get_data, _maybe_get_mask, _wrap_result, parts, with_values

UNARY_NAMES = [
    "abs", "absolute", "acos", "arccos", "acosh", "arccosh", "angle", "asin", "arcsin", "asinh", "arcsinh", "atan",
    "arctan", "atanh", "arctanh", "bitwise_not", "ceil", "clamp", "clip", "conj_physical", "cos", "cosh", "deg2rad",
    "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "floor", "frac", "lgamma", "log", "log10",
    "log1p", "log2", "logit", "i0", "isnan", "nan_to_num", "neg", "negative", "positive", "pow", "rad2deg",
    "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sgn", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "tan",
    "tanh", "trunc",
]
INPLACE_UNARY_NAMES = [n + "_" for n in UNARY_NAMES if n not in ("angle", "isnan", "positive", "signbit")]
UNARY_NAMES_UNSUPPORTED = [
    "atan2", "arctan2", "bitwise_left_shift", "bitwise_right_shift", "copysign", "float_power", "fmod", "frexp",
    "gradient", "imag", "ldexp", "lerp", "logical_not", "hypot", "igamma", "igammac", "mvlgamma", "nextafter",
    "polygamma", "real", "remainder", "true_divide", "xlogy",
]


def _unary_helper(fn: Any, args: Any, kwargs: Any, inplace: bool) -> Any:
    if kwargs:
        raise ValueError(
            "MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an issue "
            "on Github."
        )
    if any(isinstance(a, Tensor) for a in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    data = _get_data(args[0])
    result = with_values(data, fn(parts(data)[-1], *args[1:]))
    if inplace:
        args[0]._set_data_mask(result, _maybe_get_mask(args[0]))
        return args[0]
    return _wrap_result(result, _maybe_get_mask(args[0]))


def _table(names: list[str], inplace: bool) -> dict[Any, Any]:
    def rule(packet: Any) -> Any:
        def apply(*args: Any, **kwargs: Any) -> Any:
            return _unary_helper(packet, args, kwargs, inplace)

        return apply

    return {packet: rule(packet) for packet in (getattr(aten, n) for n in names)}


NATIVE_UNARY_MAP = _table(UNARY_NAMES, False)
NATIVE_INPLACE_UNARY_MAP = _table(INPLACE_UNARY_NAMES, True)
NATIVE_UNARY_FNS = list(NATIVE_UNARY_MAP)
NATIVE_INPLACE_UNARY_FNS = list(NATIVE_INPLACE_UNARY_MAP)


def _is_native_unary(fn: Any) -> bool:
    return fn in NATIVE_UNARY_MAP or fn in NATIVE_INPLACE_UNARY_MAP


def _apply_native_unary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    known = NATIVE_UNARY_MAP.get(fn) or NATIVE_INPLACE_UNARY_MAP.get(fn)
    return NotImplemented if known is None else known(*args, **kwargs)
