"""Window functions, ``torch.signal.windows``: ``M`` weights, symmetric, or periodic with ``sym=False``.

``ValueError`` for a negative length, for types other than float32 and float64, and for parameters that make no window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..functions.creation import empty, finish, np_dtype, ones, tensor
from ..functions.ranges import linspace
from ..tensor.functions import function
from ..tensor.types import strided

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]


def _window(name: str, M: int, dtype: Any, layout: Any, requires_grad: bool, make: Callable[[Any], Tensor],
        one: bool = False) -> Tensor:
    """The window of ``make`` (a function of the type), after the checks that all share; ``one``: a
    single weight is 1.
    """
    d = dt.of(np_dtype(dtype))
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if d not in (dt.float32, dt.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {d}")
    if M == 0 or (one and M == 1):
        return (ones if M else empty)((M,), dtype=d, requires_grad=requires_grad)
    return finish(make(d)._wg_data, requires_grad)


def _period(M: int, sym: bool) -> int:
    return M - 1 if sym else M


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
        layout: Any = strided, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``exp(-|n - center| / tau)``."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center

    def make(d: Any) -> Any:
        k = linspace(-middle / tau, (-middle + (M - 1)) / tau, M, dtype=d)
        return function("exp")(-function("abs")(k))

    return _window("exponential", M, dtype, layout, requires_grad, make)


def cosine(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """``sin(pi (n + 0.5) / M)``."""

    def make(d: Any) -> Any:
        constant = np.pi / (M + 1 if not sym and M > 1 else M)
        return function("sin")(linspace(0.5 * constant, (0.5 + (M - 1)) * constant, M, dtype=d))

    return _window("cosine", M, dtype, layout, requires_grad, make)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = strided,
        device: Any = None, requires_grad: bool = False) -> Tensor:
    """``exp(-(n / std)^2 / 2)`` around the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def make(d: Any) -> Any:
        start = -(M if not sym and M > 1 else M - 1) / 2.0
        constant = 1 / (std * np.sqrt(2))
        k = linspace(start * constant, (start + (M - 1)) * constant, M, dtype=d)
        return function("exp")(-(k**2))

    return _window("gaussian", M, dtype, layout, requires_grad, make)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = strided,
        device: Any = None, requires_grad: bool = False) -> Tensor:
    """``I0(beta sqrt(1 - k^2)) / I0(beta)``."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def make(d: Any) -> Any:
        b = tensor(beta, dtype=d)
        constant = 2.0 * b / _period(M, sym)
        end = function("minimum")(b, -b + (M - 1) * constant)
        k = linspace(-b, end, M, dtype=d)
        return function("i0")(function("sqrt")(b * b - k**2)) / function("i0")(b)

    return _window("kaiser", M, dtype, layout, requires_grad, make, one=True)


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """A triangle from 0 to 1 and back.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """

    def make(d: Any) -> Any:
        constant = 2 / _period(M, sym)
        return 1 - function("abs")(linspace(-1, -1 + (M - 1) * constant, M, dtype=d))

    return _window("bartlett", M, dtype, layout, requires_grad, make, one=True)


def _cosines(name: str, M: int, a: Any, sym: bool, dtype: Any, layout: Any, requires_grad: bool) -> Tensor:
    def make(d: Any) -> Any:
        if not isinstance(a, Iterable):
            raise TypeError("Coefficients must be a list/tuple")
        weights = list(a)
        if not weights:
            raise ValueError("Coefficients cannot be empty")
        k = linspace(0, (M - 1) * (2 * np.pi / _period(M, sym)), M, dtype=d)._wg_data
        signed = np.asarray([(-1) ** i * w for i, w in enumerate(weights)], d.np)
        return finish((signed[:, None] * np.cos(np.arange(len(weights), dtype=d.np)[:, None] * k)).sum(0))

    return _window(name, M, dtype, layout, requires_grad, make, one=True)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = strided,
        device: Any = None, requires_grad: bool = False) -> Tensor:
    """``sum_i (-1)^i a_i cos(2 pi i n / M)``."""
    return _cosines("general_cosine", M, a, sym, dtype, layout, requires_grad)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = strided,
        device: Any = None, requires_grad: bool = False) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / M)``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """``0.54 - 0.46 cos(2 pi n / M)``."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """``(1 - cos(2 pi n / M)) / 2``.

    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def _named(name: str, weights: list[float]) -> Any:
    def window(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
            requires_grad: bool = False) -> Tensor:
        return _cosines(name, M, weights, sym, dtype, layout, requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"A sum of {len(weights)} cosines with the weights {weights}."
    return window


blackman = _named("blackman", [0.42, 0.5, 0.08])
nuttall = _named("nuttall", [0.3635819, 0.4891775, 0.1365995, 0.0106411])
