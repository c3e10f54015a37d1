"""Elementary functions that NumPy computes one number at a time, unless it has AVX-512: against NumPy's own.

Their distance from exact results is in test_ulp.py; here are special values, functions of two numbers, blocks that
change hands between kernels and NumPy, layouts and types of 16 bits.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as torch
from wengert.arrays import kernels as K
from wengert.arrays.plain.special import series

REALS = [np.float32, np.float64]
ONE = ["exp", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh", "tan", "arcsin", "arccos", "arctan",
    "arcsinh", "arccosh", "arctanh"]
TWO = ["arctan2", "power", "logaddexp2", "nextafter", "copysign"]
SOME = [0.0, 1.0, 0.5, 2.0, 3.0, 1e-3, 1e-8, 0.99, 1.01, 20.0, 88.7, 89.5, 104.0, 709.7, 710.4, 711.0, 1e5, 1e10, 3e38,
    1e300, np.inf, np.nan, 1e-42, 5e-324, 2.3e-308]


def odd(dtype):
    """Ends, subnormals and turning points, with both signs."""
    with np.errstate(all="ignore"):
        x = np.array([*SOME, *(-v for v in SOME)]).astype(dtype)
        return np.concatenate([x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(np.inf))])


def agree(got, want, ulps, least=0.0):
    """The same up to ``ulps`` units, of ``least`` at least; the same zeros with their signs, infinities and NaN."""
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    some = ~np.isnan(want)
    got, want = got[some], want[some]
    if not least:
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    ends = np.isinf(want)
    np.testing.assert_array_equal(got[ends], want[ends])
    with np.errstate(all="ignore"):
        apart = np.abs(got - want)[~ends] / np.spacing(np.maximum(np.abs(want[~ends]), got.dtype.type(least)))
    assert apart.size == 0 or apart.max() <= ulps


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ONE)
def test_special_values(name, dtype):
    x = odd(dtype)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x)
    agree(getattr(K, name)(x), want, 4)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", TWO)
def test_special_pairs(name, dtype):
    x = odd(dtype)
    a, b = (v.ravel() for v in np.meshgrid(x, x))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(a, b)
    ulps = 0 if name in ("nextafter", "copysign") else 4
    agree(getattr(K, name)(a, b), want, ulps, 1.0 if name == "logaddexp2" else 0.0)


@pytest.mark.parametrize("dtype", REALS)
def test_angles_against_exact_ones(dtype):
    m = pytest.importorskip("mpmath").mp
    rng = np.random.default_rng(3)
    y, x = (rng.standard_normal(300) * 10.0 ** rng.integers(-12, 12, 300) for _ in range(2))
    y[:40], x[:40] = np.cos(rng.uniform(0, 7, 40)), np.sin(rng.uniform(0, 7, 40))
    y, x = y.astype(dtype), x.astype(dtype)
    with m.workprec(140):
        exact = [m.atan2(m.mpf(a), m.mpf(b)) for a, b in zip(y.tolist(), x.tolist())]
        got = K.arctan2(y, x).tolist()
        apart = [float(abs(m.mpf(g) - e)) for g, e in zip(got, exact)]
    units = np.spacing(np.abs(np.array([float(e) for e in exact]).astype(dtype))).astype(float)
    assert (np.array(apart) <= 2.5 * units).all()


def test_powers_of_float32_against_double_precision():
    rng = np.random.default_rng(4)
    x = 10.0 ** rng.uniform(-10, 10, 20_000)
    y = rng.uniform(-4, 4, 20_000)
    x, y = x.astype(np.float32), y.astype(np.float32)
    want = x.astype(np.float64) ** y.astype(np.float64)
    got = K.power(x, y)
    with np.errstate(all="ignore"):
        units = np.spacing(want.astype(np.float32)).astype(np.float64)
    near = np.isfinite(units)
    assert (np.abs(got - want)[near] <= 1.0 * units[near]).all()


@pytest.mark.parametrize("dtype", REALS)
def test_whole_logarithms_are_whole(dtype):
    """Of powers of two, and of ten as far as they are numbers of the type."""
    twos = np.arange(-149 if dtype == np.float32 else -1074, 128)
    np.testing.assert_array_equal(K.log2(np.ldexp(dtype(1), twos).astype(dtype)), twos)
    tens = np.arange(11 if dtype == np.float32 else 23)
    agree(K.log10(np.array([10.0**k for k in tens], dtype)), tens.astype(dtype), 0 if K.available else 1)  # or NumPy's


@pytest.mark.parametrize("dtype", REALS)
def test_powers_by_blocks(dtype):
    """A negative base sends its block to NumPy, and its sign is kept; zeros and ends do not."""
    x = np.abs(np.random.default_rng(5).standard_normal(5000)).astype(dtype)
    x[::700] = 0
    x[[3, 900, 4000]] = [-2.0, -0.0, -np.inf]
    for exponent in (-3.0, -0.5, 1.5, 3.0, np.nan):
        y = np.full_like(x, exponent)
        with np.errstate(all="ignore"):
            want = np.power(x, y)
        agree(K.power(x, y), want, 2)
        agree(K.power(x, exponent), want, 2)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_layouts(name, dtype):
    """Views, rows and numbers give what lines give."""
    rng, kernel = np.random.default_rng(6), getattr(K, name)
    count = 2 if name in TWO else 1
    args = [np.abs(rng.standard_normal((30, 40))).astype(dtype) * dtype(0.3) for _ in range(count)]
    want = kernel(*args)
    np.testing.assert_array_equal(kernel(*[np.repeat(a, 2, 1)[:, ::2] for a in args]), want)
    np.testing.assert_array_equal(kernel(*[a.T for a in args]).T, want)
    backwards, theirs = [a[::-1, ::-1] for a in args], getattr(np, name, kernel)
    with np.errstate(all="ignore"):
        alike = np.array_equal(theirs(*backwards)[::-1, ::-1], theirs(*args), equal_nan=True)
    if alike:
        np.testing.assert_array_equal(kernel(*backwards)[::-1, ::-1], want)
    else:  # with AVX-512 NumPy has vectors for lines, and none for what it reads backwards
        agree(kernel(*backwards)[::-1, ::-1], want, 4)
    np.testing.assert_array_equal(kernel(*[a[:0] for a in args]), want[:0])
    np.testing.assert_array_equal(kernel(*[a[2:3, 3:9] for a in args]), want[2:3, 3:9])
    if count == 2:
        np.testing.assert_array_equal(kernel(args[0], args[1][:1])[0], want[0])
        np.testing.assert_array_equal(kernel(args[0][5:6, 7:8], args[1])[5, 7], want[5, 7])


def test_powers_of_a_number():
    """Of a tensor of exponents, alone and within the gradient of ``ldexp``."""
    y = torch.tensor([0.5, -1.5, 3.0], dtype=torch.float64, requires_grad=True)
    assert torch.pow(2.0, y).tolist() == [2.0**0.5, 2.0**-1.5, 8.0]
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(torch.ldexp(x, y.detach()).sum(), x)[0].tolist() == [2.0**0.5, 2.0**-1.5, 8.0]


def test_erfinv_of_any_block():
    """Blocks with a number of the far tail, or an end, are computed one by one."""
    m = pytest.importorskip("mpmath").mp
    x = np.random.default_rng(10).uniform(-1, 1, 2000)
    near = K.erfinv(x)
    ends = x.copy()
    ends[::256] = [1 - 1e-13, -1.0, 1.0, 2.0, np.nan, -1 + 1e-12, 1 - 1e-15, -2.0]
    far = K.erfinv(ends)
    np.testing.assert_array_equal(far[1792:2000:256][:1], [np.nan])
    np.testing.assert_array_equal(far[[256, 512, 768, 1024]], [-np.inf, np.inf, np.nan, np.nan])
    others = np.arange(2000) % 256 != 0
    np.testing.assert_allclose(far[others], near[others], rtol=1e-15)
    for i in (0, 1280, 1536, 3, 700):
        np.testing.assert_allclose(far[i], float(m.erfinv(m.mpf(float(ends[i])))), rtol=2e-15)


def test_chebyshev_series():
    """Lines of any length, views, numbers, and one coefficient alone."""
    t = np.random.default_rng(9).uniform(-1, 1, (7, 100))
    for coefficients in ((0.5,), (0.5, -2.0), tuple(np.random.default_rng(9).standard_normal(40).tolist())):
        want = np.polynomial.chebyshev.chebval(t, coefficients)
        for x, value in ((t, want), (t[:, ::3], want[:, ::3]), (t[0, :1], want[0, :1]), (t[:0], want[:0]),
                (t[3, 4], want[3, 4]), (np.append(t, np.nan), np.append(want, np.nan))):
            np.testing.assert_allclose(series(x, coefficients), value, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_by_their_parts(dtype):
    """Negation, the angle and the replacement of NaN, of lines and of views."""
    rng = np.random.default_rng(8)
    x = (rng.standard_normal((20, 30)) + 1j * rng.standard_normal((20, 30))).astype(dtype)
    x.reshape(-1).real[:4], x.reshape(-1).imag[1:5] = [0.0, -0.0, np.inf, np.nan], [-0.0, np.nan, -np.inf, 0.0]
    for view in (x, x.T, x[:, ::2], x[::-1, ::-1], x[:0], x[3], x[:1, :1]):
        got = K.negative(view)
        for part in ("real", "imag"):
            np.testing.assert_array_equal(np.signbit(getattr(got, part)), np.signbit(-getattr(view, part)))
            np.testing.assert_array_equal(getattr(got, part), -getattr(view, part))
        tensor = torch.from_numpy(view.copy())
        agree(torch.angle(tensor).numpy(), np.angle(view), 4)
        np.testing.assert_array_equal(torch.nan_to_num(torch.from_numpy(np.ascontiguousarray(view))).numpy(),
            np.nan_to_num(view))
    want = -x[4:]
    assert np.array_equal(K.negative(x[4:], out=x[4:]), want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_types_of_16_bits_are_float32_rounded(dtype):
    x = (torch.rand(600, dtype=torch.float32) * 0.9 + 0.05).to(dtype)
    for name in ("log1p", "sinh", "asinh", "atanh", "logit", *(["erfinv"] if K.available else [])):  # NumPy's is wider
        assert torch.equal(getattr(torch, name)(x), getattr(torch, name)(x.float()).to(dtype)), name
    assert torch.equal(torch.atan2(x, x.flip(0)), torch.atan2(x.float(), x.flip(0).float()).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_margin_loss_of_what_is_far_beyond_it(dtype):
    """The logarithm of one and little is that little."""
    x = torch.tensor([20.0, 40.0, -200.0, 0.0], dtype=dtype)
    got = torch.nn.functional.soft_margin_loss(x, torch.ones(4, dtype=dtype), reduction="none")
    torch.testing.assert_close(got, torch.log1p(torch.exp(-x)))
    assert got[0] > 2e-9


@pytest.mark.skipif("WENGERT_ISA" in os.environ or not K.available, reason="the level is given, or there is none")
@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_other_instruction_sets(level):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env={**os.environ, "WENGERT_ISA": level}, capture_output=True, text=True,
        timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
