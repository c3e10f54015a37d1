"""``make_tensor``: random tensors to test with."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from ..arrays.dtypes import FLOAT8, float32
from ..arrays.dtypes import dtype as dtype_class
from ..functions.creation import empty
from ..functions.random import FUNCTIONS
from ..functions.settings import finfo, iinfo
from ..tensor.functions import function

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor

__all__ = ["make_tensor"]

_randint: Any = FUNCTIONS["randint"]


def make_tensor(*shape: Any, dtype: Any, device: Any, low: float | None = None, high: float | None = None,
        requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
        memory_format: Any = None) -> Tensor:
    """A tensor of ``shape`` with random values from ``[low, high)``.

    By default floating and complex values lie in [-9, 9), signed integers in [-9, 10), unsigned ones in [0, 10) and
    booleans are both. ``noncontiguous``: a tensor of more than one element has gaps. ``exclude_zero``: zeros are
    replaced by the smallest positive value (floating) or one.

    >>> x = torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=0, high=1)
    >>> x.shape, bool(((0 <= x) & (x < 1)).all())
    (torch.Size([2, 3]), True)
    """
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    if not isinstance(dtype, dtype_class) or dtype in FLOAT8[4:]:
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To request support, file "
            "an issue at: https://github.com/pytorch/pytorch/issues"
        )
    kind = "b" if dtype.np.kind == "b" else "f" if dtype.is_floating_point else "c" if dtype.is_complex else "i"
    if requires_grad and kind in "bi":
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    gaps = noncontiguous and math.prod(size) > 1
    drawn = _draw((*size[:-1], 2 * size[-1]) if gaps else size, dtype, kind, low, high, device)
    x = drawn[..., 1::2] if gaps else drawn
    if memory_format is not None:
        x = x.clone(memory_format=memory_format)
    if exclude_zero:
        x[x == 0] = finfo(dtype).tiny if kind in "fc" else True if kind == "b" else 1
    return x._wg_require() if requires_grad else x


def _draw(size: tuple[int, ...], dtype: Any, kind: str, low: Any, high: Any, device: Any) -> Tensor:
    if kind == "b":
        first, last = _interval(low, high, 0, 2, 0, 2, dtype)
        return _randint(math.floor(first), math.ceil(last), size, device=device, dtype=dtype)
    if kind == "i":
        facts = iinfo(dtype)
        unsigned = facts.min == 0
        first, last = _interval(low, high, facts.min, facts.max + 1, 0 if unsigned else -9, 10, dtype)
        start, stop = (math.floor(first) if low is None or first == math.floor(first) else math.ceil(first),
            math.ceil(last))
        return _randint(start, min(stop, 2**63 - 1), size, device=device, dtype=dtype)
    if dtype in FLOAT8[:4]:  # of which there are no random numbers
        limits = finfo(dtype)
        first, last = _interval(low, high, limits.min, limits.max, -9, 9, dtype)
        return empty(size, dtype=float32, device=device).uniform_(first, last).to(dtype)
    limits = finfo(dtype)
    first, last = _interval(low, high, limits.min, limits.max, -9, 9, dtype)
    x = empty(size, dtype=dtype, device=device)
    parts = function("view_as_real")(x) if kind == "c" else x
    if last - first > limits.max:  # the width itself would overflow
        parts.uniform_(first / 2, last / 2).mul_(2)
    else:
        parts.uniform_(first, last)
    return x


def _interval(low: Any, high: Any, least: Any, most: Any, default_low: Any, default_high: Any,
        dtype: Any) -> tuple[Any, Any]:
    """``low`` and ``high``, checked, with defaults, cut to what the dtype can hold."""
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    low, high = default_low if low is None else low, default_high if high is None else high
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only "
            f"supports [{least}, {most})")
    return min(max(low, least), most), min(max(high, least), most)
