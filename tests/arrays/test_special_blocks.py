"""Special functions that are computed by blocks: against their plain definitions, exact values and PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from wengert.arrays import kernels as K

REALS = [np.float32, np.float64]
BESSEL = K.FAMILIES["bessel"]
ORTHOGONAL = K.FAMILIES["orthogonal"]
POSITIVE = {name for name in BESSEL if "_y" in name or "_k" in name}
TWO = ["gammainc", "gammaincc", "zeta", "xlogy", "xlog1py", "heaviside", *ORTHOGONAL]
ONE = [*BESSEL, "ndtri", "sinc", "trigamma"]
ODD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-30, 3e38, 88.8, -88.8, 710.0, -710.0, 8.0, -6.0,
    2.0, 0.5, 1e6, 1e-13, 1 - 1e-13]
CROSSING = {"bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai", "spherical_j0", "sinc", *ORTHOGONAL}


def arguments(name, shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    if name in ORTHOGONAL:
        return rng.uniform(-1, 1, shape).astype(dtype), rng.integers(-2, 40, shape).astype(dtype)
    if name in TWO:
        low = 1.05 if name == "zeta" else 0.05
        return tuple(rng.uniform(low, 20, shape).astype(dtype) for _ in range(2))
    if name == "ndtri":
        return (rng.uniform(0, 1, shape).astype(dtype),)
    return (rng.uniform(0.01 if name in POSITIVE or name == "trigamma" else -25, 25, shape).astype(dtype),)


def agree(name, got, want, ulps=60):
    assert got.dtype == want.dtype and got.shape == want.shape
    bound = ulps * float(np.finfo(want.dtype).eps)
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound * (name in CROSSING), err_msg=name)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_equal_to_the_definition(name, dtype):
    """Lines that end within a block and go beyond it, empty ones, numbers, views."""
    kernel, plain = getattr(K, name), K.plain(name)
    for shape in ((), (1,), (5,), (255,), (257,), (3, 300), (0,), (2, 0)):
        args = arguments(name, shape, dtype)
        agree(name, np.asarray(kernel(*args)), np.asarray(plain(*args)))
    args = arguments(name, (40, 50), dtype)
    want = kernel(*args)
    for view in (lambda a: a[:, ::2], lambda a: a.T, lambda a: a[::-1, ::-1], lambda a: a[:1]):
        agree(name, kernel(*map(view, args)), view(want), 4)
    agree(name, kernel(*args[:-1], args[-1][:1, :1]), plain(*args[:-1], args[-1][:1, :1]))
    target = args[0].copy()
    assert kernel(target, *args[1:], out=target) is target
    agree(name, target, want, 4)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_odd_values_as_the_definition(name, dtype):
    x = np.array(ODD).astype(dtype)
    if name in TWO:
        second = np.minimum(x, 1000) if name in ORTHOGONAL else np.maximum(x, -30) if name == "zeta" else x
        args = [np.ascontiguousarray(a) for a in np.meshgrid(x, second)]
    else:
        args = [np.tile(x, 20)]
    got, want = getattr(K, name)(*args), K.plain(name)(*args)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    infinite = np.isinf(got)
    np.testing.assert_array_equal(got[infinite], want[infinite])
    finite = np.isfinite(want)
    if name in ORTHOGONAL:  # what was much larger on the way leaves its rounding errors
        finite &= np.abs(args[0]) <= 1
    if name == "gammaincc":  # one less a number near it
        finite &= np.abs(want) > 1e-9
    agree(name, got[finite], want[finite], 1000 if name == "gammainc" else 200)  # an exponent of hundreds


@pytest.mark.parametrize("name", [*BESSEL, "ndtri", "gammainc", "gammaincc", "zeta", *ORTHOGONAL])
def test_single_precision_is_rounded_double(name):
    args = arguments(name, (2000,), np.float32)
    want = K.plain(name)(*[a.astype(np.float64) for a in args])
    np.testing.assert_allclose(getattr(K, name)(*args), want, rtol=1e-7, atol=1e-10 * (name in CROSSING))


@pytest.mark.skipif(not K.available, reason="definitions round once, from float64")
def test_halves_of_special_functions():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in [*ONE, *TWO]:
        for half in (np.float16, ml_dtypes.bfloat16):
            args = [a.astype(half) for a in arguments(name, (300,))]
            got, want = getattr(K, name)(*args), getattr(K, name)(*[a.astype(np.float32) for a in args])
            assert got.dtype == half
            with np.errstate(over="ignore"):
                want = want.astype(half).astype(np.float32)
            np.testing.assert_array_equal(got.astype(np.float32), want, err_msg=name)


# 40-digit values, rounded.
EXACT = {
    "bessel_j0": [(0.5, 0.9384698072408129), (12.5, 0.1468840547004211), (-3.0, -0.26005195490193345)],
    "bessel_j1": [(0.5, 0.2422684576748739), (12.5, -0.16548380461475973), (-3.0, -0.3390589585259365)],
    "bessel_y0": [(0.5, -0.44451873350670656), (12.5, -0.1712143068446693)],
    "bessel_y1": [(0.5, -1.471472392670243), (12.5, -0.1538382565375012)],
    "modified_i0": [(0.5, 1.0634833707413236), (-20.0, 43558282.559553534)],
    "modified_i1": [(0.5, 0.2578943053908963), (-20.0, -42454973.38512777)],
    "modified_k0": [(0.5, 0.9244190712276659), (3.0, 0.03473950438627925)],
    "modified_k1": [(0.5, 1.656441120003301), (3.0, 0.040156431128194184)],
    "scaled_i0": [(3.0, 0.2430003541618254), (100.0, 0.03994437929909668)],
    "scaled_i1": [(3.0, 0.19682671329730086), (100.0, 0.03974415302513025)],
    "scaled_k0": [(0.5, 1.5241093857739094), (30.0, 0.22788666561625373)],
    "scaled_k1": [(0.5, 2.731009708211786), (30.0, 0.2316541293777118)],
    "airy_ai": [(-8.0, -0.0527050503563862), (0.0, 0.3550280538878172), (3.0, 0.006591139357460719)],
    "spherical_j0": [(2.0, 0.45464871341284085)],
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_values(name):
    x, want = np.array(EXACT[name]).T
    for function in (getattr(K, name), K.plain(name)):
        np.testing.assert_allclose(function(x), want, rtol=2e-14)


def test_incomplete_gamma_functions_are_exact():
    """Their series, their fraction and the expansion for large numbers; the definition as well as the kernel."""
    m = pytest.importorskip("mpmath")
    rng = np.random.default_rng(3)
    for low, high, ulps in ((0.05, 3, 40), (3, 20, 80), (20, 200, 80), (1000, 3000, 80), (11000, 20000, 80)):
        a = rng.uniform(low, high, 25)
        x = np.abs(a + rng.standard_normal(25) * np.sqrt(a)) + 1e-3
        with m.workdps(50):
            upper = [m.gammainc(m.mpf(p), m.mpf(q), m.inf, regularized=True) for p, q in zip(a.tolist(), x.tolist())]
            exact = {"gammaincc": np.array([float(q) for q in upper]),
                "gammainc": np.array([float(1 - q) for q in upper])}
        for name, want in exact.items():
            for function in (getattr(K, name), K.plain(name)):
                np.testing.assert_allclose(function(a, x), want, rtol=ulps * 2.2e-16)


def test_incomplete_gamma_functions_far_away():
    """Numbers whose products are beyond float64, and the least there are."""
    a = np.array([2.0, 1e300, 1e300, 1e-300, 5e-324, 1e10, 1e150, 0.5, 1e200, 1e308, 1e308])
    x = np.array([1e200, 1.5e300, 1e299, 1e200, 1e-300, 1.4e10, 2e150, 1e308, 1e200, 1.7e308, 1e308])
    upper = np.array([0, 0, 1, 0, 0, 0, 0, 0, 0.5, 0, 0.5])
    for kernel in (lambda name: getattr(K, name), K.plain):
        np.testing.assert_allclose(kernel("gammaincc")(a, x), upper, rtol=1e-15)
        np.testing.assert_allclose(kernel("gammainc")(a, x), 1 - upper, rtol=1e-15)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 30])
def test_derivatives_of_digamma(n):
    x = np.concatenate([np.random.default_rng(4).uniform(0.1, 20, 300), [-0.5, -2.5, 0.0]])
    for dtype in REALS:
        given = x.astype(dtype)
        got, want = K.polygamma(n, given), K.plain("polygamma")(n, given)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=30 * float(np.finfo(dtype).eps), atol=1e-14)
    assert K.polygamma(n, x.reshape(3, 101)[:, ::2]).shape == (3, 51)


@pytest.mark.parametrize("p", [1, 2, 3, 6])
def test_multivariate_gamma_function(p):
    x = np.concatenate([np.random.default_rng(5).uniform(-3, 30, 600), [np.inf, -np.inf, np.nan, 0.0, 2.5, -1.0, 1e30]])
    for dtype in REALS:
        given = x.astype(dtype)
        got, want = K.log_multigamma(given, float(p)), K.plain("log_multigamma")(given, float(p))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=1e-6 if dtype is np.float32 else 1e-14, atol=1e-14)
    assert torch.mvlgamma(torch.tensor([[3.0], [4.0]]), p).shape == (2, 1)


@pytest.mark.parametrize("name", ORTHOGONAL)
def test_degrees(name):
    """Of any size up to a limit, whole numbers or cut off to such."""
    x = np.linspace(-1, 1, 7)
    for kernel in (getattr(K, name), K.plain(name)):
        np.testing.assert_array_equal(kernel(x, np.float64(-3)), 0)
        np.testing.assert_array_equal(kernel(x, np.full((), -0.5)), 1)
        np.testing.assert_array_equal(kernel(x, np.full(7, 4.9)), kernel(x, np.full(7, 4.0)))
        assert np.isnan(kernel(x, np.array([np.nan, np.inf] * 3 + [np.nan]))).all()
        assert np.isnan(kernel(np.full(3, np.nan), np.full(3, 2.0**20))).all()
        for degrees in (np.full((), 2.0**21), np.array([1.0, np.nan, np.inf, 2.0**21, 3.0, 4.0, 5.0])):
            with pytest.raises(RuntimeError, match="the degree 2097152 of a polynomial is too large"):
                kernel(x, degrees)


def test_infinite_degrees_are_not_numbers():
    x = torch.tensor([0.5, 0.25])
    found = torch.special.legendre_polynomial_p(x, torch.tensor([float("inf"), 2.0]))
    assert torch.isnan(found).tolist() == [True, False]
    assert torch.special.hermite_polynomial_h(x, 2).tolist() == [-1.0, -1.75]
    assert torch.special.shifted_chebyshev_polynomial_t(x, torch.tensor([1, 2])).tolist() == [0.0, -0.5]


def test_zero_times_a_logarithm():
    zero, one, nan = torch.tensor([0.0, 0.0, 0.0, 2.0]), torch.tensor([0.0, -1.0, float("nan"), 1.0]), float("nan")
    np.testing.assert_array_equal(torch.xlogy(zero, one).numpy(), [0, 0, nan, 0])
    np.testing.assert_array_equal(torch.special.xlog1py(zero, one - 1).numpy(), [0, 0, nan, 0])
    assert torch.xlogy(2, torch.tensor([1.0, 1.0], dtype=torch.float64)).dtype == torch.float64
    assert torch.xlogy(torch.tensor(2.0, dtype=torch.float64), torch.ones(2)).dtype == torch.float32
    assert torch.xlogy(torch.ones(2), 3).dtype == torch.float32
    assert torch.xlogy(torch.ones(2, dtype=torch.int64), 3).dtype == torch.float32
