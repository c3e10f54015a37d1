"""Gradients that ``backward`` gives, compared with differences; and further checks of a backward.

A complex output counts as two real functions, its real and its imaginary part; for a complex input the derivative is
``d/dx + 1j * d/dy``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...functions.generators import get_rng_state
from ...functions.random import randn_like
from ...tensor import wrap
from ...tensor.functions import function
from .._entry_points import grad
from .error import ALL_ZERO, BATCHED, HANDLED, OF_UNDEFINED, RANDOM, UNDEFINED_IS_CHECKED, GradcheckError
from .problem import Move, Problem, close, dense, differentiable, direction, is_sparse, like, same, spread, stored
from .report import mismatch


def check(problem: Problem, fast: bool) -> None:
    """Compare every output with every input, imaginary parts first."""
    if not problem.outputs:
        _constant(problem, fast)
    elif fast:
        _projections(problem)
    else:
        _jacobians(problem)


def _constant(problem: Problem, fast: bool) -> None:
    """No output has a gradient: none may depend on the inputs."""
    random = np.random.default_rng(2147483647)
    for x in problem.moved:
        units = (1, 1j) if x.is_complex() else (1,)
        if fast:
            tables = [d for unit in units
                for d in problem.difference(Move(stored(x), None, direction(random, x, real=True) * unit))]
        else:
            tables = [d for unit in units for d in problem.numerical(x, unit)]
        if any(np.any(np.abs(d) > (problem.nondet_tol if fast else 0)) for d in tables):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def numerical(problem: Problem, x: Any) -> list[tuple[np.ndarray, ...]]:
    """For every output, what moving each element of ``x`` does; for a complex ``x``, along the real and the imaginary
    axis.
    """
    return list(zip(*(problem.numerical(x, unit) for unit in ((1, 1j) if x.is_complex() else (1,)))))


def part_of(n: tuple[np.ndarray, ...], part: str) -> np.ndarray:
    """The real or imaginary part of an output's differences; for a complex input ``d/dx + 1j * d/dy``."""
    pick = np.imag if part == "imag" else np.real
    return pick(n[0]) + 1j * pick(n[1]) if len(n) == 2 else pick(n[0])


def rows(output: Any, inputs: list[Any], imaginary: bool = False, dtypes: bool = False) -> list[np.ndarray]:
    """The Jacobian of one output for every input, ``(elements of the input, elements of the output)``, row by row."""
    n = output.numel()
    found = [np.zeros((x.numel(), n), x._wg_data.dtype) for x in inputs]
    for k in range(n):
        seed = np.zeros(output.shape, output._wg_data.dtype)
        seed.reshape(-1)[k] = 1j if imaginary else 1
        for jacobian, x, g in zip(found, inputs, vjp(output, inputs, seed)):
            if g is not None:
                jacobian[:, k] = _fitting(g, x, dtypes)
    return found


def vjp(output: Any, inputs: list[Any], seed: np.ndarray) -> Any:
    """The gradients of all inputs for the gradient ``seed`` of one output."""
    return grad(output, inputs, like(output, seed), retain_graph=True, allow_unused=True)


def _fitting(g: Any, x: Any, dtypes: bool) -> np.ndarray:
    """The elements of a gradient of ``x``, flat (zeros for None)."""
    if g is None:
        return np.zeros(x.numel(), x._wg_data.dtype)
    if dtypes and g.dtype != x.dtype:
        raise GradcheckError("Gradient has dtype mismatch")
    if g.shape != x.shape:
        raise GradcheckError("Analytical gradient has incorrect size")
    return np.ravel(dense(g))


def _reproducible(problem: Problem, first: list[Any], second: list[Any]) -> None:
    if not same(first, second, problem.nondet_tol):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, although analytical gradient matches numerical gradient."
            f"The tolerance for nondeterminism was {problem.nondet_tol}: if the differences are meant to be, pass a "
            "larger nondet_tol.\nverdict: non-deterministic",
            "non-deterministic",
        )


def _jacobians(problem: Problem) -> None:
    tables = [numerical(problem, x) for x in problem.moved]
    for part in ("imag", "real"):
        for i, (nr, output) in enumerate(zip(problem.numbers, problem.outputs)):
            if part == "imag" and not output.is_complex():
                continue
            found, again = (rows(output.clone(), problem.wanted, part == "imag", problem.dtypes) for _ in range(2))
            _reproducible(problem, found, again)
            for j, a in enumerate(found):
                n = part_of(tables[j][nr], part)
                if not close(a, n, problem.atol, problem.rtol):
                    raise _mismatch(problem, i, j, a, n, part)


def _projections(problem: Problem) -> None:
    """Fast mode: ``v . J u`` for one random direction ``u`` of an input and one random ``v`` of an output."""
    random = np.random.default_rng(2147483647)
    directions = [direction(random, x) for x in problem.moved]
    tables = [problem.difference(Move(stored(x), None, u)) for x, u in zip(problem.moved, directions)]
    flat = [spread(u, x) for x, u in zip(problem.moved, directions)]
    for i, (nr, output) in enumerate(zip(problem.numbers, problem.outputs)):
        v = direction(random, output, real=True)
        for part in ("imag", "real") if output.is_complex() else ("real",):
            seed = (1j * v if part == "imag" else v).astype(output._wg_data.dtype)
            first, second = (
                [_fitting(g, x, problem.dtypes)
                    for x, g in zip(problem.wanted, vjp(output.clone(), problem.wanted, seed))] for _ in range(2)
            )
            _reproducible(problem, first, second)
            for j, (u, g) in enumerate(zip(flat, first)):
                a = np.asarray(np.real(np.vdot(g, u)))
                n = np.asarray(np.sum(part_of((tables[j][nr],), part) * v))
                slack = problem.atol * float(np.sum(u.real) + np.sum(u.imag)) * float(v.sum())
                if not close(a, n, slack, problem.rtol):
                    whole = part_of(numerical(problem, problem.moved[j])[nr], part)
                    raise _mismatch(problem, i, j, rows(output.clone(), problem.wanted, part == "imag")[j], whole, part,
                        (a, n))


def _mismatch(problem: Problem, i: int, j: int, a: Any, n: Any, part: str, fast: Any = None) -> GradcheckError:
    kind = "Jacobian "
    if problem.outputs[i].is_complex():
        kind = (f"While considering the {'imaginary' if part == 'imag' else 'real'} part of complex outputs "
            "only, " + kind)
    units = (1, 1j) if problem.moved[j].is_complex() else (1,)
    return mismatch(problem, i, j, a, n, kind, imaginary=part == "imag", units=units, fast=fast)


# -- what else a backward must do --------------------------------------------------------------------------------------


def batched(problem: Problem) -> None:
    """``is_grads_batched`` gives what one vector after another gives."""
    for i, output in enumerate(problem.outputs):
        seeds = [randn_like(output.detach()) for _ in range(2)]
        one_by_one = [vjp(output, problem.wanted, dense(s)) for s in seeds]
        before = get_rng_state()
        try:
            together = grad(output, problem.wanted, function("stack")(seeds), retain_graph=True, allow_unused=True,
                is_grads_batched=True)
            if bool((get_rng_state() != before).any()):
                raise RuntimeError(RANDOM)
            if any(g is not None and is_sparse(g) for g in together):
                raise RuntimeError("sparse gradients cannot be stacked")
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{BATCHED}") from error
        for j, got in enumerate(together):
            if got is None:
                continue
            want = np.stack([_fitting(g[j], problem.wanted[j], False).reshape(got.shape[1:]) for g in one_by_one])
            if not close(dense(got), want, 1e-8, 1e-5):
                raise GradcheckError(f"For output {i} and input "
                    f"{j}:\n\n{BATCHED}\n\nGot:\n{got}\n\nExpected:\n{wrap(want)}")


def proportional(problem: Problem) -> None:
    """A gradient of zero gives zeros, of the input's kind."""
    if not problem.outputs:
        return
    seeds = [like(o, np.zeros(o._wg_data.shape, o._wg_data.dtype)) for o in problem.outputs]
    for g, x in zip(grad(problem.outputs, problem.wanted, seeds, allow_unused=True), problem.wanted):
        if g is None:
            continue
        if is_sparse(g):
            if g.layout is not x.layout:
                raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
            for what in ("sparse_dim", "dense_dim"):
                found, expected = getattr(g, what)(), getattr(x, what)()
                if found != expected:
                    raise GradcheckError(f"grad is sparse tensor, but has incorrect {what} {found}, expected "
                        f"{expected}")
        if np.any(np.abs(dense(g)) > (1e-8 if problem.masked else 0)):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype != x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


def undefined(problem: Problem) -> None:
    """Outputs may have no gradient: all of them at once, and each alone."""
    if not problem.outputs:
        return
    from ..function import Function

    class Undefined(Function):  # the identity whose backward gives no gradient
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    count = len(problem.outputs)
    for only in (None, *(range(count) if count > 1 else ())):
        answer = differentiable(problem.func(*problem.inputs))
        outputs = [Undefined.apply(o) if only in (None, k) else o for k, o in enumerate(answer)]
        seeds = [like(o, np.zeros(o._wg_data.shape, o._wg_data.dtype)) for o in outputs]
        cause = None
        try:
            grads = grad(outputs, problem.wanted, seeds, allow_unused=True)
        except RuntimeError as error:
            cause = error
        if cause is not None or any(g is not None and np.any(dense(g) != 0) for g in grads):
            warnings.warn(UNDEFINED_IS_CHECKED, stacklevel=3)
            raise GradcheckError(f"Expected {ALL_ZERO if cause is None else HANDLED}. {OF_UNDEFINED}") from cause
