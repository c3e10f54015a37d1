"""The error about a mismatch: both Jacobians, the worst element, and why it differs.

The gradient is wrong, the function has a kink there, or the difference quotient is inaccurate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...tensor import wrap
from .error import FAST_ONLY, GradcheckError
from .problem import Move, Problem, close, places, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from .problem import Index


def mismatch(problem: Problem, i: int, j: int, a: np.ndarray, n: np.ndarray, kind: str, *, imaginary: bool = False,
        units: tuple[Any, ...] = (1,), fast: tuple[Any, Any] | None = None) -> GradcheckError:
    """The error for output ``i`` and input ``j``, whose analytical Jacobian is ``a`` and whose numerical one is ``n``.

    ``kind``: the words before "mismatch". ``imaginary``: of a complex output, that part is considered. ``units``: how
    the input was moved; where it was by 1 and 1j, the Jacobian's real part and imaginary part are these.
    ``fast``: the projections that were compared, of the two in this order.
    """
    output, x = problem.outputs[i], problem.moved[j]
    excess = np.abs(a - n) - (problem.atol + problem.rtol * np.abs(n))
    k, column = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)), a.shape)
    place = tuple(map(int, np.unravel_index(k, x._wg_data.shape)))
    to = tuple(map(int, np.unravel_index(column, output._wg_data.shape)))
    found, expected = a[k, column], n[k, column]
    verdict, why = _verdict(problem, i, j, (place, to), found, expected, imaginary, units)
    if verdict == "wrong":
        why += _pattern(a, n, problem.atol, problem.rtol)
    shown_a, shown_n = (a, n) if fast is None else fast
    return GradcheckError(
        f"{kind}mismatch for output {i} with respect to input {j},\nnumerical:{wrap(np.asarray(shown_n))}\n"
        f"analytical:{wrap(np.asarray(shown_a))}\n{'' if fast is None else _slow(problem, a, n)}verdict: {verdict}: "
        f"{why}\nworst at element {place} of input {j} and element {to} of output {i}: numerical {expected}, "
        f"analytical {found}",
        verdict,
        (j, place, i, to),
    )


def _verdict(problem: Problem, i: int, j: int, at: tuple[Index, Index], found: Any, expected: Any, imaginary: bool,
        units: tuple[Any, ...]) -> tuple[str, str]:
    if not problem.deterministic():
        return "non-deterministic", "calls with the same inputs give different outputs"
    x, (place, to) = problem.moved[j], at
    off = found - expected
    second = abs(np.imag(off)) > abs(np.real(off))
    # Two units: the parts of a Jacobian element are two derivatives. One unit and a complex element: it is one, of a
    # complex output.
    unit = units[int(second)] if len(units) == 2 else units[0]
    of_imaginary = imaginary or (len(units) == 1 and second)
    memory = next((m for m, p in places(x) if p == place), None)
    if memory is None:
        return "wrong", "the gradient should be zero, nothing is stored there"
    move = Move(stored(x), memory, unit)

    def f(step: float) -> float:
        with move.by(step):
            value = problem.values()[problem.numbers[i]][to]
        return float(value.imag if of_imaginary else value.real)

    slope, quotient = (np.imag(found), np.imag(expected)) if second else (np.real(found), np.real(expected))
    return _judge(f, float(slope), float(quotient), problem.eps, problem.atol, problem.rtol, stored(x), memory)


def _slow(problem: Problem, a: np.ndarray, n: np.ndarray) -> str:
    return (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. Below, we "
        "recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n "
        f"{wrap(n)}\nAnalytical:\n{wrap(a)}\n\nThe max per-element difference (slow mode) is: "
        f"{np.max(np.abs(n - a), initial=0)}.\n"
        + (FAST_ONLY if close(a, n, problem.atol, problem.rtol) else "")
    )


def _judge(f: Callable[[float], float], slope: float, quotient: float, eps: float, atol: float, rtol: float,
        array: np.ndarray, at: Any) -> tuple[str, str]:
    """``(verdict, explanation)`` for a function of one number whose gradient is said to be ``slope``.

    ``f(step)``: the output where the input, ``array[at]``, is moved by ``step``; ``quotient``: the central difference
    of step ``eps`` that disagrees.
    """
    here = f(0.0)
    ulp = 2.0**-8 if array.dtype.kind == "V" else float(np.finfo(array.dtype).eps)
    tolerance = atol + rtol * abs(slope)
    if not np.isfinite(slope):
        return "wrong", "the gradient is not finite"

    def sides(h: float) -> tuple[float, float]:
        return (here - f(-h)) / h, (f(h) - here) / h

    def noise(h: float) -> float:
        return 4 * ulp * abs(here) / h

    # A kink: left and right slopes differ, and do not approach each other in proportion to the step.
    for h in (eps, 3 * eps, 10 * eps):
        left, right = sides(h)
        wide_left, wide_right = sides(3 * h)
        gap, wide = abs(right - left), abs(wide_right - wide_left)
        if not np.isfinite(gap):
            return "kink", "the function is not finite on both sides"
        low, high = min(left, right) - tolerance - noise(h), max(left, right) + tolerance + noise(h)
        if gap > 2 * tolerance + 2 * noise(h) and wide < 2 * gap and low <= slope <= high:
            return ("kink", f"not differentiable here: the slope is {left:.6g} on the left and {right:.6g} on the "
                f"right, the gradient says {slope:.6g}")

    size = abs(complex(array[at]))
    best, error = _derivative(f, here, ulp, max(size, 1e-2))
    off = abs(quotient - slope)
    if abs(best - slope) <= tolerance + 3 * error and error < max(off, tolerance):
        return ("precision",
            f"eps={eps:g} is a poor step for {array.dtype} here: a better one gives {best:.6g}, as the gradient says")
    if off <= tolerance + noise(eps):
        return ("precision", f"rounding in {array.dtype} alone changes the difference quotient by up to "
            f"{noise(eps):.2g}; check in float64")
    if off <= tolerance + noise(eps) + abs(slope) * ulp * size / eps:
        return ("precision", f"a step of {eps:g} is rounded in {array.dtype} at an input of {size:.3g}; scale the "
            "inputs, or choose a larger eps")
    return "wrong", "the gradient is wrong"


def _derivative(f: Callable[[float], float], here: float, ulp: float, scale: float) -> tuple[float, float]:
    """The derivative at 0 and its error, by the step for which extrapolated central differences are surest.

    Richardson's extrapolation of two steps, h and h/2, removes the error of order h**2.
    """
    best, error = np.nan, np.inf
    for k in range(1, 8):
        h = scale * 10.0**-k
        coarse, fine = (f(h) - f(-h)) / (2 * h), (f(h / 2) - f(-h / 2)) / h
        value = (4 * fine - coarse) / 3
        doubt = abs(value - fine) + ulp * abs(here) / h
        if doubt < error:
            best, error = value, doubt
    return float(best), float(error)


def _pattern(a: np.ndarray, n: np.ndarray, atol: float, rtol: float) -> str:
    """What the wrong Jacobian looks like, if it looks like something: missing, of the wrong sign, off by a factor,
    transposed.
    """
    if not np.all(np.isfinite(a)) or not np.all(np.isfinite(n)):
        return ""
    if not a.any():
        return ": it is zero everywhere"

    def close(x: Any, y: Any) -> bool:
        return bool(np.all(np.abs(x - y) <= 10 * (atol + rtol * np.abs(y))))

    scale = np.vdot(a, n) / np.vdot(a, a)
    if abs(scale) > 1e-3 and close(scale * a, n) and a.size > 1:
        factor = 1 / scale
        shown = f"{factor.real:.4g}" if abs(factor.imag) < 1e-3 * abs(factor) else f"{factor:.4g}"
        return (": its sign is wrong" if abs(factor + 1) < 1e-3
            else f": it is {shown} times what it should be, everywhere")
    if a.shape[0] == a.shape[1] and close(a.T, n):
        return ": it is the transpose of what it should be"
    if np.iscomplexobj(a) and close(a.conj(), n):
        return ": it is the conjugate of what it should be"
    return ""
