"""``assert_close``: equal up to rounding, and if not, by how much and where.

Two values are compared in two steps. *Pairing* walks containers and finds the kind of comparison for each pair of
leaves; *comparing* raises ``Mismatch`` with a text. The text gets the place of the leaf on its way out.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..names.absent import absent_from
from ..tensor.classes import DISPATCHING
from ..tensor.tensor import Tensor
from ..tensor.types import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided

__all__ = ["assert_allclose", "assert_close"]

# (rtol, atol) of floating types; everything else has to be equal
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}


class Mismatch(Exception):  # noqa: N818
    """The leaves differ: what to tell, and as which exception."""

    def __init__(self, text: str, kind: type[Exception] = AssertionError, path: tuple[Any, ...] = ()) -> None:
        super().__init__(text)
        self.text, self.kind, self.path = text, kind, path

    def error(self, msg: Any) -> Exception:
        text = self.text
        if self.path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.path)}"
        if msg is not None and self.kind is AssertionError:
            text = msg(text) if callable(msg) else msg
        return self.kind(text)


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
        atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
        check_layout: bool = True, check_stride: bool = False, msg: str | Callable[[str], str] | None = None) -> None:
    """Assert that ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Tensors, NumPy arrays, numbers and None are compared with their like, sequences and mappings item by item. Shapes
    have to agree; dtypes, devices and layouts too, unless ``check_dtype`` and so on are False. The tolerances come
    from the dtype (1.3e-6 and 1e-5 for float32, 1e-7 for float64, 0 for integers) unless both are given. ``msg``
    replaces the text of the error, or makes it from the text that would be there.

    Raises ``AssertionError`` where they differ, with a text that says by how much and where, ``ValueError`` if only one
    tolerance is given, ``TypeError`` for values that cannot be compared.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]) * 0.1, torch.tensor([0.1, 0.2]))
    >>> torch.testing.assert_close(torch.ones(2), torch.tensor([1.0, 1.5]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.3333333432674408 at index (1,) (up to 1.3e-06 allowed)
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}.")
    options = {
        "allow_subclasses": allow_subclasses, "rtol": rtol, "atol": atol, "equal_nan": equal_nan,
        "check_device": check_device, "check_dtype": check_dtype, "check_layout": check_layout,
        "check_stride": check_stride,
    }
    failure = None
    try:
        _compare(actual, expected, options, ())
    except Mismatch as mismatch:
        failure = mismatch.error(msg)
    if failure is not None:
        raise failure


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
        equal_nan: bool = True, msg: str = "") -> None:
    """The older, laxer form: NaN equals NaN, and dtypes and devices may differ. Use ``assert_close``."""
    import warnings

    from ..functions.creation import tensor

    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    a, b = (x if isinstance(x, Tensor) else tensor(x) for x in (actual, expected))
    if rtol is None and atol is None:
        rtol, atol = _tolerances([_dtype(a), _dtype(b)], {"rtol": None})
    assert_close(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
        check_stride=False, msg=msg or None)


# -- pairing ----------------------------------------------------------------------------------------------------------


def _compare(actual: Any, expected: Any, options: dict[str, Any], path: tuple[Any, ...]) -> None:
    """Compare the leaves of two values, which may be nested containers."""
    if (isinstance(actual, Sequence) and isinstance(expected, Sequence) and not isinstance(actual, str)
            and not isinstance(expected, str)):
        if len(actual) != len(expected):
            raise Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path=path)
        for i, (a, b) in enumerate(zip(actual, expected)):
            _compare(a, b, options, (*path, i))
        return
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _same_keys(actual, expected, path)
        for key in actual:
            _compare(actual[key], expected[key], options, (*path, key))
        return
    try:
        _compare_leaves(actual, expected, options)
    except Mismatch as mismatch:
        mismatch.path = path
        raise


def _same_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: tuple[Any, ...]) -> None:
    missing, additional = ([k for k in a if k not in b] for a, b in ((expected, actual), (actual, expected)))
    if missing or additional:
        text = "The keys of the mappings do not match:"
        for keys, what in ((missing, "Missing"), (additional, "Additional")):
            if keys:
                text += f"\n{what} keys in the actual mapping: {_sorted(keys)}"
        raise Mismatch(text, path=path)


def _sorted(keys: list[Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return keys


def _compare_leaves(actual: Any, expected: Any, options: dict[str, Any]) -> None:
    pair = (actual, expected)
    if actual is None or expected is None:
        if actual is not expected:
            raise Mismatch(f"None mismatch: {actual} is not {expected}")
    elif all(isinstance(x, (bool, np.bool_)) for x in pair):
        if bool(actual) is not bool(expected):
            raise Mismatch(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")
    elif all(isinstance(x, (int, float, complex, np.number, bool, np.bool_)) for x in pair):
        _compare_numbers(actual, expected, options)
    elif all(isinstance(x, Tensor) for x in pair) and (options["allow_subclasses"] or type(actual) is type(expected)):
        _compare_tensors(actual, expected, options)
    elif all(isinstance(x, np.ndarray) for x in pair):
        from ..functions.creation import from_numpy

        _compare_tensors(from_numpy(actual), from_numpy(expected), options)
    else:
        raise Mismatch(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            TypeError)


# -- comparing --------------------------------------------------------------------------------------------------------


def _tolerances(dtypes: list[str], options: dict[str, Any]) -> tuple[float, float]:
    """``rtol`` and ``atol`` for values of these dtypes."""
    if options["rtol"] is not None:
        return options["rtol"], options["atol"]
    known = [_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in known), max(a for _, a in known)


def _head(subject: str, rtol: float, atol: float) -> str:
    return f"{subject} are not {'equal' if rtol == atol == 0 else 'close'}!\n\n"


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _compare_numbers(actual: Any, expected: Any, options: dict[str, Any]) -> None:
    a, b = (x.item() if isinstance(x, np.generic) else x for x in (actual, expected))
    if options["check_dtype"] and type(a) is not type(b):
        raise Mismatch(f"The (d)types do not match: {type(a)} != {type(b)}.")
    kinds = {int: "int64", bool: "bool", float: "float64", complex: "complex128"}
    rtol, atol = _tolerances([kinds.get(type(a), "float64"), kinds.get(type(b), "float64")], options)
    _close_numbers(a, b, rtol, atol, options["equal_nan"])


def _close_numbers(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> None:
    if a == b or (equal_nan and cmath.isnan(a) and cmath.isnan(b)):
        return
    difference = abs(a - b)
    if cmath.isfinite(a) and cmath.isfinite(b) and difference <= atol + rtol * abs(b):
        return
    relative = difference / abs(b) if b != 0 else float("inf") if difference == difference else float("nan")
    exact = rtol == atol == 0
    raise Mismatch(f"{_head('Scalars', rtol, atol)}Expected {b} but got {a}.\nAbsolute difference: "
        f"{difference}{_allowed(atol, exact)}\nRelative difference: {relative}{_allowed(rtol, exact)}")


def _dtype(t: Tensor) -> str:
    return str(t.dtype).removeprefix("torch.")


_ROWS, _COLUMNS = ("crow_indices", "col_indices"), ("ccol_indices", "row_indices")
# of sparse layouts: their names in messages, and the methods that give indices
_SPARSE = {
    sparse_coo: ("COO", ("indices",)), sparse_csr: ("CSR", _ROWS), sparse_csc: ("CSC", _COLUMNS),
    sparse_bsr: ("BSR", _ROWS), sparse_bsc: ("BSC", _COLUMNS),
}


def _compare_tensors(actual: Tensor, expected: Tensor, options: dict[str, Any]) -> None:
    if actual.is_nested or expected.is_nested:
        _compare_nested(actual, expected, options)
        return
    facts: list[tuple[str, Any, Any, bool]] = [("shape", actual.shape, expected.shape, True)]
    facts += [(name, getattr(actual, name), getattr(expected, name), options[f"check_{name}"])
        for name in ("device", "dtype", "layout")]
    if options["check_stride"] and sparse_coo not in (actual.layout, expected.layout):
        facts.append(("stride()", actual.stride(), expected.stride(), True))
    for name, here, there, wanted in facts:
        if wanted and here != there:
            raise Mismatch(f"The values for attribute '{name}' do not match: {here!s} != {there!s}.")
    if actual.is_meta or expected.is_meta:  # no numbers
        return
    rtol, atol = _tolerances([_dtype(actual), _dtype(expected)], options)
    equal_nan = options["equal_nan"]
    if actual.layout == expected.layout and actual.layout in _SPARSE:
        _compare_sparse(actual, expected, rtol, atol, equal_nan)
        return
    x, y = (t if t.layout is strided else t.to_dense() for t in (actual, expected))
    _close_arrays(_array(x), _array(y), rtol, atol, equal_nan, "Tensor-likes")


def _compare_nested(actual: Any, expected: Any, options: dict[str, Any]) -> None:
    for name in ("is_nested", "layout", "dtype"):
        here, there = getattr(actual, name), getattr(expected, name)
        if here != there and (name != "dtype" or options["check_dtype"]):
            raise Mismatch(f"The values for attribute '{name}' do not match: {here!s} != {there!s}.")
    if actual._wg_data.shape != expected._wg_data.shape:
        here, there = (t._nested_tensor_size() if hasattr(t, "_nested_tensor_size") else t.shape
            for t in (actual, expected))
        raise Mismatch(f"The values for attribute 'shape' do not match: {here!s} != {there!s}.")
    for a, b in zip(actual.detach().unbind(), expected.detach().unbind()):
        _compare_tensors(a, b, options)


def _compare_sparse(actual: Tensor, expected: Tensor, rtol: float, atol: float, equal_nan: bool) -> None:
    name, parts = _SPARSE[actual.layout]
    a, b = (t.coalesce() if t.layout is sparse_coo else t for t in (actual, expected))
    if a._nnz() != b._nnz():
        raise Mismatch(f"The number of specified values in sparse {name} tensors does not match: {a._nnz()} != "
            f"{b._nnz()}")
    for part in parts:
        _close_arrays(_array(getattr(a, part)()), _array(getattr(b, part)()), 0, 0, False, f"Sparse {name} {part}")
    _close_arrays(_array(a.values()), _array(b.values()), rtol, atol, equal_nan, f"Sparse {name} values")


def _array(t: Tensor) -> np.ndarray:
    """The values, half precision kept in float32 (NumPy does not compute with bfloat16)."""
    t = t.detach()
    if type(t) in DISPATCHING:  # only its class knows its numbers
        from ..dispatch.subclass_dispatch import numbers

        a = numbers(t)
    else:
        a = t._wg_data
    return a.astype(np.float32) if a.dtype.kind == "V" else a


def _close_arrays(a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool, subject: str) -> None:
    kind = np.result_type(a, b)
    if a.dtype != b.dtype:
        a, b = a.astype(kind), b.astype(kind)
    if kind.kind == "b":
        a, b = a.astype(np.int64), b.astype(np.int64)
    exact = rtol == atol == 0
    with np.errstate(all="ignore"):
        same = a == b
        if equal_nan and kind.kind in "fc":
            same |= np.isnan(a) & np.isnan(b)
        if not exact:
            wide = (a.astype(np.float64 if kind.kind in "biu" else kind),
                b.astype(np.float64 if kind.kind in "biu" else kind))
            same |= (
                np.isfinite(wide[0]) & np.isfinite(wide[1]) & (
                    np.abs(wide[0] - wide[1]) <= atol + np.abs(rtol * wide[1])))
    if same.all():
        return
    if a.size == 1 and a.ndim == 0:
        _close_numbers(a.item(), b.item(), rtol, atol, equal_nan)
    raise Mismatch(_head(subject, rtol, atol) + _how_far(a, b, ~np.asarray(same), rtol, atol, exact))


def _how_far(a: np.ndarray, b: np.ndarray, wrong: np.ndarray, rtol: float, atol: float, exact: bool) -> str:
    """How many elements differ, and the greatest differences with their places; elements that agree do not count."""
    with np.errstate(all="ignore"):
        if a.dtype.kind == "u":
            a, b = a.astype(np.int64), b.astype(np.int64)
        absolute = np.where(wrong, np.abs(a - b), 0)
        scale = np.abs(b)
        if a.dtype.kind == "i":  # whose quotients PyTorch computes in its default dtype
            scale = scale.astype(np.float32)
        relative = np.where(wrong, absolute.astype(scale.dtype, copy=False) / scale, 0)
    count = int(wrong.sum())
    text = f"Mismatched elements: {count} / {wrong.size} ({count / wrong.size:.1%})"
    for name, table, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        at = int(np.argmax(table))  # the first NaN, if there is one
        place = tuple(int(i) for i in np.unravel_index(at, table.shape))
        text += (f"\nGreatest {name} difference: {table.reshape(-1)[at].item()} at index "
            f"{place}{_allowed(tolerance, exact)}")
    return text


__getattr__ = absent_from(__name__)
