"""What ``tensor(data)`` makes of numbers, nested sequences, arrays and tensors, and why it refuses others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.errors import limits
from ..arrays.float8 import converted
from ..tensor import classes
from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator


def array_of(data: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """A new array with the values of numbers, nested sequences, arrays or tensors; PyTorch's inference of the type."""
    if isinstance(data, Tensor):
        plain = np.asarray(_plain(data))
        return np.array(plain) if dtype is None else converted(plain, dtype)
    if isinstance(data, (np.ndarray, np.generic)):
        kind = dt.of(data.dtype).np  # refuses text and objects
        return converted(np.asarray(data), kind if dtype is None else dtype)
    if isinstance(data, (list, tuple)):
        return _of_sequence(data, dtype)
    natural = dt.of_python(data)
    if natural is not None:
        return _filled(data, dtype or natural)
    if hasattr(data, "__array__"):
        return array_of(np.asarray(data), dtype)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, dict):
        return array_of(list(data), dtype)
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _of_sequence(data: Any, dtype: np.dtype | None) -> np.ndarray:
    found = _of_one_kind(data)
    if found is not None:
        kind = dtype or (dt.default_float() if type(data[0]) is float else found.dtype)
        return found if found.dtype == kind else _fitting(found, kind)
    first, has_tensors = _first_leaf(data)
    if has_tensors:
        if dtype is None:
            dtype = _common(data)
        data = _scalars(data)
    try:
        found = np.array(data)
    except ValueError as e:
        raise _ragged(data) from e
    if found.dtype == object:
        numbers = all(dt.of_python(x) is not None for x in _leaves(data))
        if dtype is None and numbers:
            dtype = _common(data)  # of floats, if one of the numbers is
        if dtype is None or dtype.kind not in "fc" or not numbers:
            raise _unusable(data)
        found = np.array(data, np.float64)  # integers too large for any integer type
    if found.dtype.kind in "US":
        raise _text_among(data, first)
    if dtype is None:
        dtype = _inferred(data, first, found)
    return found if found.dtype == dtype else _fitting(found, dtype)


_MOST_DIMENSIONS = 64
_KINDS: dict[Any, str] = {float: "f", int: "i", bool: "b"}


def _of_one_kind(data: Any) -> np.ndarray | None:
    """The array of numbers that are all of one class, Python's or NumPy's; None if there is more to see to."""
    kinds = set(map(type, data))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind in _KINDS:
        found = np.array(data)
        return found if found.dtype.kind == _KINDS[kind] else None  # not where integers are too large for int64
    if not issubclass(kind, (np.bool_, np.integer, np.floating)):
        return None
    found = np.array(data)
    return found if dt.of(found.dtype).np == found.dtype else None


def _inferred(data: Any, first: Any, found: np.ndarray) -> np.dtype:
    """PyTorch's type for nested sequences, of which NumPy has made ``found``; ``first``: their first number."""
    if isinstance(first, np.generic):
        return _common(data)
    if isinstance(first, np.ndarray):
        return dt.of(found.dtype).np
    if found.dtype.kind == "f":
        # NumPy's type of 2**63 and -1
        if type(first) is int and np.abs(found).max() >= 2**63 and _common(data).kind != "f":
            raise ValueError("Overflow when unpacking long long")
        return dt.default_float()
    if found.dtype.kind == "c":
        return dt.default_complex()
    if found.size == 0:
        return dt.default_float()
    return found.dtype if found.dtype.kind == "b" else dt.I64


def _leaves(data: Any) -> Iterator[Any]:
    """What is in nested sequences, in order."""
    stack = [data]
    while stack:
        x = stack.pop()
        if isinstance(x, (list, tuple)):
            stack.extend(reversed(x))
        else:
            yield x


def _common(data: Any) -> np.dtype:
    """The type to which all numbers of nested sequences promote, where NumPy's, which have types, are among them."""
    found: Any = None
    for x in _leaves(data):
        d: Any = (dt.of(x.dtype).np if isinstance(x, np.ndarray) else x._wg_data.dtype if isinstance(x, Tensor)
            else dt.of_python(x))
        if d is None:
            raise RuntimeError(f"Could not infer dtype of {type(x).__name__}")
        found = d if found is None else dt.promote(found, d)
    return found


def _filled(value: Any, d: np.dtype) -> np.ndarray:
    found = np.asarray(value)
    if found.dtype == object:  # an integer too large for any integer type
        if d.kind not in "fc":
            raise ValueError("Overflow when unpacking long long")
        found = np.asarray(float(value))
    return _fitting(found, d)


def _fitting(found: np.ndarray, d: np.dtype) -> np.ndarray:
    """Python's numbers in the type ``d``, or an error; unsigned types take negative numbers too, as in C."""
    kind = d.kind
    if found.dtype.kind == "c" and kind in "fiu":
        raise TypeError("must be real number, not complex" if kind == "f"
            else "'complex' object cannot be interpreted as an integer")
    if kind in "iu" and found.size and found.dtype.kind in "iuf":
        low, high = found.min().item(), found.max().item()
        least, most = limits(d, low)
        if not (low >= least and high <= most):
            if d == dt.I64 and found.dtype.kind == "u":
                raise ValueError("Overflow when unpacking long long")
            raise RuntimeError(f"value cannot be converted to type {d.name} without overflow")
    with np.errstate(over="ignore", invalid="ignore"):
        return converted(found, d)


def _first_leaf(data: Any) -> tuple[Any, bool]:
    """The first number of nested sequences, and whether a tensor is among the elements. More dimensions than NumPy has
    are refused here, and with them a list that contains itself.
    """
    first, tensors, stack = None, False, [(data, 1)]
    while stack:
        x, depth = stack.pop()
        if isinstance(x, (list, tuple)):
            if depth > _MOST_DIMENSIONS:
                raise ValueError(f"too many dimensions '{type(x).__name__}'")
            if x and isinstance(x[0], (int, float)) and not any(isinstance(v, (Tensor, list, tuple)) for v in x):
                first = x[0] if first is None else first
                continue
            stack.extend([(v, depth + 1) for v in reversed(x)])
        else:
            first = x if first is None else first
            tensors = tensors or isinstance(x, Tensor)
    return first, tensors


def _text_among(data: Any, first: Any) -> Exception:
    if isinstance(first, str):
        return ValueError("too many dimensions 'str'")
    text = next(x for x in _leaves(data) if isinstance(x, (str, bytes)))
    return TypeError(f"new(): invalid data type '{type(text).__name__}'")


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        if type(data) is classes.Batched_:
            data.item()  # refused
        return data._wg_data if data._wg_data.ndim else data._wg_data[()]
    return [_plain(x) for x in data] if isinstance(data, (list, tuple)) else data


def _scalars(data: Any) -> Any:
    """Nested sequences with the number of each tensor in its place; refused for a tensor of more elements than one."""
    if isinstance(data, (list, tuple)):
        return [_scalars(x) for x in data]
    if not isinstance(data, Tensor):
        return data
    if data._wg_data.size != 1:
        if data._wg_data.dtype.kind in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        raise ValueError("only one element tensors can be converted to Python scalars")
    return _plain(data).item() if data._wg_data.dtype.kind in "biufc" else _plain(data).reshape(())


def _ragged(data: Any) -> Exception:
    level, expected = 0, [data]
    while expected and isinstance(expected[0], (list, tuple)):
        for x in expected:
            if not isinstance(x, (list, tuple)):
                return TypeError(f"not a sequence: {type(x).__name__}")
        for x in expected:
            if len(x) != len(expected[0]):
                return ValueError(f"expected sequence of length {len(expected[0])} at dim {level} (got {len(x)})")
        expected = [y for x in expected for y in x]
        level += 1
    return TypeError("'list' object cannot be interpreted as an integer")


def _unusable(data: Any) -> Exception:
    wrong = [x for x in _leaves(data) if dt.of_python(x) is None]
    if wrong:
        return RuntimeError(f"Could not infer dtype of {type(wrong[0]).__name__}")
    return ValueError("Overflow when unpacking long long")  # numbers, too large ones
