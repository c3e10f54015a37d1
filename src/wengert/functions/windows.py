"""Windows: weights that fade a piece of a signal in and out, for short-time Fourier transforms and filters.

A periodic window is the symmetric one of a sample more, without its last: what spectral analysis wants, where pieces
overlap. The formulas are those of Harris, "On the use of windows for harmonic analysis with the DFT", 1978.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.errors import check_countable
from .creation import finish, np_dtype
from .devices import placed
from .overloads import overload
from .places import described

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor


def _window(name: str, formula: Any, length: Any, periodic: bool, options: dict[str, Any]) -> Tensor:
    """``formula`` at ``length`` places from -1 to 1."""
    dtype, device = options.pop("dtype", None), options.pop("device", None)
    requires_grad = options.pop("requires_grad", False)
    unknown = options.keys() - {"layout", "pin_memory"}
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
    where = placed(device)
    if not isinstance(length, (int, np.integer)) or isinstance(length, bool):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type(length).__name__}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    d = np_dtype(dtype)
    if d.kind not in "fV":
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dt.scalar_name(d)}")
    if length <= 1:
        return finish(np.ones(length, d), requires_grad, where)
    check_countable(int(length))
    last = length if periodic else length - 1
    return finish(formula((2 * np.arange(length) - last) / last).astype(d), requires_grad, where)


def _plain(name: str, formula: Any, doc: str) -> None:
    """A window without parameters of its own."""

    def window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
        return _window(name, formula, window_length, periodic, options)

    overload("torch")(described(window, name, doc))


_plain("hann_window", lambda x: 0.5 + 0.5 * np.cos(np.pi * x), """``cos^2``: touches 0 at its ends.

    ``dtype``, ``device`` and ``requires_grad`` as for ``zeros``.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """)
_plain("blackman_window", lambda x: np.abs(0.42 + 0.5 * np.cos(np.pi * x) + 0.08 * np.cos(2 * np.pi * x)),
    "Two cosines, for side lobes lower than ``hann_window``'s: ``0.42 + 0.5 cos(pi x) + 0.08 cos(2 pi x)``.")
_plain("bartlett_window", lambda x: 1 - np.abs(x), "A triangle, 0 at its ends.")


@overload("torch")
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
        **options: Any) -> Tensor:
    """A raised cosine that stays above 0: ``alpha + beta cos(pi x)`` for ``x`` from -1 to 1."""
    return _window("hamming_window", lambda x: alpha + beta * np.cos(np.pi * x), window_length, periodic, options)


@overload("torch")
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """``I0(beta sqrt(1 - x^2)) / I0(beta)``: the larger ``beta``, the wider the peak and the lower the side lobes."""
    return _window("kaiser_window", lambda x: np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta),
        window_length, periodic, options)
