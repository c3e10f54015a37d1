"""How far results lie from the exact ones, in units of the last place.

Double precision is held against mpmath, single precision against the plain definition in double precision, which is
cheap enough for many arguments. Natively, single precision is within 2 units throughout, and within 1 where it is
computed in double precision (native/wide.h). In double precision elementary functions of NumPy keep NumPy's promise (4
units); our own are closer, apart from the special functions, and from compositions that say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import wengert as torch
from wengert.arrays import kernels as K

native = pytest.mark.skipif(not K.available, reason="installed without native kernels")

# name: largest error of the native kernel in single and in double precision, of the plain definition
NUMPYS = ("exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
          "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt")
BOUNDS = {
    **dict.fromkeys(NUMPYS, (2.0, 4.0, 4.0)),
    **dict.fromkeys(("exp", "expm1", "log", "log2", "log10", "tan", "cosh", "arcsin", "arccos", "arctan"),
        (1.0, 4.0, 4.0)),
    "exp2": (1.0, 2.0, 4.0),
    "sqrt": (0.5, 0.5, 0.5),
    "reciprocal": (0.5, 0.5, 0.5),
    "sigmoid": (2.0, 2.5, 4.0),
    "log_sigmoid": (2.0, 2.0, 4.0),
    "softplus": (2.0, 2.0, 4.0),
    "elu": (1.5, 1.5, 4.0),
    "silu": (2.0, 3.0, 64.0),  # the plain ones multiply a subnormal sigmoid, of few digits, by x
    "mish": (1.0, 4.0, 64.0),
    "gelu": (1.0, 6.0, 8.0),
    "erf": (1.5, 1.5, 4.0),
    "erfc": (1.0, 5.0, 6.0),
    "erfcx": (1.0, 6.0, 6.0),
    "erfinv": (1.0, 6.0, 6.0),
    "logit": (1.5, 4.0, 4.0),
    "entr": (1.0, 4.0, 4.0),
    "ndtr": (1.0, 6.5, 6.0),
    "lgamma": (2.0, 4.0, 4.0),
    "digamma": (2.0, 6.0, 6.0),
    "trigamma": (1.0, 6.0, 6.0),
}
#: Where the exact result passes through zero between numbers, units are those of one.
CROSSING = {"lgamma", "digamma", "trigamma", "logit"}
UNIT = {"arcsin", "arccos", "arctanh", "erfinv", "logit"}
POSITIVE = {"log", "log2", "log10", "sqrt"}


def points(name, dtype, count):
    """Arguments near zero, of middle size, up to overflow and of every magnitude; subnormals, and the ends."""
    rng, info = np.random.default_rng(7), np.finfo(dtype)
    top = np.log(float(info.max))
    x = np.concatenate((
        rng.standard_normal(count), rng.uniform(-15, 15, count), rng.uniform(-top, top, count),
        10.0 ** rng.uniform(np.log10(float(info.tiny)), 4, count) * rng.choice([-1, 1], count),
        [0.0, 1.0, 0.5, float(info.tiny), 3 * float(info.smallest_subnormal), np.nextafter(top, 0)],
    ))
    if name in UNIT:
        x = np.abs(np.tanh(x)) if name == "logit" else np.tanh(x)
    elif name in POSITIVE or name == "entr":
        x = np.abs(x)
    elif name == "arccosh":
        x = 1 + np.abs(x)
    elif name == "log1p":
        x = np.where(x <= -1, -np.exp(-np.abs(x)), x)
    elif name == "erfcx":
        x = np.maximum(x, -8)
    elif name in CROSSING:
        x = np.maximum(x, -20)
        x = x[(x > 0) | (x != np.floor(x))]
    elif name == "reciprocal":
        x = x[np.abs(x) > 1 / float(info.max)]
    x = x.astype(dtype)
    return x[np.abs(x) < 1] if name in UNIT else x


def exact(m):
    """The functions in mpmath, where they go by other names or definitions."""
    own = {
        "exp2": lambda x: m.mpf(2) ** x, "log2": lambda x: m.log(x) / m.log(2),
        "cbrt": lambda x: m.sign(x) * m.cbrt(abs(x)), "reciprocal": lambda x: 1 / x,
        "sigmoid": lambda x: 1 / (1 + m.exp(-x)), "silu": lambda x: x / (1 + m.exp(-x)),
        "log_sigmoid": lambda x: -m.log1p(m.exp(-x)), "softplus": lambda x: x if x > 20 else m.log1p(m.exp(x)),
        "elu": lambda x: x if x > 0 else m.expm1(x), "mish": lambda x: x * m.tanh(m.log1p(m.exp(x))),
        "gelu": lambda x: x * m.ncdf(x), "ndtr": m.ncdf, "erfcx": lambda x: m.exp(x * x) * m.erfc(x),
        "logit": lambda x: m.log(x / (1 - x)), "entr": lambda x: -x * m.log(x) if x else m.mpf(0),
        "lgamma": lambda x: m.log(abs(m.gamma(x))), "trigamma": lambda x: m.psi(1, x),
    }
    named = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
        "arctanh": "atanh"}
    return lambda name: own.get(name) or getattr(m, named.get(name, name))


@cache
def double_reference(name):
    """Arguments, and the exact results as sums of two doubles."""
    m = pytest.importorskip("mpmath").mp
    x = points(name, np.float64, 60 if name != "erfinv" else 15)
    function = exact(m)(name)
    high, low = np.empty_like(x), np.zeros_like(x)
    with m.workprec(140):
        for i, value in enumerate(x.tolist()):
            result = m.mpf("-inf") if name in POSITIVE - {"sqrt"} and value == 0 else function(m.mpf(value))
            high[i] = result
            if np.isfinite(high[i]):
                low[i] = result - m.mpf(high[i])
    return x, high, low


def call(function, name, x):
    with np.errstate(all="ignore"):
        return function(x, 1.0, 1.0, 1.0) if name == "elu" else function(x)


def errors(got, high, low, name):
    """In units of the last place of the exact result; ends must be met exactly."""
    with np.errstate(all="ignore"):
        want = np.asarray(high).astype(got.dtype)
        end = ~np.isfinite(want)
        np.testing.assert_array_equal(got[end], want[end])
        size = np.maximum(np.abs(want), 1) if name in CROSSING else np.abs(want)
        unit = np.spacing(size).astype(np.float64)
        return np.where(end, 0, np.abs(got.astype(np.float64) - high - low) / unit)


def check(x, found, bound):
    worst = int(np.argmax(found)) if found.size else 0
    assert not np.isnan(found).any()
    assert found[worst] <= bound, f"{found[worst]:.3g} units at {x[worst]!r}"


def definitions(name, double):
    """The native and the plain one with their bounds; the plain one alone where there is no other."""
    native_bound, plain_bound = BOUNDS[name][double], BOUNDS[name][2]
    both = [(getattr(K, name), native_bound), (K.plain(name), plain_bound)]
    return both if K.available else both[1:]


@pytest.mark.parametrize("name", BOUNDS)
def test_double_precision(name):
    x, high, low = double_reference(name)
    for function, bound in definitions(name, True):
        check(x, errors(call(function, name, x), high, low, name), bound)


@pytest.mark.parametrize("name", BOUNDS)
def test_single_precision(name):
    x = points(name, np.float32, 20_000)
    high = call(K.plain(name), name, x.astype(np.float64))
    for function, bound in definitions(name, False):
        found = errors(call(function, name, x), high, 0.0, name)
        check(x, found / (gelu_slack(x) if name == "gelu" and function is K.gelu else 1.0), bound)


def gelu_slack(x):
    """In blocks without a large number it is computed in single precision: as good as its exponent to the left."""
    low = np.clip(x.astype(np.float64), -6, 0)
    return np.where(low >= -5.5, 4 + 4 * low * low, 1)


@native
@pytest.mark.parametrize("name", ["silu", "mish", "gelu", "gelu_tanh"])
def test_gates_at_the_ends(name):
    """The largest numbers pass or vanish, with their sign; minus infinity times zero is not a number."""
    top = float(np.finfo(np.float32).max)
    x = np.array([-top, -1e30, -200.0, -0.0, 0.0, 200.0, 1e30, top, np.inf, -np.inf, np.nan], np.float32)
    got = getattr(K, name)(x)
    np.testing.assert_array_equal(got, [-0.0] * 4 + [0.0, 200.0, np.float32(1e30), top, np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(np.signbit(got[:9]), np.signbit(x[:9]))


@native
@pytest.mark.parametrize("far", [4.0, 5.5])
def test_gelu_of_blocks_near_zero(far):
    x = np.linspace(-far, far, 128 * 2000).astype(np.float32)
    x[::128] = -far
    high = K.plain("gelu")(x.astype(np.float64))
    found = errors(K.gelu(x), high, 0.0, "gelu")
    check(x, found / gelu_slack(x), 1.0)
    check(x[x > 1], found[x > 1], 1.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lgamma_around_its_zeros(dtype):
    """Relative to the result itself, and exactly zero at one and two."""
    eps = float(np.finfo(dtype).eps)
    x = np.array([[1 + eps, 1 - eps, 1.01, 0.99, 2 + 2 * eps, 2 - eps, 1.99, 2.01, 1.5, 0.5]] * 20, dtype).ravel()
    m = pytest.importorskip("mpmath").mp
    with m.workprec(140):
        want = np.array([float(m.loggamma(m.mpf(v))) for v in x[:10].tolist()] * 20)
    np.testing.assert_allclose(K.lgamma(x).astype(np.float64), want, rtol=8 * eps)
    np.testing.assert_array_equal(K.lgamma(np.array([1, 2] * 100, dtype)), np.zeros(200, dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_tanh_is_as_good_as_its_exponent(dtype):
    """The exponent is rounded, and exp makes of that an error in proportion to it; float32 is computed in double
    precision.
    """
    m = pytest.importorskip("mpmath").mp
    x = points("gelu", dtype, 60)
    x = x[np.abs(x) < 20]
    with m.workprec(140):
        inner = [2 * m.sqrt(2 / m.pi) * (m.mpf(v) + m.mpf("0.044715") * m.mpf(v) ** 3) for v in x.tolist()]
        want = np.array([float(m.mpf(v) / (1 + m.exp(-u))) for v, u in zip(x.tolist(), inner)])
    bound = 6 + 4 * np.abs(np.array([float(u) for u in inner]))
    check(x, errors(K.plain("gelu_tanh")(x), want, 0.0, "gelu_tanh") / bound, 1.0)
    if K.available:
        check(x, errors(K.gelu_tanh(x), want, 0.0, "gelu_tanh") / (1.0 if dtype == np.float32 else bound), 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_of_tensors(dtype):
    """What is put together from NumPy's functions, at moderate arguments, in multiples of the epsilon."""
    m = pytest.importorskip("mpmath").mp
    x = torch.rand(300, dtype=dtype) * 8 + 0.01
    exactly = {
        "rsqrt": lambda v: 1 / m.sqrt(v), "sqrt": m.sqrt, "log1p": m.log1p, "softsign": lambda v: v / (1 + v),
        "sinc": lambda v: m.sin(m.pi * v) / (m.pi * v), "celu": lambda v: v, "square": lambda v: v * v,
    }
    for name, function in exactly.items():
        got = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        want = [float(function(m.mpf(v))) for v in x.tolist()]
        torch.testing.assert_close(got(x).double(), torch.tensor(want, dtype=torch.float64),
            rtol=2 * torch.finfo(dtype).eps,
                                   atol=8 * torch.finfo(dtype).eps if name == "sinc" else 0)
    for exponent in (2.5, -1.5, 3.0, 0.5):
        want = [float(m.mpf(v) ** m.mpf(exponent)) for v in x.tolist()]
        torch.testing.assert_close((x**exponent).double(), torch.tensor(want, dtype=torch.float64),
            rtol=3 * torch.finfo(dtype).eps, atol=0)


@native
@pytest.mark.skipif("WENGERT_ISA" in os.environ, reason="the level is given")
@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_other_instruction_sets(level):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env={**os.environ, "WENGERT_ISA": level}, capture_output=True, text=True,
        timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
