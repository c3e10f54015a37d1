"""L-BFGS, with a line search for the strong Wolfe conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.arrays.array_likes import FOREIGN
from wengert.graph import enable_grad, set_grad_enabled
from wengert.tensor import Tensor, wrap
from wengert.tensor.functions import function

from ._per_parameter import check, number, watched
from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .optimizer import ParamsT

    Objective = Callable[[Any], tuple[float, np.ndarray]]

__all__ = ["LBFGS"]


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """The minimum of the cubic with values ``f`` and slopes ``g`` at ``x1`` and ``x2``, kept within ``bounds``.

    Nocedal and Wright, "Numerical Optimization", 2006, equation 3.59.
    """
    low, high = bounds or ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    under_root = d1**2 - g1 * g2
    if not under_root >= 0:
        return (low + high) / 2.0
    d2 = under_root.sqrt() if isinstance(under_root, Tensor) else np.sqrt(under_root)
    if x1 <= x2:
        best = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        best = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(best, low), high)


class _Point(NamedTuple):
    """A step length, and value, gradient and slope there."""

    t: Any
    f: Any
    g: np.ndarray
    slope: Any

    def minimum(self, other: _Point, bounds: Any = None) -> Any:
        return _cubic_interpolate(self.t, self.f, self.slope, other.t, other.f, other.slope, bounds)


class _LineSearch:
    """A search along ``d`` for a step that satisfies the strong Wolfe conditions (Nocedal and Wright 2006, algorithms
    3.5, 3.6).

    ``evaluate(t)`` gives value and gradient at step length ``t``; ``start`` is the point at 0, ``most`` how often to
    go on.
    """

    c1, c2, tolerance_change = 1e-4, 0.9, 1e-9

    def __init__(self, evaluate: Objective, d: np.ndarray, start: _Point, most: int) -> None:
        self.evaluate, self.d, self.start, self.most = evaluate, d, start, most
        self.evaluations = 0

    def at(self, t: Any) -> _Point:
        """The point at step length ``t``."""
        self.evaluations += 1
        f, g = self.evaluate(t)
        return _Point(t, f, g, _dot(g, self.d))

    def too_high(self, point: _Point, limit: Any) -> bool:
        return point.f > self.start.f + self.c1 * point.t * self.start.slope or point.f >= limit

    def flat(self, point: _Point) -> bool:
        return abs(point.slope) <= -self.c2 * self.start.slope

    def run(self, t: Any) -> tuple[_Point, int]:
        """The point found, from step length ``t`` on, and the number of evaluations."""
        bracket = self.bracket(t)
        return (bracket[0] if len(bracket) == 1 else self.zoom(bracket)), self.evaluations

    def bracket(self, t: Any) -> list[_Point]:
        """An interval that holds a good point, or that point: the step grows until the function turns up."""
        new, previous = self.at(t), self.start
        while self.evaluations <= self.most:
            limit = previous.f if self.evaluations > 2 else np.inf
            if self.too_high(new, limit) or (not self.flat(new) and new.slope >= 0):
                return [previous, new]
            if self.flat(new):
                return [new]
            bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
            previous, new = new, self.at(previous.minimum(new, bounds))
        return [self.start, new]

    def zoom(self, bracket: list[_Point]) -> _Point:
        """Shrink the bracket around its lower end."""
        low, high = (0, 1) if bracket[0].f <= bracket[-1].f else (1, 0)
        size = _largest(self.d)
        stalled = False
        while self.evaluations <= self.most:
            if abs(bracket[1].t - bracket[0].t) * size < self.tolerance_change:
                break
            t = bracket[0].minimum(bracket[1])
            left, right = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
            margin = 0.1 * (right - left)
            if min(right - t, t - left) >= margin:
                stalled = False
            elif stalled or t >= right or t <= left:  # hardly any progress: twice in a row, or at an end, step inside
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
            new = self.at(t)
            if self.too_high(new, bracket[low].f):
                bracket[high] = new
                low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
                continue
            if self.flat(new):
                return new
            if new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
        return bracket[low]


def _strong_wolfe(obj_func: Callable[[Any, Any, Any], tuple[float, Any]], x: Any, t: Any, d: Any, f: Any, g: Any,
        gtd: Any, c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
        max_ls: int = 25) -> tuple[Any, Any, Any, int]:
    """Value, gradient and step length that the line search finds from ``x`` along ``d``, and its evaluations."""
    search = _LineSearch(lambda t: obj_func(x, t, d), d, _Point(0, f, g, gtd), max_ls)
    search.c1, search.c2, search.tolerance_change = c1, c2, tolerance_change
    found, evaluations = search.run(t)
    return found.f, found.g, found.t, evaluations


class LBFGS(Optimizer):
    """L-BFGS: quasi-Newton steps from the last ``history_size`` changes of parameters and gradients.

    ``step`` needs a closure that clears the gradients, computes the loss, calls ``backward`` and returns the loss; it
    is called several times a step.  There can be only one parameter group.  Nocedal and Wright, "Numerical
    Optimization", 2006, algorithm 7.4. ``lr``: length of a step along the quasi-Newton direction, or first length tried
    by the line search (``line_search_fn``: None or ``"strong_wolfe"``). A step makes at most ``max_iter`` iterations
    and ``max_eval`` (``max_iter * 5 // 4``) evaluations; it stops at a gradient whose elements are all as small as
    ``tolerance_grad``, or at a change of loss or parameters as small as ``tolerance_change``.

    >>> w = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> round(optimizer.step(closure).item(), 3), bool(torch.allclose(w, torch.ones(2)))
    (13.0, True)
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
            tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
            line_search_fn: str | None = None) -> None:
        check(lr=lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # -- all parameters as one real vector --------------------------------------------------------------------------

    def _flat_grad(self) -> Any:
        parts: list[Any] = []
        if _in_tensors(self._params):  # their classes compute
            for p in self._params:
                part = (p.new_zeros(p.numel()) if p.grad is None
                    else (p.grad.to_dense() if p.grad.is_sparse else p.grad).reshape(-1))
                parts.append(function("view_as_real")(part).reshape(-1) if part.is_complex() else part)
            return function("cat")(parts)
        for p in self._params:
            if p.grad is None:
                part = np.zeros(p._wg_data.size, p._wg_data.dtype)
            else:
                part = (p.grad.to_dense() if p.grad.is_sparse else p.grad)._wg_data.reshape(-1)
            parts.append(part.view(part.real.dtype) if part.dtype.kind == "c" else part)
        return np.concatenate(parts)

    def _move(self, t: Any, d: np.ndarray) -> None:
        start = 0
        tensors = isinstance(d, Tensor)
        for p in self._params:
            a = p._wg_data
            n = a.size * (2 if a.dtype.kind == "c" else 1)
            part = d[start : start + n]
            start += n
            if tensors:
                p.add_((function("view_as_complex")(part.reshape(-1, 2)) if p.is_complex() else part).reshape(p.shape),
                    alpha=float(t))
                continue
            change = (part.view(a.dtype) if a.dtype.kind == "c" else part).reshape(a.shape)
            a[...] += change.dtype.type(t) * change
            p._wg_vc[0] += 1

    def _evaluator(self, closure: Callable[[], Any], d: np.ndarray) -> Objective:
        tensors = _in_tensors(self._params)
        saved = [p.detach().clone() if tensors else p._wg_data.copy() for p in self._params]

        def evaluate(t: Any) -> tuple[float, np.ndarray]:
            self._move(t, d)
            loss = float(closure())
            grad = self._flat_grad()
            for p, before in zip(self._params, saved):
                if tensors:
                    p.copy_(before)
                    continue
                p._wg_data[...] = before
                p._wg_vc[0] += 1
            return loss, grad

        return evaluate

    # -- the step ---------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimise for up to ``max_iter`` iterations; gives the loss at the start."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        with np.errstate(all="ignore"), set_grad_enabled(False):
            return self._minimise(enable_grad()(closure))

    def _minimise(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, line_search = number(group["lr"]), group["line_search_fn"]
        max_iter, max_eval = group["max_iter"], group["max_eval"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        if line_search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")

        state = self.state[self._params[0]]  # the state is global, but loading casts it as this parameter's
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        state["func_evals"] += 1
        evaluations = 1
        grad = self._flat_grad()
        if _largest(grad) <= tolerance_grad:
            return first_loss

        memory = _Memory(state, group["history_size"])
        t, previous_loss = _array(state.get("t")), state.get("prev_loss")
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            d = memory.direction(grad, t)
            memory.previous, previous_loss = grad.clone() if isinstance(grad, Tensor) else grad.copy(), loss
            t = min(1.0, 1.0 / _size(grad)) * lr if state["n_iter"] == 1 else lr
            slope = _dot(grad, d)
            if slope > -tolerance_change:
                break
            made = 0
            done = False
            if line_search is not None:
                found, made = _LineSearch(self._evaluator(closure, d), d, _Point(0, loss, grad, slope),
                    max_eval - evaluations).run(t)
                loss, grad, t = found.f, found.g, found.t
                self._move(t, d)
                done = _largest(grad) <= tolerance_grad
            else:
                self._move(t, d)
                if iteration != max_iter:  # in a stochastic setting the last evaluation would be for nothing
                    loss, grad, made = float(closure()), self._flat_grad(), 1
                    done = _largest(grad) <= tolerance_grad
            evaluations += made
            state["func_evals"] += made
            if evaluations >= max_eval or done or _largest(d * t) <= tolerance_change:
                break
            if abs(loss - previous_loss) < tolerance_change:
                break
        memory.store(state, t)
        state["prev_loss"] = previous_loss
        return first_loss


def _in_tensors(params: Any) -> bool:
    """Whether vectors are tensors: where classes of parameters compute, and on devices."""
    return watched(params) or any(type(p._wg_data) in FOREIGN for p in params)


def _array(value: Any) -> Any:
    """State as arithmetic takes it: vectors as arrays, single numbers as NumPy scalars."""
    if not isinstance(value, Tensor) or value._wg_opaque or type(value._wg_data) in FOREIGN:
        return value
    return value._wg_data[()]


# Operations on a vector, which is an array or a tensor whose class computes.


def _dot(a: Any, b: Any) -> Any:
    return float(a.dot(b)) if isinstance(a, Tensor) else np.dot(a, b)


def _largest(a: Any) -> Any:
    return float(a.abs().max()) if isinstance(a, Tensor) else np.abs(a).max()


def _size(a: Any) -> Any:
    return float(a.abs().sum()) if isinstance(a, Tensor) else np.abs(a).sum()


def _tensor(value: Any) -> Any:
    """Arrays and NumPy scalars as tensors, Python numbers as they are; lists element by element."""
    if isinstance(value, list):
        return [_tensor(x) for x in value]
    return wrap(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


class _Memory:
    """The last changes of gradient and parameters, which stand for the inverse Hessian."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.d, self.scale, self.previous = (_array(state.get(n)) for n in ("d", "H_diag", "prev_flat_grad"))
        self.dirs, self.stps, self.ro, self.al = ([_array(x) for x in state.get(n) or ()]
            for n in ("old_dirs", "old_stps", "ro", "al"))

    def direction(self, grad: np.ndarray, t: Any) -> np.ndarray:
        """Remember the last step, of length ``t``, and give the quasi-Newton direction at ``grad``."""
        if self.previous is None:
            self.d, self.scale = -grad, 1
            return self.d
        y, s = grad - self.previous, self.d * (float(t) if isinstance(self.d, Tensor) else self.d.dtype.type(t))
        ys = _dot(y, s)
        if ys > 1e-10:
            if len(self.dirs) == self.size:
                del self.dirs[0], self.stps[0], self.ro[0]
            self.dirs.append(y)
            self.stps.append(s)
            self.ro.append(1.0 / ys)
            self.scale = ys / _dot(y, y)
        # The two-loop recursion.
        if not self.al:
            self.al = [None] * self.size
        q = -grad
        for i in reversed(range(len(self.dirs))):
            self.al[i] = _dot(self.stps[i], q) * self.ro[i]
            q -= self.al[i] * self.dirs[i]
        q *= self.scale
        for i, (y, s) in enumerate(zip(self.dirs, self.stps)):
            q += (self.al[i] - _dot(y, q) * self.ro[i]) * s
        self.d = q
        return q

    def store(self, state: dict[str, Any], t: Any) -> None:
        """Put everything, and the length of the last step, into the optimizer's state, as tensors."""
        if self.al:
            state["al"] = _tensor(self.al)
        state.update(d=_tensor(self.d), t=_tensor(t), old_dirs=_tensor(self.dirs), old_stps=_tensor(self.stps),
            ro=_tensor(self.ro), H_diag=_tensor(self.scale), prev_flat_grad=_tensor(self.previous))
