"""Tensors that count: ranges, identity matrices, the places of triangles."""

from __future__ import annotations

import warnings
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.errors import check_countable, refuse_overflow
from ..ops.errors import must_be
from ..tensor.tensor import Tensor
from . import everyday
from .composites.call import by_example
from .creation import deliver, finish, np_dtype, out_type
from .devices import placed
from .places import described


def _numbers(name: str, **given: Any) -> list[Any]:
    """The values of numbers or of tensors with one element, whose history (they would lose it) is refused."""
    row = [x.item() if isinstance(x, np.generic) or (isinstance(x, Tensor) and not x.requires_grad) else x
        for x in given.values()]
    for i, (key, x) in enumerate(zip(given, row)):
        if not isinstance(x, (int, float, complex)):
            raise TypeError(f"{name}(): argument '{key}' (position {i + 1}) must be Number, not {type(x).__name__}")
        if isinstance(x, int) and not -(2**63) <= x < 2**64:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        if isinstance(x, complex) and name in ("arange", "range"):  # the others say what type they would have
            refuse_overflow(x, dt.F64)
    return row


def _counted(name: str, d: np.dtype, refused: str) -> None:
    if d.kind in refused or d in dt.RARE_IN_USE:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dt.scalar_name(d)}'")


def _check_range(start: Any, end: Any, step: Any) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (isfinite(start) and isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) / step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def arange(start: Any = None, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """The numbers from ``start`` (0 if only one is given) to before ``end`` in steps.

    >>> torch.arange(3)
    tensor([0, 1, 2])
    """
    found = everyday.counted(start, end, step, dtype, layout, device, requires_grad, out, pin_memory)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    where = placed(device)
    if start is None and end is not None:
        start = 0
    if end is None:
        start, (end,) = 0, _numbers("arange", end=start)
    else:
        start, end, step = _numbers("arange", start=start, end=end, step=step)
    integral = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    d = out_type(out, dtype, dt.I64 if integral else dt.default_float())
    _counted("arange", d, "bc")
    _check_range(start, end, step)
    if d == dt.I64 and not integral:  # whose ends are cut to integers before anything is counted
        start, end, step, integral = int(start), int(end), int(step), True
        if step == 0:
            raise ValueError("step must be nonzero")
    count = -(-(end - start) // step) if integral else int(np.ceil((end - start) / step))
    if count >= 2**60:
        raise RuntimeError("invalid size, possible overflow?")
    if d.kind in "iu" and not (-(2**63) <= start < 2**63 and -(2**63) <= step < 2**63):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    if d.kind in "iu" or integral:
        a = _integers(int(start), int(step), max(count, 0), d).astype(d, copy=False)
    else:
        a = np.arange(count, dtype=np.float64)
        a *= step
        a += start
        a = a.astype(d, copy=False)
    return deliver(a, out, "arange", requires_grad, where)


def _integers(start: int, step: int, count: int, d: np.dtype) -> np.ndarray:
    stop = start + step * count
    if d.char in "fd" and step and -(2**31) <= start < 2**31 and -(2**31) <= stop < 2**31:  # converted in vectors
        return np.arange(start, stop, step, dtype=np.int32)
    if step and -(2**63) <= start < 2**63 and -(2**63) <= stop < 2**63:
        return np.arange(start, stop, step)
    return start + step * np.arange(count)  # type: ignore[no-any-return]


def range_(start: Any, end: Any, step: Any = 1, **options: Any) -> Tensor:
    """Deprecated: like ``arange``, the end included."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    start, end, step = _numbers("range", start=start, end=end, step=step)
    _check_range(start, end, step)
    out = options.get("out")
    # more than NumPy's integers hold
    start, step = (float(x) if isinstance(x, int) and x >= 2**63 else x for x in (start, step))
    count = int(np.floor((end - start) / step)) + 1
    check_countable(count)
    a = (start + step * np.arange(count)).astype(out_type(out, options.get("dtype"), dt.default_float()))
    return deliver(a, out, "range", options.get("requires_grad", False), placed(options.get("device")))


range_.__name__ = range_.__qualname__ = "range"


@by_example
def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, evenly spaced."""
    found = everyday.spaced(start, end, steps, dtype, layout, device, requires_grad, out)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    return _spaced("linspace", start, end, steps, out, dtype, requires_grad, None, placed(device))


@by_example
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None,
        layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``base`` to the powers ``linspace(start, end, steps)``."""
    found = everyday.logspaced(base, start, end, steps, dtype, layout, device, requires_grad, out)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    where = placed(device)
    if not isinstance(base, (int, float, np.number)):
        raise TypeError(f"logspace(): argument 'base' (position 4) must be float, not {type(base).__name__}")
    return _spaced("logspace", start, end, steps, out, dtype, requires_grad, base, where)


def _ends(name: str, start: Any, end: Any, steps: Any) -> tuple[Any, ...]:
    if type(steps) is not int and not isinstance(steps, (np.integer, Tensor)):
        kinds = ", ".join("Tensor" if isinstance(x, Tensor) else type(x).__name__ for x in (start, end, steps))
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds}), but 'steps' must be "
            "int")
    wide = [f"{which} with {x.ndim} dimension(s)" for which, x in (("start", start), ("end", end))
        if isinstance(x, Tensor) and x.ndim]
    if wide:
        kinds = " and ".join(which for which, x in (("start", start), ("end", end)) if isinstance(x, Tensor))
        raise RuntimeError(f"{name} only supports 0-dimensional {kinds} tensors, but got {' and '.join(wide)}.")
    return tuple(_numbers(name, start=start, end=end))


def _spaced(name: str, start: Any, end: Any, steps: int, out: Any, dtype: Any, requires_grad: bool, base: float | None,
        where: Any) -> Tensor:
    start, end = _ends(name, start, end, steps)
    steps = int(steps)
    check_countable(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    natural = dt.default_complex() if isinstance(start, complex) or isinstance(end, complex) else dt.default_float()
    d = out_type(out, dtype, natural)
    if natural.kind == "c" and d.kind != "c":
        raise RuntimeError(f"torch.{name}(): inferred dtype c10::complex<float> can't be safely cast to passed dtype "
            f"{dt.scalar_name(d)}")
    _counted(name, d, "b")
    precise = base is not None or d.itemsize > 4 or d.kind in "iu"
    wide = np.complex128 if d.kind == "c" else np.float64 if precise else np.float32
    if d.kind in "iu" and base is None and steps > 1:
        step: Any = (float(end) - float(start)) / (steps - 1)
        i = np.arange(steps)
        a = np.where(i < steps // 2, start + step * i, end - step * (steps - 1 - i))
    elif steps > 1:  # from both ends towards the middle, so that both are exact and the rounding is symmetric
        with np.errstate(invalid="ignore"):
            step = np.asarray((wide(end) - wide(start)) / wide(steps - 1))
            if dt.is_half(d) and base is None:  # in half precision the step is rounded too
                step = step.astype(d).astype(wide)
            i = np.arange(steps)
            a = np.where(i < steps // 2, wide(start) + step * i.astype(wide),
                wide(end) - step * (steps - 1 - i).astype(wide))
    else:
        a = np.full(steps, start, wide)
    if base is not None:
        a = np.power(wide(base), a)
    return deliver(a.astype(d), out, name, requires_grad, where)


def eye(n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """The ``n`` by ``m`` matrix with ones on its diagonal."""
    found = everyday.identity(n, m, dtype, layout, device, requires_grad, out)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    where = placed(device)
    for i, (name, size) in enumerate((("n", n), ("m", m))):
        if not isinstance(size, (int, np.integer, Tensor)) and (size is not None or name == "n"):
            raise TypeError(f"eye(): argument '{name}' (position {i + 1}) must be int, not {type(size).__name__}")
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return deliver(np.eye(n, m, dtype=out_type(out, dtype, dt.default_float())), out, "eye", requires_grad, where)


def _triangle(function: str, row: int, col: int, offset: int, dtype: Any) -> np.dtype:
    """The type of indices; sizes below zero and types that do not count are refused."""
    for at, (name, size) in enumerate((("row", row), ("col", col), ("offset", offset))):
        if not isinstance(size, (int, np.integer)):
            raise must_be(function, name, at + 1, size, "int")
    for name, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{name} must be non-negative, got{size}")
    if not -(2**63) <= offset < 2**63:
        raise ValueError("Overflow when unpacking long long")
    check_countable(row, col)
    d = np_dtype(dtype, dt.I64)
    if d.kind != "i" or d.itemsize < 4:
        raise NotImplementedError(f"\"{function}\" not implemented for '{dt.scalar_name(d)}'")
    return d


_FEW = 1024  # elements of a matrix whose places are remembered: models ask for the same again and again


def _places(name: str, lower: bool, row: int, col: int, offset: int, dtype: Any) -> np.ndarray:
    d = _triangle(name, row, col, offset, dtype)
    return K.triangle_places(int(row), int(max(-row, min(offset, col))), int(col), lower).astype(d, copy=False)


_few_places = lru_cache(64)(_places)


def _indices(name: str, lower: bool, part: str) -> Any:
    def indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None,
            pin_memory: bool = False) -> Tensor:
        few = type(row) is type(col) is type(offset) is int and 0 <= row * col <= _FEW
        found = _few_places(name, lower, row, col, offset, dtype).copy() if few else _places(name, lower, row, col,
            offset, dtype)
        return finish(found, False, placed(device))

    return described(indices, name, f"Indices ``(2, n)`` of the {part} triangle of a ``row`` by ``col`` matrix.")


tril_indices = _indices("tril_indices", True, "lower")
triu_indices = _indices("triu_indices", False, "upper")
FUNCTIONS = (arange, range_, linspace, logspace, eye, tril_indices, triu_indices)
