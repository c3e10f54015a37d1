"""``gradcheck`` and ``gradgradcheck``: gradients compared with central differences, and a verdict where they differ.

The numerical Jacobian moves one element of one input at a time; the analytical one asks ``grad`` for one row per
element of the outputs. A complex output counts as two real functions, its real and its imaginary part; for a complex
input the derivative is ``d/dx + 1j * d/dy``, the convention of ``backward``.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor import Tensor, wrap
from ..tensor.backward import grad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Jacobian = np.ndarray  # (elements of the input, elements of the output)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_DOUBLE = (np.dtype("f8"), np.dtype("c16"))


class GradcheckError(RuntimeError):
    """What ``gradcheck`` found.

    ``verdict``: ``"wrong"`` (the gradient is), ``"kink"`` (the function is not differentiable there), ``"precision"``
    (the differences were too coarse to tell, and a better step agrees), ``"non-deterministic"``, or None where the
    failure is of another kind. ``index``: the worst element, ``(input, element of it, output, element of it)``, or None.
    """

    def __init__(self, message: str, verdict: str | None = None, index: Any = None) -> None:
        super().__init__(message)
        self.verdict, self.index = verdict, index


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False, check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients of ``func(*inputs)`` agree with central differences of step ``eps``; True, or an error.

    Checked are the inputs that require gradients, which should be float64 or complex128. Agreement means
    ``|analytical - numerical| <= atol + rtol * |numerical|`` for every element. ``fast_mode`` compares one random
    projection instead of every element. ``nondet_tol``: how much two backwards may differ. ``check_undefined_grad``:
    outputs whose gradient is undefined count as zero. ``check_batched_grad``: ``is_grads_batched`` gives the same.
    ``masked`` concerns sparse tensors only.

    Raises ``GradcheckError`` (False is returned instead under ``raise_exception=False``), ``ValueError`` if no input
    requires a gradient, ``RuntimeError`` for inputs with overlapping memory.

    >>> import wengert as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda t: t.exp() * t, x)
    True
    >>> from wengert.autograd.gradcheck import GradcheckError
    >>> x = torch.tensor([0.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> try:
    ...     torch.autograd.gradcheck(torch.relu, x)
    ... except GradcheckError as e:
    ...     e.verdict, e.index
    ('kink', (0, (0,), 0, (0,)))
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_forward_ad:
        raise NotImplementedError("gradcheck: forward-mode AD cannot be checked here; leave check_forward_ad=False to check the backward.")
    check = _Check(func, _row(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        check.jacobians(fast_mode)
        if check_batched_grad:
            check.batched()
        check.proportional()
        if check_undefined_grad:
            check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """``gradcheck`` of the gradients of ``func``: with respect to ``inputs`` and to ``grad_outputs`` (random if None).

    >>> import wengert as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda t: t.exp() * t, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    row = _row(inputs)
    if grad_outputs is None:
        vectors: tuple[Any, ...] = tuple(_random_like(o, gen_non_contig_grad_outputs) for o in _differentiable(func(*row)))
    else:
        vectors = _row(grad_outputs)
    count = len(vectors)
    wanted = [i for i, x in enumerate(row) if _checked(x)]
    live = [i for i, v in enumerate(vectors) if v.requires_grad]

    def gradients(*args: Any) -> tuple[Any, ...]:
        given, seeds = args[:-count], args[-count:]
        for i in wanted:
            given[i].requires_grad_()
        for i in live:
            seeds[i].requires_grad_()
        answer = grad(_differentiable(func(*given)), [given[i] for i in wanted], seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in answer if g is not None)

    return gradcheck(
        gradients, (*row, *vectors), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip


def _row(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _checked(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple(o for o in _row(outputs) if o.requires_grad)


def _random_like(o: Any, spread: bool) -> Any:
    """A random vector in the place of a gradient of ``o``; ``spread``: not contiguous in memory."""
    d = o._data.dtype if o._data.dtype.kind in "fcV" else np.dtype("f8")
    random = np.random.default_rng()
    a = random.uniform(-1, 1, o._data.shape)
    a = np.asarray(a + 1j * random.uniform(-1, 1, a.shape) if d.kind == "c" else a, d)
    if spread and a.ndim:
        a = np.repeat(a, 2, axis=-1)[..., ::2]
    return wrap(a).requires_grad_()


class Move:
    """A direction in one input: one element times a unit (1 or 1j), or the whole along an array."""

    __slots__ = ("array", "at", "unit")

    def __init__(self, x: Tensor, at: tuple[int, ...] | None, unit: Any) -> None:
        self.array, self.at, self.unit = x._data, ... if at is None else at, unit

    @contextmanager
    def by(self, step: float) -> Iterator[None]:
        """Inside, the input is moved by ``step`` along the direction: in its memory, so that closures see it too."""
        before = np.array(self.array[self.at])
        self.array[self.at] = before + step * self.unit
        try:
            yield
        finally:
            self.array[self.at] = before


class _Check:
    """One gradcheck: the function, where it is checked, and how closely."""

    def __init__(self, func: Any, inputs: Any, eps: float, atol: float, rtol: float, nondet_tol: float, dtypes: bool) -> None:
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol, self.dtypes = eps, atol, rtol, nondet_tol, dtypes
        self._check_inputs()
        self.wanted: list[Tensor] = [x for x in inputs if _checked(x)]
        answer = _row(func(*inputs))
        self.numbers = [i for i, o in enumerate(answer) if o.requires_grad]
        self.outputs = [answer[i] for i in self.numbers]
        self.ignored = [i for i, o in enumerate(answer) if not o.requires_grad]
        self.shapes = [(o._data.shape, o._data.dtype) for o in answer]

    def _check_inputs(self) -> None:
        import warnings

        for i, x in enumerate(self.inputs):
            if not _checked(x):
                continue
            if x._data.dtype not in _DOUBLE:
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely "
                    "fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )
            if any(s == 0 and n > 1 for s, n in zip(x._data.strides, x._data.shape)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able "
                    "to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
                    "gradcheck."
                )
        if not any(_checked(x) for x in self.inputs):
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
            )

    # -- both Jacobians -------------------------------------------------------------------------------------------

    def values(self) -> list[np.ndarray]:
        """The outputs for the inputs as they are now, as copies."""
        answer = [np.array(o._data) for o in _row(self.func(*self.inputs))]
        for (shape, dtype), a in zip(self.shapes, answer):
            for what, was, now in (("shape", shape, a.shape), ("dtype", dtype, a.dtype)):
                if was != now:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {self.eps}, but got: "
                        f"{what}s {was} and {now}."
                    )
        return answer

    def difference(self, move: Move) -> list[np.ndarray]:
        """The central difference of all outputs along ``move``."""
        with move.by(self.eps):
            above = self.values()
        with move.by(-self.eps):
            below = self.values()
        return [np.subtract(a, b, dtype=None if a.dtype.kind in "fcV" else "f8") / (2 * self.eps) for a, b in zip(above, below)]

    def numerical(self, x: Tensor) -> list[Any]:
        """For every output, what moving each element of ``x`` does to its real part and to its imaginary part."""
        rows = [self.difference(move) for move in _moves(x)]
        if not rows:
            return [np.zeros((0, int(np.prod(s)))) for s, _ in self.shapes]
        columns = [np.stack([np.ravel(r) for r in column]) for column in zip(*rows)]
        if x.is_complex():  # moves along the real and along the imaginary axis alternate
            return [(c[0::2], c[1::2]) for c in columns]
        return columns

    def analytical(self, output: Any, imaginary: bool) -> list[Jacobian]:
        """The Jacobian of one output for every input, from its rows: gradients of one element each."""
        first, second = (self._rows(output.clone(), imaginary) for _ in range(2))
        self._reproducible(first, second)
        return first

    def _reproducible(self, first: list[Any], second: list[Any]) -> None:
        for a, b in zip(first, second):
            if a.size and not np.max(np.abs(a - b)) <= self.nondet_tol and not (np.isnan(a) & np.isnan(b)).any():
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                    "values, although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {self.nondet_tol}.\nverdict: non-deterministic",
                    "non-deterministic",
                )

    def _rows(self, output: Any, imaginary: bool) -> list[Jacobian]:
        n = output.numel()
        found = [np.zeros((x.numel(), n), x._data.dtype) for x in self.wanted]
        for k in range(n):
            seed = np.zeros(output.shape, output._data.dtype)
            seed.reshape(-1)[k] = 1j if imaginary else 1
            for jacobian, x, g in zip(found, self.wanted, self.vjp(output, seed)):
                if g is not None:
                    self._fits(g, x)
                    jacobian[:, k] = np.ravel(g._data)
        return found

    def vjp(self, output: Any, seed: np.ndarray) -> Any:
        """The gradients of all inputs for the gradient ``seed`` of one output."""
        return grad(output, self.wanted, wrap(seed), retain_graph=True, allow_unused=True)

    def _fits(self, g: Any, x: Any) -> None:
        if self.dtypes and g.dtype != x.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
        if g.shape != x.shape:
            raise GradcheckError("Analytical gradient has incorrect size")

    # -- the comparison -------------------------------------------------------------------------------------------

    def jacobians(self, fast: bool) -> None:
        """Compare every output with every input, imaginary parts first."""
        if not self.outputs:
            for x in self.wanted:
                for n in self.numerical(x):
                    if any(np.any(part != 0) for part in (n if isinstance(n, tuple) else (n,))):
                        raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        if fast:
            self._projections()
            return
        tables = [self.numerical(x) for x in self.wanted]
        for part in ("imag", "real"):
            for i, (nr, output) in enumerate(zip(self.numbers, self.outputs)):
                if part == "imag" and not output.is_complex():
                    continue
                found = self.analytical(output, part == "imag")
                for j, a in enumerate(found):
                    n = _part(tables[j][nr], part)
                    if not _close(a, n, self.atol, self.rtol):
                        raise self.mismatch(i, j, a, n, part, "")

    def _projections(self) -> None:
        """Fast mode: ``v . J u`` for one random direction ``u`` of an input and one random ``v`` of an output."""
        random = np.random.default_rng(2147483647)
        directions = [_direction(random, x._data) for x in self.wanted]
        tables = [self.difference(Move(x, None, u)) for x, u in zip(self.wanted, directions)]
        for i, (nr, output) in enumerate(zip(self.numbers, self.outputs)):
            v = _direction(random, output._data.real)
            for part in ("imag", "real") if output.is_complex() else ("real",):
                seed = (1j * v if part == "imag" else v).astype(output._data.dtype)
                first, second = ([self._flat(g, x) for x, g in zip(self.wanted, self.vjp(output.clone(), seed))] for _ in range(2))
                self._reproducible(first, second)
                for j, (u, g) in enumerate(zip(directions, first)):
                    a = np.asarray(np.real(np.vdot(g, u.reshape(-1))))
                    n = np.asarray(np.sum(np.asarray(_part(tables[j][nr], part)) * v))
                    slack = self.atol * float(np.abs(u).sum()) * float(v.sum())
                    if not _close(a, n, slack, self.rtol):
                        raise self._after_fast(i, j, a, n, part)

    def _flat(self, g: Any, x: Any) -> np.ndarray:
        if g is None:
            return np.zeros(x.numel(), x._data.dtype)
        self._fits(g, x)
        return np.ravel(g._data)

    def _after_fast(self, i: int, j: int, a: Any, n: Any, part: str) -> GradcheckError:
        """The error of fast mode, with the whole Jacobians for a closer look."""
        numerical = _part(self.numerical(self.wanted[j])[self.numbers[i]], part)
        analytical = self._rows(self.outputs[i].clone(), part == "imag")[j]
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. Below, we recompute "
            f"numerical and analytical jacobians in slow mode:\n\nNumerical:\n {wrap(numerical)}\nAnalytical:\n{wrap(analytical)}\n\n"
            f"The max per-element difference (slow mode) is: {np.max(np.abs(numerical - analytical))}.\n"
        )
        if _close(analytical, numerical, self.atol, self.rtol):
            text += "Fast gradcheck failed but element-wise differences are small. The slow mode passes: call gradcheck with `fast_mode=False`.\n"
        return self.mismatch(i, j, analytical, numerical, part, text, (a, n))

    def mismatch(self, i: int, j: int, a: Any, n: Any, part: str, more: str, shown: Any = None) -> GradcheckError:
        """The error for output ``i`` and input ``j``: both Jacobians, the worst element, and what is the matter with it."""
        output, x = self.outputs[i], self.wanted[j]
        excess = np.abs(a - n) - (self.atol + self.rtol * np.abs(n))
        row, column = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)), a.shape)
        at = tuple(map(int, np.unravel_index(row, x._data.shape)))
        to = tuple(map(int, np.unravel_index(column, output._data.shape)))
        found, expected = a[row, column], n[row, column]
        unit = 1j if x.is_complex() and abs(found.imag - expected.imag) > abs(found.real - expected.real) else 1
        move = Move(x, at, unit)

        def f(step: float) -> float:
            with move.by(step):
                value = self.values()[self.numbers[i]][to]
            return float(value.imag if part == "imag" else value.real)

        from ._verdict import judge, pattern

        slope, quotient = (found.imag, expected.imag) if unit == 1j else (found.real, expected.real)
        verdict, why = "non-deterministic", "calls with the same inputs give different outputs"
        if self._deterministic():
            verdict, why = judge(f, float(slope), float(quotient), self.eps, self.atol, self.rtol, x._data, at)
        if verdict == "wrong":
            why += pattern(a, n, self.atol, self.rtol)
        show_a, show_n = (a, n) if shown is None else shown
        kind = f"While considering the {'imaginary' if part == 'imag' else 'real'} part of complex outputs only, " if output.is_complex() else ""
        return GradcheckError(
            f"{kind}Jacobian mismatch for output {i} with respect to input {j},\nnumerical:{wrap(np.asarray(show_n))}\n"
            f"analytical:{wrap(np.asarray(show_a))}\n{more}verdict: {verdict}: {why}\nworst at element {at} of input {j} and element "
            f"{to} of output {i}: numerical {expected}, analytical {found}",
            verdict,
            (j, at, i, to),
        )

    def _deterministic(self) -> bool:
        """Whether several calls give the same outputs (a coin thrown once may fall as before)."""
        first = self.values()
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for _ in range(4) for a, b in zip(first, self.values()))

    # -- what else a backward must do -----------------------------------------------------------------------------

    def batched(self) -> None:
        """``is_grads_batched`` gives what one vector after another gives."""
        for i, output in enumerate(self.outputs):
            seeds = [_random_like(output, False).detach() for _ in range(2)]
            stacked = wrap(np.stack([s._data for s in seeds]))
            one_by_one = [self.vjp(output, s._data) for s in seeds]
            try:
                together = grad(output, self.wanted, stacked, retain_graph=True, allow_unused=True, is_grads_batched=True)
            except RuntimeError as error:
                raise GradcheckError(f"While computing batched gradients, got: {error}") from error
            for j, got in enumerate(together):
                want = [row[j] for row in one_by_one]
                if got is not None and not np.allclose(got._data, np.stack([w._data for w in want]), rtol=1e-5, atol=1e-8):
                    raise GradcheckError(f"For output {i} and input {j}: batched gradients differ from gradients computed one by one.")

    def proportional(self) -> None:
        """A gradient of zero gives zeros."""
        if not self.outputs:
            return
        seeds = [wrap(np.zeros_like(o._data)) for o in self.outputs]
        for g, x in zip(grad(self.outputs, self.wanted, seeds, retain_graph=True, allow_unused=True), self.wanted):
            if g is None:
                continue
            if np.any(g._data != 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype != x.dtype:
                raise GradcheckError("grad is incorrect type")
            if g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    def undefined(self) -> None:
        """Outputs may have no gradient: all of them at once, and each alone."""
        if not self.outputs:
            return
        undef = _undefined()
        count = len(self.outputs)
        for only in (None, *(range(count) if count > 1 else ())):
            outputs = [undef(o) if only in (None, k) else o for k, o in enumerate(_differentiable(self.func(*self.inputs)))]
            seeds = [wrap(np.zeros_like(o._data)) for o in outputs]
            try:
                grads = grad(outputs, self.wanted, seeds, allow_unused=True)
            except RuntimeError as error:
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads: set_materialize_grads(False) means that None can arrive."
                ) from error
            if any(g is not None and np.any(g._data != 0) for g in grads):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                )


def _undefined() -> Any:
    """The identity whose backward gives no gradient."""
    from .function import Function

    class Undefined(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    return Undefined.apply


def _moves(x: Tensor) -> Iterator[Move]:
    for at in np.ndindex(x._data.shape):
        yield Move(x, at, 1)
        if x.is_complex():
            yield Move(x, at, 1j)


def _direction(random: Any, like: np.ndarray) -> np.ndarray:
    """A random unit vector with positive elements."""
    a = random.uniform(0.1, 1, like.shape)
    if like.dtype.kind == "c":
        a = a + 1j * random.uniform(0.1, 1, like.shape)
    return np.asarray(a / max(float(np.linalg.norm(a)), 1e-30))


def _part(n: Any, part: str) -> np.ndarray:
    """The real or imaginary part of an output's differences; for a complex input ``d/dx + 1j * d/dy``."""
    pick = np.imag if part == "imag" else np.real
    return pick(n[0]) + 1j * pick(n[1]) if isinstance(n, tuple) else pick(n)


def _close(a: Any, n: Any, atol: float, rtol: float) -> bool:
    return bool(np.all((a == n) | (np.abs(a - n) <= atol + rtol * np.abs(n))))
