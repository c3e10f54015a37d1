"""Elementwise operators at their edges: kinks, infinities, mixed types, numbers, errors, in-place and ``out=``."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert as torch
from tests.makers import cases, ramp_leaf, refuses

INF, NAN = float("inf"), float("nan")


def tensor(values, dtype=None, grad=False):
    return torch.tensor(values, dtype=dtype, requires_grad=grad)


def grads(f, *rows, dtype=torch.float64, create_graph=False):
    """The gradients of ``sum(f(*rows))``."""
    xs = [tensor(row, dtype, True) for row in rows]
    y = f(*xs)
    return [None if g is None else g.tolist()
        for g in torch.autograd.grad([y], xs, [torch.ones_like(y)], allow_unused=True)]


def same(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12, equal_nan=True)


# -- gradients at kinks and ends -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (torch.abs, [-2.0, 0.0, 3.0, NAN], [-1, 0, 1, 0]),
        (torch.sign, [-2.0, 0.0, 3.0], [0, 0, 0]),
        (torch.sqrt, [0.0, 4.0], [INF, 0.25]),
        (torch.sinc, [0.0], [0]),
        (torch.log, [0.0, -1.0], [INF, -1]),
        (torch.asin, [1.0, -1.0, 2.0], [INF, INF, NAN]),
        (torch.acosh, [1.0], [INF]),
        (torch.erfinv, [1.0, 0.0], [INF, math.sqrt(math.pi) / 2]),
        (torch.nan_to_num, [1.0, INF, NAN], [1, 0, 0]),
        (torch.round, [0.5, 1.5], [0, 0]),
        (torch.frac, [0.5, -1.5], [1, 1]),
        (torch.special.i1, [0.0], [0.5]),
        (torch.special.i1e, [0.0], [0.5]),
        (torch.special.entr, [0.0, 1.0], [INF, -1]),
        (lambda x: torch.clamp(x, 0, 1), [-1.0, 0.0, 0.5, 1.0, 2.0, NAN], [0, 1, 1, 1, 0, 0]),
        (lambda x: torch.clamp_min(x, 0), [-1.0, 0.0, NAN], [0, 1, 0]),
        (lambda x: torch.logit(x), [0.5, 2.0], [4, NAN]),
        (lambda x: torch.logit(x, eps=0.1), [0.5, 0.05], [4, 0]),
        (lambda x: x**0, [0.0, 2.0], [0, 0]),
        (lambda x: x**2, [0.0, -3.0], [0, -6]),
        (lambda x: x**0.5, [0.0, 4.0], [INF, 0.25]),
        (lambda x: 0**x, [0.0, 1.0, -1.0], [0, 0, -INF]),
        (lambda x: torch.where(x > 1, x.log(), torch.zeros_like(x)), [2.0, 4.0], [0.5, 0.25]),
        (lambda x: torch.angle(x), [-1.0, 1.0], [0, 0]),
    ],
)
def test_gradient_at_a_kink(f, at, expected):
    (found,) = grads(f, at)
    same(found, expected)


@pytest.mark.parametrize(
    ("f", "a", "b", "ga", "gb"),
    [
        (torch.maximum, [1.0, 2.0, 3.0], [2.0, 2.0, 1.0], [0, 0.5, 1], [1, 0.5, 0]),
        (torch.minimum, [1.0, 2.0, 3.0], [2.0, 2.0, 1.0], [1, 0.5, 0], [0, 0.5, 1]),
        (torch.maximum, [INF, -INF], [INF, -INF], [0.5, 0.5], [0.5, 0.5]),
        (torch.fmax, [1.0, 2.0, NAN], [2.0, 2.0, 1.0], [0, 1, 0], [1, 0, 1]),
        (torch.fmin, [1.0, 2.0, 1.0], [2.0, 2.0, NAN], [1, 1, 1], [0, 0, 0]),
        (torch.atan2, [0.0], [0.0], [0], [0]),
        (torch.hypot, [3.0], [4.0], [0.6], [0.8]),
        (torch.copysign, [2.0, 0.0], [-1.0, 1.0], [-1, 0], [0, 0]),
        (torch.xlogy, [0.0, 0.0], [0.0, 2.0], [0, math.log(2)], [NAN, 0]),
        (torch.pow, [0.0, 0.0], [0.0, 2.0], [0, 0], [0, 0]),
        (torch.remainder, [5.0, -5.0], [3.0, 3.0], [1, 1], [-1, 2]),
        (torch.fmod, [5.0, -5.0], [3.0, 3.0], [1, 1], [-1, 1]),
        (torch.clamp_min, [1.0, 2.0], [1.0, 3.0], [1, 0], [0, 1]),
        (torch.logaddexp, [0.0], [0.0], [0.5], [0.5]),
        (torch.nextafter, [1.0, 1.0], [1.0, 2.0], [0, 1], [0, 0]),
    ],
)
def test_gradients_of_pairs(f, a, b, ga, gb):
    found = grads(f, a, b)
    same(found[0], ga)
    same(found[1], gb)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 300, 5000])
def test_clamp_of_real_numbers(n, dtype):
    row = [NAN, -0.0, 0.0, INF, -INF, 1.0, -3.0, 0.25, 2.0**24, 1e-45]
    x = tensor(row * n, dtype)
    limits = (None, 0, 0.0, 1, -2, 0.5, 2**24, INF, -INF)
    for low, high in ((low, high) for low in limits for high in limits if low is not None or high is not None):
        raised = [v if low is None or not v < low else low for v in row]
        expected = tensor([v if high is None or not v > high else high for v in raised] * n, dtype)
        for given in (x, x.repeat_interleave(2)[::2]):
            found = given.clamp(low, high)
            assert found.dtype == dtype
            torch.testing.assert_close(found, expected, atol=0, rtol=0, equal_nan=True)
    assert x.clamp(NAN, 1).isnan().all() and x.clamp(0, NAN).isnan().all()
    assert x[:3].clamp(2, 1).tolist()[1:] == [1.0, 1.0]
    assert x.clamp(0.1, 2.0)[1].item() == tensor([0.1], dtype).item()


@pytest.mark.parametrize("n", [5, 3000, 200_000])
def test_clamp_of_whole_numbers(n):
    x = torch.arange(n) - n // 2
    x[:2] = torch.tensor([-(2**63), 2**63 - 1])
    held = x.clone()
    for low, high in ((-2, 2), (None, 2), (-2, None), (3, 1), (-(2**63) + 1, 2**63 - 1), (0, 2**62)):
        expected = held.numpy() if low is None else np.maximum(held.numpy(), low)
        expected = expected if high is None else np.minimum(expected, high)
        found = x.clamp(low, high)
        assert found.dtype == torch.int64
        assert np.array_equal(found.numpy(), expected)
        assert torch.equal(x, held)
    assert x.clamp(0.5, 1.5).dtype == torch.float32
    assert np.array_equal(x.clamp_(-1, 1).numpy(), held.numpy().clip(-1, 1))


def test_clamp_with_crossing_limits_gives_the_upper():
    x, low, high = (tensor(v, torch.float64, True) for v in ([0.0, 5.0], [2.0, 2.0], [1.0, 1.0]))
    y = torch.clamp(x, low, high)
    same(y.tolist(), [1, 1])
    g = torch.autograd.grad([y], [x, low, high], [torch.ones_like(y)])
    same([v.tolist() for v in g], [[0, 0], [0, 0], [1, 1]])


@pytest.mark.parametrize("name", ["floor_divide", "heaviside"])
def test_undefined_gradients_are_errors(name):
    x = tensor([1.0, 2.0], grad=True)
    y = getattr(torch, name)(x, tensor([1.0, 1.0]))
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        y.backward(torch.ones(2))


# -- complex numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        torch.abs,
        torch.angle,
        torch.sgn,
        torch.exp,
        torch.log,
        torch.sqrt,
        torch.tanh,
        torch.sigmoid,
        torch.reciprocal,
        torch.square,
        torch.view_as_real,
        torch.conj_physical,
        torch.sinc,
        torch.acosh,
        torch.asinh,
        lambda z: z * (1 + 2j),
        lambda z: z / (1 + 2j),
        lambda z: z ** (1 + 2j),
        lambda z: (1 + 2j) / z,
        lambda z: (1 + 2j) ** z,
        lambda z: z**3,
        lambda z: torch.logaddexp(z, 2 * z),
    ],
)
def test_complex_gradient_by_differences(f):
    """The gradient of Re<w, f(z)> is d/dx + i d/dy."""
    values = np.array([0.7 + 0.4j, -0.3 + 1.1j])
    rng = np.random.default_rng(0)
    z = torch.tensor(values, requires_grad=True)
    y = f(z)
    w = rng.standard_normal(tuple(y.shape)) + (1j * rng.standard_normal(tuple(y.shape)) if y.is_complex() else 0)
    (found,) = torch.autograd.grad([y], [z], [torch.tensor(w)])

    def value(at):
        return float(np.real(np.sum(np.conj(w) * f(torch.tensor(at)).numpy())))

    for i in range(2):
        for step in (1e-6, 1e-6j):
            move = np.zeros(2, complex)
            move[i] = step
            slope = (value(values + move) - value(values - move)) / 2e-6
            part = found[i].item().real if step == 1e-6 else found[i].item().imag
            assert abs(slope - part) < 1e-7


def test_view_as_complex_shares_memory_and_gradients():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], torch.float64, True)
    z = torch.view_as_complex(x * 1)
    (g,) = torch.autograd.grad([z], [x], [torch.tensor([1 + 2j, 3 + 4j])])
    same(g.tolist(), [[1, 2], [3, 4]])
    plain = torch.zeros(2, 2)
    torch.view_as_complex(plain)[0] = 1 + 2j
    assert plain.tolist() == [[1, 2], [0, 0]]
    torch.view_as_real(torch.view_as_complex(plain))[1, 1] = 5
    assert plain.tolist() == [[1, 2], [0, 5]]
    for bad, text in (
        (torch.zeros(3), "last dimension of size 2"),
        (torch.zeros(2, 4)[:, ::2], "last dimension with stride 1"),
        (torch.zeros(2, dtype=torch.int64), "only supported for half, float and double"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.view_as_complex(bad)
    with pytest.raises(RuntimeError, match="only supported for complex tensors"):
        torch.view_as_real(torch.zeros(2))


# -- types -----------------------------------------------------------------------------------------------------------

I, F, D, H, Z, T = (torch.int64, torch.float32, torch.float64, torch.float16, torch.complex64, torch.bool)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda: tensor([1, 2]) + tensor([1.5]), F),
        (lambda: tensor([1, 2]) + 1.5, F),
        (lambda: tensor([1, 2]) + True, I),
        (lambda: tensor([1, 2]) / 2, F),
        (lambda: tensor([1, 2]) // 2, I),
        (lambda: torch.div(tensor([1, 2]), 2, rounding_mode="trunc"), I),
        (lambda: tensor([1, 2]) ** 2, I),
        (lambda: tensor([1, 2]) ** 0.5, F),
        (lambda: tensor([1.0]) + tensor(2.0, dtype=D), F),
        (lambda: tensor([1.0]) + tensor([2.0], dtype=D), D),
        (lambda: tensor([1.0], dtype=H) * 2.5, H),
        (lambda: tensor([1.0], dtype=torch.bfloat16) * 2.5, torch.bfloat16),
        (lambda: tensor([1.0], dtype=torch.bfloat16) * tensor([1.0], dtype=H), F),
        (lambda: tensor([1.0]) * 1j, Z),
        (lambda: tensor([True]) + True, T),
        (lambda: tensor([True]) * 2, I),
        (lambda: torch.sin(tensor([1])), F),
        (lambda: torch.erf(tensor([True])), F),
        (lambda: torch.floor(tensor([1])), I),
        (lambda: torch.square(tensor([True])), I),
        (lambda: torch.float_power(tensor([1.0]), 2), D),
        (lambda: torch.where(tensor([True]), 1, 2), I),
        (lambda: torch.where(tensor([True]), 1.0, tensor([2], dtype=I)), F),
        (lambda: torch.clamp(tensor([1]), 0.5), F),
        (lambda: tensor([1]) > 0.5, T),
        (lambda: torch.abs(tensor([1j])), F),
        (lambda: torch.angle(tensor([1])), F),
        (lambda: torch.isclose(tensor([1]), tensor([1])), T),
        (lambda: torch.xlogy(2, tensor([1.0], dtype=D)), D),
        (lambda: torch.special.zeta(2, tensor([1.0])), F),
        (lambda: torch.special.zeta(tensor([2.0]), 1), F),
        (lambda: torch.copysign(tensor([1]), -1), F),
        (lambda: torch.special.hermite_polynomial_h(tensor([1.0]), 3), F),
    ],
)
def test_result_type(f, expected):
    assert f().dtype == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_gradients_keep_the_type(dtype):
    x = tensor([0.5, 1.5], dtype, True)
    y = ((x * 2.5).tanh() / 3 + x**2 - torch.clamp(x, 0, 1)).sqrt() + torch.erf(x) + torch.lerp(x, x * 2, 0.3)
    y = y + torch.where(x > 1, x, 0.0) + torch.sigmoid(x) + torch.maximum(x, x * 2) + torch.add(x, x, alpha=0.5)
    y.backward(torch.ones(2, dtype=dtype))
    assert y.dtype == x.grad.dtype == dtype


def test_gradient_returns_to_the_type_of_each_operand():
    a, b = tensor([1.0, 2.0], F, True), tensor([3.0, 4.0], D, True)
    (a * b).sum().backward()
    assert (a.grad.dtype, b.grad.dtype) == (F, D)
    z = tensor([1.0], F, True)
    (z * 1j).imag.sum().backward()
    assert z.grad.dtype == F and z.grad.tolist() == [1]


def test_integers():
    assert (tensor([-7, 7]) // 2).tolist() == [-4, 3]
    assert torch.div(tensor([-7, 7]), 2, rounding_mode="trunc").tolist() == [-3, 3]
    assert (tensor([-7, 7]) % 3).tolist() == [2, 1]
    assert torch.fmod(tensor([-7, 7]), 3).tolist() == [-1, 1]
    assert (tensor([1, -1, 2, 0]) ** tensor([-1, -3, -1, -1])).tolist() == [1, -1, 0, 0]
    assert (tensor([1, 2]) << 3).tolist() == [8, 16]
    assert (tensor([-8, 8]) >> tensor([1, 70])).tolist() == [-4, 0]
    assert (tensor([1, 2]) << tensor([64, -1])).tolist() == [0, 0]
    assert torch.gcd(tensor([12, -8]), tensor([18, 12])).tolist() == [6, 4]
    assert torch.lcm(tensor([4]), tensor([6])).tolist() == [12]
    assert (tensor([6, 5]) & 3).tolist() == [2, 1]
    assert (5 ^ tensor([1])).tolist() == [4]
    assert (~tensor([True, False])).tolist() == [False, True]
    assert (-tensor([200], dtype=torch.uint8)).tolist() == [56]
    assert (tensor([200], dtype=torch.uint8) / -1).tolist() == [-200]


def test_rounding_to_decimals():
    x = tensor([1.2345, -2.5, 0.5], D)
    same(torch.round(x).tolist(), [1, -2, 0])
    same(torch.round(x, decimals=2).tolist(), [1.23, -2.5, 0.5])
    same(torch.round(tensor([1250.0, 1350.0]), decimals=-2).tolist(), [1200, 1400])


def test_where_alone_gives_places():
    rows, columns = torch.where(tensor([[0.0, 1.0], [2.0, 0.0]]))
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0] and rows.dtype == I
    assert [t.tolist() for t in torch.where(tensor(3.0))] == [[0]]
    assert tensor([1.0, 2.0]).where(tensor([True, False]), -1.0).tolist() == [1, -1]


def test_truth_values_of_comparisons():
    a = tensor([1.0, 2.0])
    assert torch.equal(a, a.clone()) is True and torch.equal(a, tensor([1.0])) is False
    assert torch.allclose(a, a + 1e-9) is True and torch.allclose(a, a + 1) is False
    assert torch.isclose(tensor([NAN, INF]), tensor([NAN, INF])).tolist() == [False, True]
    assert torch.isclose(tensor([NAN]), tensor([NAN]), equal_nan=True).tolist() == [True]
    assert (a == None) is False and (a != "x") is True  # noqa: E711


# -- special values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        (
            "airy_ai",
            [0.0, 1.0, -3.0, 7.0, INF],
            [0.3550280538878172, 0.1352924163128814, -0.37881429367765807, 7.492128863997166e-07, NAN],
        ),
        ("bessel_j0", [0.0, 1.0, -5.0, 20.0], [1, 0.7651976865579665, -0.17759677131433835, 0.16702466434058316]),
        ("bessel_j1", [0.0, 1.0, -5.0, 20.0], [0, 0.44005058574493355, 0.3275791375914652, 0.06683312417584991]),
        ("bessel_y0", [0.0, 1.0, 20.0, -1.0], [-INF, 0.08825696421567697, 0.06264059680938384, NAN]),
        ("bessel_y1", [0.0, 1.0, 20.0, -1.0], [-INF, -0.7812128213002887, -0.16551161436252115, NAN]),
        ("modified_bessel_i0", [0.0, -2.0, 10.0], [1, 2.279585302336067, 2815.716628466254]),
        ("modified_bessel_i1", [0.0, -2.0, 10.0], [0, -1.5906368546373291, 2670.988303701255]),
        ("modified_bessel_k0", [0.0, 1.0, 5.0, -1.0], [INF, 0.42102443824070834, 0.0036910983340425942, NAN]),
        ("modified_bessel_k1", [0.0, 1.0, 5.0, -1.0], [INF, 0.6019072301972346, 0.004044613445452164, NAN]),
        ("scaled_modified_bessel_k0", [1.0, 50.0], [1.1444630798068947, 0.17680715585742934]),
        ("scaled_modified_bessel_k1", [1.0, 50.0], [1.6361534862632582, 0.17856655855881423]),
        ("spherical_bessel_j0", [0.0, 1.0, INF], [1, 0.8414709848078965, 0]),
        ("i0e", [0.0, -2.0, 100.0], [1, 0.308508322553671, 0.03994437929909669]),
        ("i1e", [0.0, -2.0, 100.0], [0, -0.21526928924893765, 0.03974415302513025]),
        ("entr", [0.0, 0.5, -1.0, NAN], [0, 0.34657359027997264, -INF, NAN]),
        ("log_ndtr", [-40.0, 0.0], [-804.6084420137538, -0.6931471805599453]),
        ("psi", [1.0, 0.5], [-0.5772156649015329, -1.9635100260214235]),
        ("gammaln", [0.5, 10.0, -0.5], [0.5723649429247001, 12.801827480081469, 1.2655121234846454]),
        ("expit", [0.0, 1000.0, -1000.0], [0.5, 1, 0]),
    ],
)
def test_special_values(name, at, expected):
    found = getattr(torch.special, name)(tensor(at, D)).tolist()
    np.testing.assert_allclose(found, expected, rtol=2e-13, atol=1e-15)


def test_incomplete_gamma():
    a, x = tensor([0.5, 2.0, 10.0, 2e4, 0.0, 1.0], D), tensor([0.5, 5.0, 10.0, 2e4, 1.0, 0.0], D)
    expected = [0.6826894921370859, 0.9595723180054871, 0.5420702855281478, 0.5009403162337784, 1, 0]
    np.testing.assert_allclose(torch.igamma(a, x).tolist(), expected, rtol=1e-9)
    np.testing.assert_allclose((torch.igamma(a, x) + torch.special.gammaincc(a, x)).tolist(), np.ones(6), rtol=1e-12)


def test_polynomials_against_their_closed_forms():
    x = torch.linspace(-0.9, 0.9, 7, dtype=D)
    angle = torch.acos(x)
    for n in range(6):
        np.testing.assert_allclose(torch.special.chebyshev_polynomial_t(x, n).numpy(), torch.cos(n * angle).numpy(),
            atol=1e-12)
        u = torch.sin((n + 1) * angle) / torch.sin(angle)
        np.testing.assert_allclose(torch.special.chebyshev_polynomial_u(x, n).numpy(), u.numpy(), atol=1e-12)
        v = torch.cos((n + 0.5) * angle) / torch.cos(angle / 2)
        np.testing.assert_allclose(torch.special.chebyshev_polynomial_v(x, n).numpy(), v.numpy(), atol=1e-12)
        w = torch.sin((n + 0.5) * angle) / torch.sin(angle / 2)
        np.testing.assert_allclose(torch.special.chebyshev_polynomial_w(x, n).numpy(), w.numpy(), atol=1e-12)
        shifted = torch.special.shifted_chebyshev_polynomial_t((x + 1) / 2, n)
        np.testing.assert_allclose(shifted.numpy(), torch.cos(n * angle).numpy(), atol=1e-12)
    degrees = tensor([-1, 0, 1, 2, 3], I)
    half = tensor(0.5, D)
    same(torch.special.hermite_polynomial_h(half, degrees).tolist(), [0, 1, 1, -1, -5])
    same(torch.special.hermite_polynomial_he(half, degrees).tolist(), [0, 1, 0.5, -0.75, -1.375])
    same(torch.special.laguerre_polynomial_l(half, degrees).tolist(), [0, 1, 0.5, 0.125, -7 / 48])
    same(torch.special.legendre_polynomial_p(half, degrees).tolist(), [0, 1, 0.5, -0.125, -0.4375])


# -- refusals --------------------------------------------------------------------------------------------------------

f2, b2, i2, z2 = torch.ones(2), tensor([True, False]), tensor([1, 2]), tensor([1j, 1])


@pytest.mark.parametrize(
    ("f", "kind", "text"),
    [
        (lambda: b2 - b2, RuntimeError, "with two bool tensors is not supported"),
        (lambda: b2 - 1, RuntimeError, "with a bool tensor is not supported"),
        (lambda: f2 - b2, RuntimeError, "with a bool tensor is not supported"),
        (lambda: -b2, RuntimeError, "Negation, the `-` operator, on a bool tensor"),
        (lambda: torch.positive(b2), RuntimeError, "on a bool tensor is not supported"),
        (lambda: torch.abs(b2), NotImplementedError, "\"abs_cpu\" not implemented for 'Bool'"),
        (lambda: i2**-1, RuntimeError, "Integers to negative integer powers are not allowed"),
        (lambda: i2 // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: i2 % tensor([1, 0]), RuntimeError, "ZeroDivisionError"),
        (lambda: torch.div(f2, f2, rounding_mode="up"), RuntimeError, "div expected rounding_mode to be one of"),
        (
            lambda: torch.add(i2, i2, alpha=1.5),
            RuntimeError,
            "For integral input tensors, argument alpha must not be a floating",
        ),
        (lambda: torch.add(i2, i2, alpha=True), RuntimeError, "Boolean alpha only supported for Boolean results"),
        (lambda: torch.add(f2, f2, alpha=1j), RuntimeError, "argument alpha must not be a complex number"),
        (lambda: torch.add(f2, "a"), TypeError, "must be Tensor, not str"),
        (lambda: f2 + torch.ones(3), RuntimeError, "size of tensor a \\(2\\) must match the size of tensor b \\(3\\)"),
        (lambda: z2 < z2, NotImplementedError, "\"lt_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: torch.maximum(z2, z2), RuntimeError, "maximum not implemented for complex"),
        (lambda: torch.maximum(f2, 1), TypeError, "must be Tensor, not int"),
        (lambda: torch.clamp(f2), RuntimeError, "At least one of 'min' or 'max' must not be None"),
        (lambda: torch.clamp(z2, 0, 1), NotImplementedError, "clamp is not supported for complex"),
        (lambda: torch.where(i2, f2, f2), RuntimeError, "where expected condition to be a boolean tensor"),
        (lambda: torch.lerp(f2, f2.double(), 0.5), RuntimeError, "expected dtype float for `end` but got dtype double"),
        (lambda: torch.lerp(i2, i2, 0.5), NotImplementedError, "not implemented for 'Long'"),
        (lambda: torch.addcdiv(f2, i2, i2), RuntimeError, "Integer division with addcdiv is no longer supported"),
        (lambda: torch.floor(b2), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: torch.ceil(z2), NotImplementedError, "ceil is not supported for complex inputs"),
        (lambda: torch.round(i2, decimals=1), NotImplementedError, "\"round_cpu\" not implemented for 'Long'"),
        (lambda: torch.sign(z2), NotImplementedError, "torch.sign is not intended to support complex"),
        (lambda: torch.signbit(z2), NotImplementedError, "signbit is not implemented for complex"),
        (lambda: torch.isposinf(z2), RuntimeError, "isposinf does not support complex inputs"),
        (lambda: f2 & f2, NotImplementedError, "\"bitwise_and_cpu\" not implemented for 'Float'"),
        (lambda: torch.gcd(f2, f2), NotImplementedError, "\"gcd_cpu\" not implemented for 'Float'"),
        (lambda: torch.hypot(i2, i2), NotImplementedError, "\"hypot_cpu\" not implemented for 'Long'"),
        (lambda: torch.frexp(i2), RuntimeError, "only supports floating-point dtypes"),
        (lambda: torch.heaviside(f2, i2), RuntimeError, "not yet implemented for tensors with different dtypes"),
        (lambda: torch.isclose(f2, f2.double()), RuntimeError, "Float did not match Double"),
        (lambda: torch.isclose(f2, f2, rtol=-1), RuntimeError, "rtol must be greater than or equal to zero"),
        (
            lambda: torch.polar(f2, f2.double()),
            RuntimeError,
            "Expected object of scalar type Float but got scalar type Double",
        ),
        (lambda: torch.polygamma(-1, f2), RuntimeError, "does not support negative n"),
        (lambda: torch.mvlgamma(f2, 0), RuntimeError, "p has to be greater than or equal to 1"),
        (lambda: torch.erf(z2), NotImplementedError, "not implemented for 'ComplexFloat'"),
        (lambda: torch.deg2rad(z2), RuntimeError, "deg2rad is not supported for complex"),
        (lambda: torch.equal(f2, 1), TypeError, "argument 'other' \\(position 2\\) must be Tensor, not int"),
    ],
)
def test_refusals(f, kind, text):
    with pytest.raises(kind, match=text):
        f()


def test_incomplete_gamma_has_one_gradient():
    a = tensor([1.5], grad=True)
    with pytest.raises(RuntimeError, match="derivative for 'igamma: input' is not implemented"):
        torch.igamma(a, torch.ones(1)).backward(torch.ones(1))


# -- in-place and out= -----------------------------------------------------------------------------------------------


def test_in_place_forms():
    x = tensor([1.0, -2.0])
    assert x.add_(1) is x and x.tolist() == [2, -1]
    x *= 3
    x -= tensor([1.0, 1.0])
    x /= 2
    assert x.tolist() == [2.5, -2]
    assert x.clamp_(min=0).tolist() == [2.5, 0]
    assert x.lerp_(torch.zeros(2), 0.5).tolist() == [1.25, 0]
    assert x.div_(0.5, rounding_mode="floor").tolist() == [2, 0]
    assert x.gt_(1).tolist() == [1, 0] and x.dtype == F
    assert x.logical_not_().tolist() == [0, 1]
    assert torch.exp_(x).tolist() == pytest.approx([1, math.e])
    y = tensor([1, 2])
    for wrong in (lambda: y.add_(1.5), lambda: y.div_(2), lambda: y.sin_(), lambda: y.mul_(1j)):
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
            wrong()
    assert y.tolist() == [1, 2] and y._version == 0
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(2).add_(torch.ones(3, 2))


def test_in_place_gradients():
    x = tensor([1.0, 2.0], D, True)
    y = x * 1
    y.mul_(3).add_(x, alpha=2).clamp_(max=9)
    y.backward(torch.ones(2, dtype=D))
    assert x.grad.tolist() == [5, 0]
    z = (x * 1).exp_()
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward(torch.ones(2, dtype=D))


def test_out():
    out = torch.empty(2)
    assert torch.add(f2, f2, out=out) is out and out.tolist() == [2, 2]
    assert torch.clamp(tensor([-1.0, 2.0]), 0, 1, out=out).tolist() == [0, 1]
    assert torch.eq(f2, f2, out=torch.empty(2, dtype=T)).tolist() == [True, True]
    assert torch.mul(f2, 2, out=torch.empty(2, dtype=D)).dtype == D
    mantissa, exponent = torch.empty(2), torch.empty(2, dtype=torch.int32)
    torch.frexp(tensor([8.0, -0.5]), out=(mantissa, exponent))
    assert mantissa.tolist() == [0.5, -0.5] and exponent.tolist() == [4, 0]
    with pytest.raises(RuntimeError, match="Float can't be cast to the desired output type Long"):
        torch.add(f2, f2, out=torch.empty(2, dtype=I))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.add(f2, tensor([1.0, 2.0], grad=True), out=out)


def test_node_names():
    x = tensor([0.5, 0.7], grad=True)
    for y, name in (
        (x + 1, "Add"),
        (x - 1, "Sub"),
        (x * 2, "Mul"),
        (x / 2, "Div"),
        (-x, "Neg"),
        (x.exp(), "Exp"),
        (x**2, "Pow"),
        (torch.where(x > 0, x, 0.0), "Where"),
        (torch.maximum(x, x), "Maximum"),
        (x.sigmoid(), "Sigmoid"),
        (x.clamp_min(0), "ClampMin"),
    ):
        assert type(y.grad_fn).__name__ == f"{name}Backward0"
    assert type(x.clamp(0, 1).grad_fn).__name__ == "ClampBackward1"
    assert type(x.log1p().grad_fn).__name__ == "Log1PBackward0"


def test_comparisons_leave_no_node():
    x = tensor([0.5], grad=True)
    for y in (x > 0, x == x, torch.isnan(x), torch.logical_not(x), torch.isclose(x, x), torch.special.bessel_j0(x)):
        assert y.requires_grad is False and y.grad_fn is None


# -- large arrays take other roads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype",
    [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, I])
def test_where_of_large_arrays(dtype):
    rng = np.random.default_rng(0)
    mask = rng.random((60, 50)) < 0.5
    a, b = ((rng.standard_normal((60, 50)) * 8).round() for _ in range(2))
    condition, x, y = torch.tensor(mask), torch.tensor(a).to(dtype), torch.tensor(b).to(dtype)
    for other, expected in (
        (y, np.where(mask, a, b)),
        (y[0], np.where(mask, a, b[0])),
        (0, np.where(mask, a, 0)),
        (-2, np.where(mask, a, -2)),
        (y[3, 4], np.where(mask, a, b[3, 4])),
    ):
        found = torch.where(condition, x, other)
        assert found.dtype == dtype
        same(found.to(torch.complex128).numpy(), expected)
    same(torch.where(condition.t(), x.t(), y.t()).to(torch.complex128).numpy(), np.where(mask.T, a.T, b.T))
    same(torch.where(condition, 0, y).to(torch.complex128).numpy(), np.where(mask, 0, b))


def test_where_of_large_arrays_keeps_nan_and_infinity():
    mask = np.arange(4096) % 2 == 0
    x = torch.full((4096,), NAN, dtype=D)
    y = torch.full((4096,), -INF, dtype=D)
    np.testing.assert_array_equal(torch.where(torch.tensor(mask), x, y).numpy(), np.where(mask, NAN, -INF))
    assert not torch.where(torch.tensor(mask), 0.0, y).isnan().any()


@pytest.mark.parametrize("limits", [(0, 1), (1, -1), (NAN, 0), (0, NAN), (None, 0.5), (-0.5, None)])
def test_clamp_of_large_arrays(limits):
    x = np.linspace(-2, 2, 4000)
    x[7] = NAN
    pieces = np.concatenate([torch.clamp(torch.tensor(part), *limits).numpy() for part in np.split(x, 40)])
    np.testing.assert_array_equal(torch.clamp(torch.tensor(x), *limits).numpy(), pieces)


def test_polygamma_in_place_saves_its_input(torch):
    for n in range(3):
        x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        y = x.clone()
        assert y.polygamma_(n) is y
        y.sum().backward()
        torch.testing.assert_close(x.grad, torch.polygamma(n + 1, x.detach()))


@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_", "logical_not_"])
def test_logical_writes_are_not_seen_by_the_tape(torch, name):
    x = ramp_leaf(torch, 2, 3)
    args = () if name == "logical_not_" else (torch.ones(2, 3),)
    y = x.exp()
    before = y.grad_fn
    getattr(y, name)(*args)
    assert y.grad_fn is before and y._version == 1
    getattr(x, name)(*args)  # even a leaf takes it
    assert x.is_leaf and x.requires_grad and x._version == 1


@pytest.mark.parametrize("name", ["eq", "ne", "gt", "ge", "lt", "le"])
def test_comparisons_in_place_have_a_gradient_of_zero(torch, name):
    x = ramp_leaf(torch, 3)
    y = getattr(x.clone(), name + "_")(torch.zeros(3, dtype=torch.float64))
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(x, name + "_")(0)


def test_conj_physical_of_truth_values(torch):
    b = torch.tensor([True, False])
    assert b.conj_physical_() is b and b.tolist() == [True, False]
    with pytest.raises(NotImplementedError, match="\"dot\" not implemented for 'Bool'"):
        b @ b


@cases([
    ("map", lambda torch: torch.ones(2).map_(torch.ones(2, dtype=torch.float64), max), TypeError,
     "map_: expected torch.FloatTensor for 'other' (got torch.DoubleTensor)"),
    ("map2", lambda torch: torch.ones(2).map2_(torch.ones(2), torch.arange(2), max), TypeError,
     "map2_: expected torch.FloatTensor for argument 'y' (got torch.LongTensor)"),
    ("apply", lambda torch: torch.ones(2).to_sparse().apply_(abs), RuntimeError,
        "Cannot access data pointer of Tensor that doesn't have storage"),
])
def test_functions_of_elements_refuse_other_types(torch, run, error, message):
    refuses(torch, run, error, message)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_clamp_of_many_numbers_is_that_of_few(dtype):
    few = torch.tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, NAN, math.inf, -math.inf], dtype=dtype)
    many = few.repeat(200).reshape(40, 50)
    for low, high in ((-1.0, 1.0), (None, 0.5), (-0.5, None), (1.0, -1.0), (NAN, 1.0), (0.0, NAN)):
        for x in (many, many.T):
            found, expected = torch.clamp(x, low, high), torch.clamp(few, low, high).repeat(200).reshape(40, 50)
            expected = expected if x is many else expected.T
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_sixteen_bits_among_wider_numbers(half, wide):
    narrow = torch.tensor([[1.5, -2.0, 0.1], [4.0, 0.0, -7.25]], dtype=half, requires_grad=True)
    other = torch.tensor([[0.3], [-1.1]], dtype=wide, requires_grad=True)
    for n in (narrow, narrow.T.contiguous().T):
        for f in (lambda a, b: a + b, lambda a, b: b - a, lambda a, b: a * b, torch.minimum):
            found, expected = f(n, other), f(n.to(wide), other)
            assert found.dtype == wide and torch.equal(found, expected)
            g, h = torch.autograd.grad(found.sum(), (narrow, other))
            assert g.dtype == half and h.dtype == wide
    one, number = torch.tensor(0.5, dtype=half), torch.tensor(0.25, dtype=wide)
    assert (narrow * number).dtype == half and (one * number).dtype == wide
    assert (other * one).dtype == wide and (narrow + torch.ones(2, 3, dtype=torch.int64)).dtype == half
    assert (torch.ones(3, dtype=torch.float16) + torch.ones(3, dtype=torch.bfloat16)).dtype == torch.float32


@pytest.mark.parametrize("first", [1.0, -0.0, INF, NAN, 1e300, 3, -(2**53) - 1, True])
@pytest.mark.parametrize("second", [0.0, -INF, 2, False])
def test_a_choice_between_two_numbers(first, second):
    mask = torch.tensor([[True, False], [False, True]])
    found = torch.where(mask, first, second)
    wanted = torch.where(mask, *(torch.scalar_tensor(n, dtype=found.dtype) for n in (first, second)))
    kinds = {type(first), type(second)}
    assert found.dtype == (torch.float32 if float in kinds else torch.int64 if int in kinds else torch.bool)
    assert repr(found.tolist()) == repr(wanted.tolist())
    with torch.inference_mode():
        assert repr(torch.where(mask, first, second).tolist()) == repr(found.tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "bool", "bfloat16"])
def test_equality_of_tensors(torch, dtype):
    x = (torch.arange(600) % 3).to(getattr(torch, dtype)).reshape(2, 300)
    other = x.clone()
    assert torch.equal(x, other) and x.equal(x) and torch.equal(x, other=other)
    assert torch.equal(x[:, ::2], other[:, ::2])
    other[1, 299] = 2 if dtype != "bool" else not other[1, 299]
    assert torch.equal(x, other) is (x[1, 299].item() == other[1, 299].item())
    other[0, 3] = 1
    assert not torch.equal(x, other) and not torch.equal(x, x[:1]) and not torch.equal(x, x.reshape(-1))
    assert torch.equal(x[:0], other[:0]) and not torch.equal(x[:0], x[:, :0])
    if x.is_floating_point() or x.is_complex():
        assert torch.equal(x * 0, x * -0.0) and not torch.equal(x * float("nan"), x * float("nan"))
        with torch.inference_mode():
            assert torch.equal(x, x.clone())
        assert torch.equal(x.clone().requires_grad_(), x)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.equal(x, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_limits_of_each(torch, dtype):
    """Tensors as limits: NaN is a limit, too, and the upper one counts where they cross."""
    nan = float("nan") if dtype != "int64" else 0
    kind = getattr(torch, dtype)
    x = torch.tensor([-2, -1, 0, 1, 2, nan, 1, 2], dtype=kind)
    low = torch.tensor([-1, -1, -1, -1, -1, 0, nan, 3], dtype=kind)
    high = torch.tensor([1, 1, 1, 1, 1, 1, 1, 2], dtype=kind)
    for a, b in ((low, high), (low, None), (None, high)):
        found = torch.clamp(x, a, b)
        expected = x if a is None else torch.maximum(x, a)
        expected = expected if b is None else torch.minimum(expected, b)
        assert str(found.tolist()) == str(expected.tolist()) and found.dtype == kind
        assert str(torch.clamp(x[::2], None if a is None else a[::2], None if b is None else b[::2]).tolist()) == str(
            expected[::2].tolist())
    if dtype != "int64":
        leaf, a = x[:5].clone().requires_grad_(), low[:5].clone().requires_grad_()
        torch.clamp(leaf, a, high[:5]).sum().backward()
        assert leaf.grad.tolist() == [0, 1, 1, 1, 0] and a.grad.tolist() == [1, 0, 0, 0, 0]
