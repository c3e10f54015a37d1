"""L-BFGS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as torch
from wengert.optim import lbfgs


def rosenbrock(dtype: Any = None) -> tuple[Any, Any]:
    p = torch.tensor([-1.2, 1.0], dtype=dtype or torch.float64, requires_grad=True)

    def loss() -> Any:
        return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2

    return p, loss


def closure_of(optimizer: Any, loss: Any) -> Any:
    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    return closure


def test_rosenbrock_with_line_search() -> None:
    p, loss = rosenbrock()
    o = torch.optim.LBFGS([p], line_search_fn="strong_wolfe", max_iter=100, tolerance_change=1e-16)
    first = o.step(closure_of(o, loss))
    assert first.item() == pytest.approx(24.2)
    np.testing.assert_allclose(p.detach().numpy(), [1.0, 1.0], atol=1e-6)


def test_a_quadratic_without_line_search() -> None:
    torch.manual_seed(0)
    a = torch.randn(6, 6, dtype=torch.float64)
    a = a @ a.T + torch.eye(6, dtype=torch.float64)
    b = torch.randn(6, dtype=torch.float64)
    p, q = (torch.zeros(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    o = torch.optim.LBFGS([p, q], max_iter=100, tolerance_grad=1e-10, tolerance_change=1e-14)

    def loss() -> Any:
        x = torch.cat([p, q])
        return 0.5 * x @ a @ x - b @ x

    o.step(closure_of(o, loss))
    x = torch.cat([p, q]).detach().numpy()
    np.testing.assert_allclose(a.numpy() @ x, b.numpy(), atol=1e-8)


def test_evaluations_are_counted_and_bounded() -> None:
    p, loss = rosenbrock()
    o = torch.optim.LBFGS([p], max_iter=50, max_eval=7, line_search_fn="strong_wolfe")
    calls = []

    def counted() -> Any:
        calls.append(1)
        return loss()

    o.step(closure_of(o, counted))
    assert o.state[p]["func_evals"] == len(calls)
    assert len(calls) <= 8


def test_history_is_limited() -> None:
    p, loss = rosenbrock()
    o = torch.optim.LBFGS([p], max_iter=30, history_size=3, line_search_fn="strong_wolfe")
    o.step(closure_of(o, loss))
    assert len(o.state[p]["old_dirs"]) == len(o.state[p]["ro"]) == 3


def test_it_stops_at_the_minimum() -> None:
    p = torch.zeros(2, requires_grad=True)
    o = torch.optim.LBFGS([p])
    assert o.step(closure_of(o, lambda: (p * p).sum())).item() == 0.0
    assert o.state[p]["n_iter"] == 0


def test_parameters_without_gradient_do_not_move() -> None:
    p, q = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    o = torch.optim.LBFGS([p, q], line_search_fn="strong_wolfe")
    o.step(closure_of(o, lambda: ((p - 3) ** 2).sum()))
    np.testing.assert_allclose(p.detach().numpy(), 3.0, rtol=1e-6)
    assert q.tolist() == [1.0] * 3


def test_complex_parameters() -> None:
    p = torch.tensor([1 + 2j, -3j], requires_grad=True)
    o = torch.optim.LBFGS([p], line_search_fn="strong_wolfe")
    o.step(closure_of(o, lambda: ((p - (2 - 1j)).abs() ** 2).sum()))
    np.testing.assert_allclose(p.detach().numpy(), 2 - 1j, rtol=1e-5)


def test_refusals() -> None:
    p = torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        torch.optim.LBFGS([{"params": [p]}, {"params": [torch.ones(1, requires_grad=True)]}])
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        torch.optim.LBFGS([p], lr=-1)
    o = torch.optim.LBFGS([p], line_search_fn="golden")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        o.step(closure_of(o, lambda: (p * p).sum()))


@pytest.mark.parametrize("seed", range(5))
def test_cubic_interpolation(seed: int) -> None:
    """The minimum of a cubic from its values and slopes at two points."""
    rng = np.random.default_rng(seed)
    c = rng.standard_normal(4)
    c[3] = abs(c[3]) + 0.1
    c[1] = -abs(c[1]) - 0.1  # falls at 0: a minimum to the right
    f, g = np.polynomial.Polynomial(c), np.polynomial.Polynomial(c).deriv()
    minimum = g.roots().max()
    points = (0.0, minimum * 2)
    for x1, x2 in (points, points[::-1]):
        found = lbfgs._cubic_interpolate(x1, f(x1), g(x1), x2, f(x2), g(x2))
        assert found == pytest.approx(minimum)
    assert lbfgs._cubic_interpolate(0.0, 0.0, 1.0, 1.0, 10.0, 1.0, bounds=(0.0, 4.0)) in (0.0, 2.0, 4.0)


def test_the_line_search_on_its_own():
    seen = []

    def objective(x, t, d):
        point = (x + t * d).requires_grad_()
        value = (point**4 - 3 * point**2 + point).sum()
        seen.append(float(t))
        return float(value), torch.autograd.grad(value, point)[0]

    x = torch.tensor([2.0, -0.5], dtype=torch.float64)
    f, g = objective(x, 0.0, torch.zeros_like(x))
    given = (1.0, {}), (0.001, {}), (1e-3, {"c2": 0.1}), (5.0, {"max_ls": 2}), (0.3, {"tolerance_change": 10})
    for t, kwargs in given:
        del seen[:]
        value, gradient, step, evaluations = lbfgs._strong_wolfe(objective, x, t, -g, f, g, g.dot(-g), **kwargs)
        assert evaluations == len(seen) and float(step) in [0.0, *seen]
        at = objective(x, float(step), -g)
        assert value == pytest.approx(at[0]) and torch.allclose(gradient, at[1])
        if len(kwargs) == 0 or "c2" in kwargs:
            assert value <= f - 1e-4 * float(step) * float(g.dot(g))
            assert abs(float(at[1].dot(g))) <= kwargs.get("c2", 0.9) * float(g.dot(g))


def test_cubic_interpolation_of_slopes_that_are_tensors():
    slopes = torch.tensor(-2.0), torch.tensor(3.0)
    assert float(lbfgs._cubic_interpolate(0, 1.0, slopes[0], 1.0, 1.5, slopes[1])) == pytest.approx(0.4)
    assert lbfgs._cubic_interpolate(0, 1.0, slopes[0], 1.0, 1.5, slopes[1], (0.6, 0.9)) == 0.6
