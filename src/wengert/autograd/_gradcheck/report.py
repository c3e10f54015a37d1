"""The error about a mismatch: both Jacobians, the worst element, and what is the matter with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...tensor import wrap
from .error import FAST_ONLY, GradcheckError
from .problem import Move, Problem, close, places, stored
from .verdict import judge, pattern

if TYPE_CHECKING:
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
        why += pattern(a, n, problem.atol, problem.rtol)
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
    return judge(f, float(slope), float(quotient), problem.eps, problem.atol, problem.rtol, stored(x), memory)


def _slow(problem: Problem, a: np.ndarray, n: np.ndarray) -> str:
    return (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. Below, we "
        "recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n "
        f"{wrap(n)}\nAnalytical:\n{wrap(a)}\n\nThe max per-element difference (slow mode) is: "
        f"{np.max(np.abs(n - a), initial=0)}.\n"
        + (FAST_ONLY if close(a, n, problem.atol, problem.rtol) else "")
    )
