"""Forward mode at the points where a function has no single derivative, and of matrices whose tangents are not of their
kind.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

INF, NAN = math.inf, math.nan


def pushed(torch: Any, f: Any, *pairs: tuple[Any, Any]) -> Any:
    """The tangent of ``f`` at the first of each pair along the second, as numbers."""
    primals, tangents = ([torch.tensor(v, dtype=torch.float64) for v in row] for row in zip(*pairs))
    found = torch.func.jvp(f, tuple(primals), tuple(tangents))[1]
    return [t.tolist() for t in found] if isinstance(found, tuple) else found.tolist()


def alike(found: Any, expected: Any) -> bool:
    return found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("keepdim", [False, True])
def test_a_standard_deviation_of_zero(torch: Any, keepdim: bool) -> None:
    x, t = [[2.0, 2.0], [1.0, 3.0]], [[1.0, 5.0], [1.0, 2.0]]
    found = pushed(torch, lambda x: x.std(1, keepdim=keepdim).reshape(-1), (x, t))
    assert alike(found, [0.0, math.sqrt(0.5)])
    both = pushed(torch, lambda x: tuple(torch.std_mean(x, dim=1)), (x, t))
    assert alike(both[0], [0.0, math.sqrt(0.5)]) and alike(both[1], [3.0, 1.5])
    assert pushed(torch, torch.std, ([3.0, 3.0, 3.0], [1.0, 2.0, 4.0])) == 0.0


def test_a_complex_standard_deviation_of_zero(torch: Any) -> None:
    x, t = torch.tensor([1j, 1j]), torch.tensor([1.0 + 2j, 3.0 - 1j])
    assert torch.func.jvp(torch.std, (x,), (t,))[1].item() == 0.0


@pytest.mark.parametrize(
    ("name", "x", "y", "expected"),
    [
        ("maximum", 1.0, 1.0, 0.25), ("maximum", 1.0, NAN, -0.5), ("maximum", NAN, 1.0, -0.5),
        ("maximum", 2.0, 1.0, 1.0), ("minimum", 1.0, 1.0, 0.25), ("minimum", 1.0, NAN, -0.5),
        ("minimum", 0.0, 1.0, 1.0), ("fmax", 1.0, 1.0, -0.5), ("fmax", 1.0, NAN, 1.0), ("fmax", 2.0, 1.0, 1.0),
        ("fmin", 1.0, 1.0, 1.0), ("fmin", 1.0, NAN, 1.0), ("atan2", 0.0, 0.0, NAN), ("atan2", 1.0, 0.0, 0.5),
        ("div", -1.0, 0.0, -INF), ("div", 1.0, 2.0, 0.625),
    ],
)
def test_two_arguments(torch: Any, name: str, x: float, y: float, expected: float) -> None:
    assert alike(pushed(torch, getattr(torch, name), (x, 1.0), (y, -0.5)), expected)


@pytest.mark.parametrize(("x", "expected"), [(0.0, 20.0), (1.0, 1.0), (1.5, 1.0), (2.0, 1.0), (3.0, 300.0)])
def test_between_limits(torch: Any, x: float, expected: float) -> None:
    assert pushed(torch, torch.clamp, (x, 1.0), (1.0, 20.0), (2.0, 300.0)) == expected


def test_at_crossed_and_single_limits(torch: Any) -> None:
    assert pushed(torch, torch.clamp, (1.5, 1.0), (3.0, 20.0), (2.0, 300.0)) == 300.0
    above = lambda x, m: torch.clamp(x, max=m)  # noqa: E731
    assert [pushed(torch, above, (x, 1.0), (1.0, 20.0)) for x in (0.0, 1.0, 2.0)] == [1.0, 20.0, 20.0]
    below = lambda x, m: torch.clamp(x, min=m)  # noqa: E731
    assert [pushed(torch, below, (x, 1.0), (1.0, 20.0)) for x in (0.0, 1.0, 2.0)] == [20.0, 20.0, 1.0]


@pytest.mark.parametrize("name", ["max", "min", "median"])
def test_the_extreme_of_all(torch: Any, name: str) -> None:
    f = getattr(torch, name)
    assert pushed(torch, f, ([2.0, 2.0], [1.0, 4.0])) == 2.5
    assert math.isnan(pushed(torch, f, ([NAN, 1.0], [1.0, 4.0])))


def test_complex_directions_at_zero(torch: Any) -> None:
    x, t = torch.tensor([0j, 1 + 1j]), torch.tensor([1 + 2j, 2 - 1j])
    assert torch.func.jvp(torch.angle, (x,), (t,))[1].tolist() == pytest.approx([0.0, -1.5])
    turned = torch.func.jvp(torch.sgn, (x,), (t,))[1]
    assert turned[0].item() == 0 and abs(turned[1].item() - (1.5 - 1.5j) / math.sqrt(2)) < 1e-5


@pytest.mark.parametrize("name", ["elu", "selu", "celu"])
def test_second_derivatives_of_exponential_units_at_zero(torch: Any, name: str) -> None:
    f = getattr(torch.nn.functional, name)
    assert torch.func.grad(torch.func.grad(f))(torch.tensor(0.0)).item() == 0.0
    assert torch.func.jvp(torch.func.grad(f), (torch.tensor(0.0),), (torch.tensor(1.0),))[1].item() == 0.0


# -- matrices ----------------------------------------------------------------------------------------------------------

MATRIX, ANY = [[4.0, 2.0], [2.0, 5.0]], [[1.0, 7.0], [3.0, 2.0]]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky", "cholesky_ex"])
def test_cholesky_reads_the_whole_tangent(torch: Any, name: str, upper: bool) -> None:
    def f(a: Any) -> Any:
        found = getattr(torch.linalg, name)(a, upper=upper)
        return found if name == "cholesky" else found[0]

    expected = [[0.25, 0.0], [1.375, -0.6875]]
    found = pushed(torch, f, (MATRIX, ANY))
    assert ([alike(row, wanted) for row, wanted in zip(found, [list(c) for c in zip(*expected)] if upper else expected)]
        == [True, True])


def test_cholesky_of_symmetric_tangents_is_the_derivative(torch: Any) -> None:
    a = torch.tensor(MATRIX, dtype=torch.float64)
    t = torch.tensor([[1.0, 7.0], [7.0, 2.0]], dtype=torch.float64)
    factor, moved = torch.func.jvp(torch.linalg.cholesky, (a,), (t,))
    assert torch.allclose(moved @ factor.mT + factor @ moved.mT, t)


def test_eigh_reads_the_whole_tangent(torch: Any) -> None:
    a, t = (torch.tensor(v, dtype=torch.float64) for v in (MATRIX, ANY))
    (values, vectors), (dvalues, dvectors) = torch.func.jvp(lambda a: tuple(torch.linalg.eigh(a)), (a,), (t,))
    turn = vectors.mT @ t @ vectors
    assert torch.allclose(dvalues, turn.diagonal())
    gap = float(values[1] - values[0])
    assert torch.allclose(vectors.mT @ dvectors,
        torch.stack([torch.zeros_like(gap * turn[0, 0]), turn[0, 1] / gap, -turn[1, 0] / gap,
                                                              torch.zeros_like(turn[0, 0])]).reshape(2, 2))


@pytest.mark.parametrize("name", ["linalg.cholesky", "linalg.eigvalsh", "std"])
def test_forward_over_reverse_over_forward(torch: Any, name: str) -> None:
    f = torch.std if name == "std" else getattr(torch.linalg, name.split(".")[1])
    a, t = (torch.tensor(v, dtype=torch.float64) for v in (MATRIX, [[1.0, 2.0], [2.0, 3.0]]))
    slope = lambda s: f(a + s * t).sum()  # noqa: E731
    s = torch.zeros((), dtype=torch.float64)
    by_reverse = torch.func.grad(torch.func.grad(slope))(s)
    ahead = lambda s: torch.func.jvp(slope, (s,), (torch.ones_like(s),))[1]  # noqa: E731
    for found in (torch.func.grad(ahead)(s), torch.func.jvp(ahead, (s,), (torch.ones_like(s),))[1],
            torch.func.jacfwd(ahead)(s)):
        assert torch.allclose(found, by_reverse)


@pytest.mark.parametrize("name", ["geqrf", "ldl_factor", "ldl_solve"])
def test_without_a_derivative(torch: Any, name: str) -> None:
    """It is said when a gradient is asked for, in forward mode at once."""
    a = torch.tensor(MATRIX)

    def f(x: Any) -> Any:
        if name == "ldl_solve":
            return torch.linalg.ldl_solve(a, torch.tensor([1, 2], dtype=torch.int32), x)
        return (torch.geqrf(x) if name == "geqrf" else torch.linalg.ldl_factor(x))[0]

    answer = f(a.clone().requires_grad_())
    assert answer.requires_grad
    with pytest.raises(RuntimeError,
            match="derivative for .*(geqrf|linalg_ldl_factor_ex|linalg_ldl_solve).* is not implemented"):
        answer.sum().backward()
    with pytest.raises(NotImplementedError,
            match="Trying to use forward AD with .*(geqrf|ldl_factor_ex|ldl_solve) that does not support it"):
        torch.func.jvp(f, (a,), (a,))


def test_heaviside_in_forward_mode(torch: Any) -> None:
    x = torch.ones(2)
    with pytest.raises(NotImplementedError,
            match="Trying to use forward AD with aten::heaviside that does not support it"):
        torch.func.jvp(lambda x: torch.heaviside(x, x), (x,), (x,))
