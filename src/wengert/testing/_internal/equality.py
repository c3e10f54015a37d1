"""What ``TestCase.assertEqual`` takes for equal: ``assert_close``, relaxed, and everything else by ``==``.

Numbers are as close as float32 numbers have to be, whatever their types; a number may be compared with a tensor of one
element, a list of numbers with a tensor. Strings, sets, types and other objects are compared as ``unittest`` does.
"""

from __future__ import annotations

import enum
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensor.creation import tensor
from ...tensor.tensor import Tensor
from ..comparison import Mismatch, close_numbers, compare, compare_leaves, tolerances

_NUMBERS = (int, float, complex, np.number)
_BOOLEANS = (bool, np.bool_)
_ARRAYS = (Tensor, np.ndarray)
_OTHERS: tuple[tuple[str, Any], ...] = (("String", str), ("Set", (set, frozenset)), ("Type", type), ("Object", object))


def assert_equal(x: Any, y: Any, msg: Any, options: dict[str, Any]) -> None:
    """Raise what ``assertEqual`` raises. ``options``: those of ``assert_close``, and ``at_least``, tolerances that are granted."""
    if (options["rtol"] is None) != (options["atol"] is None):
        missing = "rtol" if options["rtol"] is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    if any(isinstance(v, np.ndarray) and v.dtype.kind not in "biufc" for v in (x, y)):  # of strings, say
        x, y = (v.tolist() if isinstance(v, _ARRAYS) else list(v) for v in (x, y))
    elif isinstance(x, _ARRAYS) and isinstance(y, Sequence):
        y = tensor(y, dtype=x.dtype) if isinstance(x, Tensor) else np.asarray(y, x.dtype)
    elif isinstance(y, _ARRAYS) and isinstance(x, Sequence):
        x = tensor(x, dtype=y.dtype) if isinstance(y, Tensor) else np.asarray(x, y.dtype)
    x, y = (_plain(v) for v in (x, y))
    failure = None
    try:
        compare(x, y, options, (), _leaves)
    except Mismatch as mismatch:
        failure = mismatch.error(msg)
    if failure is not None:
        raise failure


def _plain(value: Any) -> Any:
    """Containers of modules and parameters as lists and dictionaries, storages as tensors."""
    kind = type(value).__name__
    if kind in ("Sequential", "ModuleList", "ParameterList"):
        return list(value)
    if kind in ("ModuleDict", "ParameterDict"):
        return dict(value.items())
    return tensor(value.tolist(), dtype=value.dtype) if kind == "TypedStorage" else value


def _leaves(x: Any, y: Any, options: dict[str, Any]) -> None:
    pair = (x, y)
    if x is None or y is None:
        compare_leaves(x, y, options)
    elif any(isinstance(v, _BOOLEANS) for v in pair) and all(isinstance(v, (*_BOOLEANS, *_NUMBERS, *_ARRAYS)) for v in pair):
        a, b = (bool(_single(v, "a boolean")) for v in pair)
        compare_leaves(a, b, options)
    elif any(isinstance(v, (*_NUMBERS, enum.Enum)) for v in pair) and all(isinstance(v, (*_NUMBERS, enum.Enum, *_ARRAYS)) for v in pair):
        _numbers(_single(x, "a number"), _single(y, "a number"), options)
    elif all(isinstance(v, _ARRAYS) for v in pair):
        one, other = (v if isinstance(v, Tensor) else tensor(v) for v in pair)
        compare_leaves(one, other, options)
    else:
        name = next(name for name, kind in _OTHERS if isinstance(x, kind) and isinstance(y, kind))
        try:
            unittest.TestCase().assertEqual(x, y)
        except AssertionError as error:
            raise Mismatch(f"{name} comparison failed: {error}") from None


def _single(value: Any, what: str) -> Any:
    """The number, of a tensor of one element too."""
    if isinstance(value, _ARRAYS):
        count = int(np.prod(value.shape))
        if count > 1:
            raise Mismatch(f"Only single element tensor-likes can be compared against {what}. Got {count} elements instead.", ValueError)
        value = value.item()
    if isinstance(value, enum.Enum):
        value = value.value
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, bool) else value


def _numbers(a: Any, b: Any, options: dict[str, Any]) -> None:
    kinds = {int: "int64", float: "float32", complex: "complex64"}
    rtol, atol = tolerances([kinds.get(type(v), "float32") for v in (a, b)], options)
    close_numbers(a, b, rtol, atol, options["equal_nan"])
