"""Tangents that forward mode gives, compared with differences; and further checks of them.

Only what the function does with its arguments is seen: a tangent does not reach an input that it captured. A complex
input counts as two real ones: its imaginary axis is considered first, then its real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...functions.generators import get_rng_state
from ...functions.random import randn_like
from ...tensor import Tensor, wrap
from ...tensor.functions import function
from ..forward_ad import dual_level, make_dual, unpack_dual
from .error import BATCHED_FORWARD, RANDOM, GradcheckError
from .problem import Move, Problem, close, dense, direction, like, row, stored
from .report import mismatch

if TYPE_CHECKING:
    from collections.abc import Sequence


def check(problem: Problem, fast: bool) -> None:
    """Compare every output with every input."""
    random = np.random.default_rng(2147483647)
    whole = any(isinstance(x, Tensor) and x.is_complex() for x in problem.inputs)
    for unit in (1j, 1) if whole else (1,):
        for j, x in enumerate(problem.wanted):
            if unit == 1j and not x.is_complex():
                continue
            if fast:
                _projection(problem, j, unit, direction(random, x, real=True))
            else:
                a, n = _jacobians(problem, j, unit), problem.numerical(x, unit)
                for i, nr in enumerate(problem.numbers):
                    if not close(a[nr], n[nr], problem.atol, problem.rtol):
                        raise _mismatch(problem, i, j, a[nr], n[nr], unit)


def _projection(problem: Problem, j: int, unit: Any, u: np.ndarray) -> None:
    """Fast mode: ``J u`` for a random direction ``u``."""
    x = problem.wanted[j]
    found = jvp(problem, _only(problem, j, u * unit))
    differences = problem.difference(Move(stored(x), None, u * unit))
    for i, nr in enumerate(problem.numbers):
        a, n = found[nr], differences[nr].reshape(-1)
        if not close(a, n, problem.atol * float(u.sum()), problem.rtol):
            whole = _jacobians(problem, j, unit)[nr], problem.numerical(x, unit)[nr]
            raise _mismatch(problem, i, j, *whole, unit, (a, n))


def _jacobians(problem: Problem, j: int, unit: Any) -> list[np.ndarray]:
    """For every output, the tangents for a tangent of ``unit`` in each element of input ``j``: a row each."""
    x = problem.wanted[j]
    tables: list[list[np.ndarray]] = []
    for k in range(x.numel()):
        seed = np.zeros(x._wg_data.shape, x._wg_data.dtype)
        seed.reshape(-1)[k] = unit
        tables.append(jvp(problem, _only(problem, j, seed)))
    if not tables:
        return [np.zeros((0, int(np.prod(shape)))) for shape, _ in problem.shapes]
    return [np.stack(column) for column in zip(*tables)]


def _only(problem: Problem, j: int, seed: Any) -> list[Any]:
    """Tangents of zero for all inputs but ``j``."""
    return [
        like(x, np.asarray(seed, x._wg_data.dtype)) if k == j else like(x, np.zeros(x._wg_data.shape, x._wg_data.dtype))
        for k, x in enumerate(problem.wanted)
    ]


def jvp(problem: Problem, tangents: Sequence[Any]) -> list[np.ndarray]:
    """The tangents of all outputs, flat (zeros where there is none)."""
    answer = []
    for nr, (primal, tangent) in enumerate(_unpacked(problem, dict(zip(problem.where, tangents)))):
        shape, dtype = problem.shapes[nr]
        if tangent is None:
            answer.append(np.zeros(int(np.prod(shape)), dtype if dtype.kind in "fcVW" else "f8"))
            continue
        if problem.dtypes and primal.is_complex() != tangent.is_complex():
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        answer.append(np.ravel(dense(tangent)))
    return answer


def _unpacked(problem: Problem, tangents: dict[int, Any]) -> list[tuple[Any, Any]]:
    """``(value, tangent or None)`` of all outputs; ``tangents``: by the inputs' positions, others have none."""
    with dual_level():
        given = [x.detach() if isinstance(x, Tensor) else x for x in problem.inputs]
        for i, tangent in tangents.items():
            given[i] = make_dual(given[i], tangent)
        return [tuple(unpack_dual(o)) for o in row(problem.func(*given))]  # type: ignore[misc]


def _mismatch(problem: Problem, i: int, j: int, a: Any, n: Any, unit: Any, fast: Any = None) -> GradcheckError:
    kind = "Jacobian computed with forward mode "
    if problem.wanted[j].is_complex():
        kind = f"While considering the {'imaginary' if unit == 1j else 'real'} part of complex inputs only, " + kind
    return mismatch(problem, i, j, a, n, kind, units=(unit,), fast=fast)


# -- what else a tangent must do ---------------------------------------------------------------------------------------


def undefined(problem: Problem) -> None:
    """An input without a tangent counts as one whose tangent is zero."""
    random = np.random.default_rng(2147483647)
    vectors = {i: like(x, np.asarray(direction(random, x), x._wg_data.dtype))
        for i, x in zip(problem.where, problem.wanted)}
    for i, x in zip(problem.where, problem.wanted):
        zero = like(x, np.zeros(x._wg_data.shape, x._wg_data.dtype))
        with_zero = _unpacked(problem, {**vectors, i: zero})
        without = _unpacked(problem, {k: v for k, v in vectors.items() if k != i})
        for nr, ((_, a), (_, b)) in enumerate(zip(with_zero, without)):
            if a is not None and b is not None and not close(dense(a), dense(b), 1e-8, 1e-5):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {nr} when input: {x} has an undefined tangent "
                    f"value.  Got: {a} but expected: {b}"
                )


def batched(problem: Problem) -> None:
    """Tangents mapped by ``vmap`` give what they give one after another.

    ``vmap`` takes the examples one by one, so that a batch of one shows all that can go wrong.
    """
    from ...func.mapping import _mapped

    for i, x in zip(problem.where, problem.wanted):
        def run(tangent: Any, i: int = i) -> tuple[Any, ...]:
            return tuple(wrap(np.zeros(p._wg_data.shape, p._wg_data.dtype)) if t is None else t
                for p, t in _unpacked(problem, {i: tangent}))

        tangents = [randn_like(x.detach()) for _ in range(2)]
        expected = [run(t) for t in tangents]
        before = get_rng_state()
        try:
            together = _mapped(run, randomness="different", directions=True)(function("stack")(tangents[:1]))
            if bool((get_rng_state() != before).any()):
                raise RuntimeError(RANDOM)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{BATCHED_FORWARD}") from error
        for nr, (got, want) in enumerate(zip(together, expected[0])):
            if not close(dense(got)[0], dense(want), 1e-8, 1e-5):
                raise GradcheckError(f"For output {nr} and input "
                    f"{nr}:\n\n{BATCHED_FORWARD}\n\nGot:\n{got[0]}\n\nExpected:\n{want}")
