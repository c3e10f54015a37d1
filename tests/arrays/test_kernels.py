"""Every kernel against its plain-NumPy definition, and the plain definitions against reference values."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.arrays import kernels as K

native = pytest.mark.skipif(not K.available, reason="installed without native kernels")

# 40-digit values, rounded.
REFERENCE = {
    "erf": (
        (-3.5, -0.9999992569016276),
        (-1, -0.8427007929497149),
        (-0.46875, -0.49261347321793797),
        (-1e-08, -1.1283791670955126e-08),
        (0.3, 0.3286267594591274),
        (0.505, 0.5248827877319636),
        (0.9999, 0.8426592780487595),
        (1.0001, 0.8427422995485203),
        (2.25, 0.9985372834133188),
        (5.5, 0.9999999999999927),
    ),
    "erfc": (
        (-4, 1.999999984582742),
        (-0.5, 1.5204998778130465),
        (0.1, 0.887537083981715),
        (0.47, 0.5062549491139179),
        (1, 0.15729920705028513),
        (3.9, 3.4792248597231765e-08),
        (4.1, 6.700027654084918e-09),
        (10, 2.088487583762545e-45),
        (26, 5.663192408856143e-296),
    ),
    "erfcx": (
        (-20, 1.0442939379528289e174),
        (-3, 16205.988853999586),
        (-0.1, 1.1236433541992095),
        (0.2, 0.8090195199015807),
        (1, 0.427583576155807),
        (4.5, 0.12248480427384142),
        (100, 0.005641613782989433),
        (1000000.0, 5.641895835474742e-07),
    ),
    "erfinv": (
        (-0.999, -2.3267537655135246),
        (-0.5, -0.4769362762044699),
        (1e-10, 8.862269254527581e-11),
        (0.1, 0.08885599049425769),
        (0.85, 1.0179024648320276),
        (0.9, 1.1630871536766743),
        (0.9999999999990905, 5.05125408524939),
        (0.9999999999999998, 5.805018683193453),
    ),
    "ndtr": (
        (-12, 1.776482112077679e-33),
        (-3, 0.0013498980316300946),
        (-0.5, 0.3085375387259869),
        (0.0, 0.5),
        (1, 0.8413447460685429),
        (6, 0.9999999990134123),
    ),
    "ndtri": (
        (1e-300, -37.0470962993612),
        (1e-10, -6.361340902404057),
        (0.01, -2.326347874040841),
        (0.3, -0.5244005127080408),
        (0.5, 0.0),
        (0.975, 1.9599639845400538),
    ),
    "log_ndtr": (
        (-30, -454.3212439563432),
        (-5, -15.064998393988725),
        (-1, -1.8410216450092636),
        (0.5, -0.3689464152886564),
        (3, -0.0013508099647481938),
        (8, -6.220960574271786e-16),
    ),
    "lgamma": (
        (1e-20, 46.051701859880914),
        (0.2, 1.5240638224307845),
        (0.9999, 5.7729791561193866e-05),
        (1.000001, -5.772148423874147e-07),
        (1.5, -0.12078223763524522),
        (2.000000001, 4.2278437040226697e-10),
        (2.7, 0.4348205536551047),
        (5, 3.1780538303479458),
        (9.99, 12.779315214350193),
        (10.01, 12.824350262448247),
        (171, 706.5730622457874),
        (1e20, 4.505170185988091e21),
        (-0.5, 1.2655121234846454),
        (-3.3, -0.8243558050174264),
        (-1e-10, 23.025850929998178),
    ),
    "digamma": (
        (1e-05, -100000.57719921567),
        (0.3, -3.502524222200133),
        (1, -0.5772156649015329),
        (1.4616, -3.110625123034165e-05),
        (1.47, 0.008066489011364869),
        (2.5, 0.7031566406452432),
        (9, 2.14064147795561),
        (11, 2.351752589066721),
        (10000000000.0, 23.025850929890456),
        (-0.3, 2.113309779635399),
        (-3.7, -0.8450768588704194),
    ),
    "trigamma": (
        (0.01, 10001.621213528313),
        (1, 1.6449340668482264),
        (5, 0.22132295573711533),
        (12, 0.08690187287176838),
        (1000000.0, 1.0000005000001667e-06),
        (-1.5, 9.379246644989124),
    ),
}

# The activations with numbers: what they are called with.
NUMBERS = {
    "softplus": [(1.0, 20.0), (0.5, 3.0), (4.0, 20.0)],
    "leaky_relu": [(0.01,), (0.0,), (-0.5,)],
    "hardtanh": [(-1.0, 1.0), (0, 6), (2.5, 2.5)],
    "elu": [(1.0, 1.0, 1.0), (1.75809934, 1.05070098, 1.0), (-0.5, 2.0, 0.25)],
}
OTHERS = {"rsqrt", "cube", "signum", "square_difference", "lerp", "scaled_sum", "smooth_l1", "nan_to_num", "bent",
    "logit", "gated", "hardshrink", "softshrink", "shrink", "threshold", "huber", "scaled_product", "scaled_quotient",
    "xlogy", "xlog1py", "heaviside"}
ACTIVATIONS = [name for name in K.FAMILIES["elementwise"] if name.removesuffix("_grad") not in {*NUMBERS, *OTHERS}]
SPECIAL = ["erf", "erfc", "erfcx", "erfinv", "ndtr", "lgamma", "digamma", "trigamma"]
COMPLEX = ["sigmoid", "sigmoid_grad", "tanh_grad", "silu", "silu_grad"]
ODD_VALUES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-42, -1e-42, 5e-324, 3e38, -3e38]
ODD_VALUES += [88.8, -88.8, -104.5, 20.5]


def arguments(name, dtype, shape=(7, 33), seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(shape) * 3).astype(dtype)
    if name == "erfinv":
        x = np.tanh(x)
    if name in ("sigmoid_grad", "tanh_grad"):
        x = np.tanh(np.abs(x)) if name == "sigmoid_grad" else np.tanh(x)
    g = rng.standard_normal(shape).astype(dtype)
    return (g, x) if name.endswith(("_grad", "_bend")) else (x,)


def tolerance(dtype, ulps=8):
    return ulps * float(np.finfo(dtype).eps)


def close(got, want, ulps=8, scale=1.0):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    bound = tolerance(want.dtype, ulps)
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound * scale, equal_nan=True)


@pytest.mark.parametrize("name", REFERENCE)
def test_special_functions_have_their_reference_values(name):
    x, want = np.array(REFERENCE[name]).T
    for function in (K.plain(name), getattr(K, name)):
        np.testing.assert_allclose(function(x), want, rtol=2e-15)
        single = x.astype(np.float32)
        with np.errstate(over="ignore"):
            rounded = K.plain(name)(single.astype(np.float64)).astype(np.float32)
        np.testing.assert_allclose(function(single), rounded, rtol=6e-7, atol=1e-44)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ACTIVATIONS + SPECIAL)
def test_elementwise_equals_its_definition(name, dtype):
    kernel, plain = getattr(K, name), K.plain(name)
    for shape in [(), (1,), (5,), (7, 33), (1000,), (0,), (3, 0)]:
        args = arguments(name, dtype, shape)
        got, want = kernel(*args), plain(*args)
        close(np.asarray(got), np.asarray(want), ulps=40)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ACTIVATIONS + SPECIAL)
def test_elementwise_handles_odd_values_as_its_definition(name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(ODD_VALUES).astype(dtype)
    args = (np.ones_like(x), x) if name.endswith(("_grad", "_bend")) else (x,)
    got, want = getattr(K, name)(*args), K.plain(name)(*args)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    finite = np.isfinite(want)
    close(got[finite], want[finite], ulps=40)
    assert (got[finite & (np.abs(want) > 0) & (np.abs(want) < np.finfo(dtype).tiny)] != 0).all()  # no flush to zero


@pytest.mark.parametrize("name", ACTIVATIONS + SPECIAL)
def test_elementwise_layouts(name):
    """Strided, transposed, reversed, broadcast and in-place calls give what a contiguous call gives, bit for bit."""
    args = arguments(name, np.float32, (40, 50))
    kernel = getattr(K, name)
    want = kernel(*args)
    doubled = [np.repeat(a, 2, axis=1)[:, ::2] for a in args]
    close(kernel(*doubled), want, ulps=2)
    close(kernel(*[np.asfortranarray(a) for a in args]), want, ulps=2)
    close(kernel(*[a[::-1, ::-1] for a in args])[::-1, ::-1], want, ulps=2)
    close(kernel(*[a[:1] for a in args[:-1]], args[-1])[:1], want[:1], ulps=2)
    target = args[-1].copy()
    assert kernel(*args[:-1], target, out=target) is target
    close(target, want, ulps=2)
    strided = np.zeros((40, 100), np.float32)
    kernel(*args, out=strided[:, ::2])
    close(strided[:, ::2], want, ulps=2)
    assert not strided[:, 1::2].any()


@pytest.mark.parametrize("name", ACTIVATIONS + SPECIAL)
def test_half_precision_is_computed_in_single(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for half in (np.float16, ml_dtypes.bfloat16):
        args = [a.astype(half) for a in arguments(name, np.float32)]
        got = getattr(K, name)(*args)
        assert got.dtype == half
        want = getattr(K, name)(*[a.astype(np.float32) for a in args])
        with np.errstate(over="ignore"):
            want = want.astype(half)
        differ = got != want
        assert np.isnan(got.astype(np.float32)[differ]).all()


@native
def test_half_conversions_are_exact():
    """Every float16 and bfloat16 survives the way through the kernels' float32."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.arange(0x8000, dtype=np.uint16)
    for half in (np.float16, ml_dtypes.bfloat16):
        x = bits.view(half)
        with np.errstate(invalid="ignore"):
            number = x == x
        np.testing.assert_array_equal(K.relu(x).view(np.uint16)[number], bits[number])
        assert np.isnan(K.relu(x)[~number].astype(np.float32)).all()
    x = np.random.default_rng(0).standard_normal(5000).astype(np.float32) * np.float32(1e-5)
    x = x.astype(np.float16)  # a quarter of it has to be rounded into the subnormals
    np.testing.assert_array_equal(K.sigmoid_grad(x, np.full(5000, 0.5, np.float16)), x / np.float16(4))


def halves():
    return np.float16, pytest.importorskip("ml_dtypes").bfloat16


def test_casts_equal_numpys():
    bits = np.arange(0x10000, dtype=np.uint16)
    rng = np.random.default_rng(2)
    singles = rng.integers(0, 2**32, 200_003, dtype=np.uint32).view(np.float32)
    ties = (bits.astype(np.uint32) << 16 | 0x8000).view(np.float32)  # half way between two numbers of bfloat16
    with np.errstate(all="ignore"):
        halfway = bits.view(np.float16).astype(np.float32) * np.float32(1 + 2**-11)
        halfway = np.append(halfway, np.float32([65519.99, 65520, 1e-7, 2**-25]))
        for half in halves():
            wide = K.cast(bits.view(half), np.dtype(np.float32))
            np.testing.assert_array_equal(wide, bits.view(half).astype(np.float32))
            for x in (singles, ties, halfway, ODD_VALUES, wide, wide[:5], wide[:0], wide[::3],
                    wide[:60].reshape(3, 20).T, wide[7]):
                x = np.asarray(x, np.float32)
                got, want = K.cast(x, np.dtype(half)), x.astype(half)
                assert got.shape == want.shape and got.dtype == want.dtype
                number = ~np.isnan(x)
                np.testing.assert_array_equal(got.view(np.uint16)[number], want.view(np.uint16)[number])
                assert np.isnan(got.astype(np.float32)[~number]).all()
    x = np.arange(6.0)
    got = K.cast(x, x.dtype)
    assert got is not x and not np.shares_memory(got, x)
    assert K.cast(x, np.dtype(np.int32)).dtype == np.int32


CASTS = [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]


@pytest.mark.parametrize("source", CASTS)
@pytest.mark.parametrize("target", CASTS)
def test_casts_are_numpys(source, target):
    """Wrapped to fewer bits; true where it is not zero, NaN too. Reals beyond an integer's range are left out."""
    values = np.array([0, 1, 2, 100, 127, 128, 255, 256, 32768, 2**24 + 1, 2**31, 2**40 + 3, 2**62 + 12345])
    values = values % 2 == 0 if source is np.bool_ else np.concatenate([values, -values]).astype(source)
    if np.dtype(source).kind == "f":
        if np.dtype(target).kind not in "fb":
            values = np.arange(-100, 100).astype(source) % 100 + source(0.25)
        else:
            values = np.append(values, [np.nan, np.inf, -np.inf, -0.0, 1e-40]).astype(source)
    for length in (0, 1, 7, 33, 1000, 20000):
        x = np.resize(values, length) if length else values[:0]
        for a in (x, x[1:], x[::2], x.reshape(1, -1, 1)):
            with np.errstate(all="ignore"):
                got, want = K.cast(a, np.dtype(target)), a.astype(target)
            assert got.dtype == want.dtype and got.shape == want.shape and not np.shares_memory(got, a)
            np.testing.assert_array_equal(got, want)
            assert target is not np.float32 or np.array_equal(np.signbit(got), np.signbit(want))


@native
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name",
    ["add", "multiply", "true_divide", "maximum", "less", "exp", "negative", "isnan", "power", "nextafter"])
def test_half_precision_arithmetic_is_single_precision_rounded(name):
    rng = np.random.default_rng(3)
    kernel = getattr(K, name)
    for half in halves():
        if name == "nextafter" and half is not np.float16:
            continue  # a question about the type itself, which NumPy does not answer for all
        args = [(rng.standard_normal((3, 700)) * 3).astype(half) for _ in range(kernel.nin)]
        args[0][0, :4] = np.array([np.nan, np.inf, 0, 6e-8]).astype(half)
        with np.errstate(all="ignore"):
            want = kernel(*[a.astype(np.float32) for a in args])
            want = want if want.dtype == bool else want.astype(half)
        if name == "nextafter":
            want = np.nextafter(*args)
        got = kernel(*args)
        assert got.dtype == want.dtype

        def same(a, b):  # assert_array_equal does not know that bfloat16 has NaN
            np.testing.assert_array_equal(a.astype(np.float32), b.astype(np.float32))

        same(got, want)
        same(kernel(*[a[:, ::2] for a in args]), want[:, ::2])
        same(kernel(*[a[:, :0] for a in args]), want[:, :0])
        if len(args) == 2:
            same(kernel(args[0], args[1][:1])[0], want[0])
            same(kernel(args[0], args[1][0, 9])[0, 9], want[0, 9])


@native
def test_a_number_beside_half_precision_is_rounded_once():
    x = np.ones(3, np.float16)
    for number in (0.1, 1 / 3, 2049.0000001, 65519.999999, 65520.0, 3e-8, 2.98023224e-8, 1e300, -np.inf, 7):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(K.subtract(number, x), np.subtract(np.float16(number), x))
            # what PyTorch multiplies by is a number of float32
            np.testing.assert_array_equal(K.multiply(x, number), np.float32(number).astype(np.float16))


@pytest.mark.parametrize("number", [0, 1])
def test_16_bits_in_any_order(number):
    """Casts of views, sums at places (each is rounded), and masks, as NumPy has them."""
    half, single = np.dtype(halves()[number]), np.dtype(np.float32)
    rng = np.random.default_rng(5)
    for source, target in ((half, single), (single, half)):
        x = rng.standard_normal((4, 5, 6)).astype(source)
        for v in (x, x.T, x.transpose(1, 0, 2), x[:, ::2], x[:, :, ::-1], x[:1], np.broadcast_to(x[:1], x.shape)):
            got, want = K.cast(v, target), v.astype(target)
            assert got.dtype == target
            np.testing.assert_array_equal(got, want)
            assert 0 in v.strides or got.strides == want.strides
    truths = rng.standard_normal((4, 5)) > 0
    np.testing.assert_array_equal(K.cast(truths, half), truths.astype(half))
    x, index = rng.standard_normal((5, 64)).astype(half), rng.integers(0, 7, (5, 64))
    for axis, values, places in ((1, x, index), (0, x.T.copy(), index.T.copy())):
        shape = (5, 7) if axis else (7, 5)
        got, want = (f(np.ones(shape, half), axis, places, values) for f in (K.add_along, K.plain("add_along")))
        np.testing.assert_array_equal(got, want)
    for v in (x, x.T, np.broadcast_to(x[:1], x.shape)):
        mask = rng.standard_normal(v.shape) > 0
        got, want = K.masked_scale(v, mask, 1.1), K.plain("masked_scale")(v, mask, 1.1)
        assert got.dtype == half
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name):
    rng = np.random.default_rng(1)
    for dtype in (np.complex64, np.complex128):
        args = [(rng.standard_normal(50) + 1j * rng.standard_normal(50)).astype(dtype) for _ in range(2)]
        args = args if name.endswith(("_grad", "_bend")) else args[:1]
        got, want = getattr(K, name)(*args), K.plain(name)(*args)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=50 * np.finfo(dtype).eps)


def test_promotion():
    assert K.sigmoid(np.array([1, 2])).dtype == np.float64
    assert K.relu_grad(np.ones(2, np.float32), np.ones(2)).dtype == np.float64
    assert K.gelu(np.ones(2, bool)).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(("name", "numbers"), [(name, numbers) for name, calls in NUMBERS.items() for numbers in calls])
def test_activations_with_numbers(dtype, name, numbers):
    g, x = arguments("gelu_grad", dtype, (1300,))
    with np.errstate(all="ignore"):
        x[: len(ODD_VALUES)] = np.array(ODD_VALUES).astype(dtype)
    x[100:110] = np.linspace(-1e-3, 1e-3, 10)
    close(getattr(K, name)(x, *numbers), K.plain(name)(x, *numbers))
    close(getattr(K, name + "_grad")(g, x, *numbers), K.plain(name + "_grad")(g, x, *numbers))
    want = getattr(K, name)(x, *numbers)
    doubled = np.repeat(x, 2)[::2]
    np.testing.assert_array_equal(getattr(K, name)(doubled, *numbers), want)
    assert getattr(K, name)(x, *numbers, out=doubled) is doubled
    np.testing.assert_array_equal(doubled, want)


def test_elu_is_exact_near_zero():
    x = -np.logspace(-12, 1, 500)
    for dtype in (np.float32, np.float64):
        got = K.elu(x.astype(dtype), 1.0, 1.0, 1.0)
        np.testing.assert_allclose(got, np.expm1(x.astype(dtype).astype(np.float64)), rtol=4 * np.finfo(dtype).eps)


@native
def test_no_warnings_and_no_flush_to_zero():
    x = np.array([-1e4, 1e4, np.nan], np.float32)
    with np.errstate(all="raise"):
        for name in ("sigmoid", "gelu", "silu", "mish", "erf", "softplus"):
            getattr(K, name)(x)
    assert np.float32(1e-42) * np.float32(1) == np.float32(1e-42) != 0


@native
@pytest.mark.parametrize("name", ["gelu", "relu_grad", "erf"])
def test_threads_change_nothing(name):
    from wengert.arrays import native as N

    args = arguments(name, np.float32, (200_001,))
    before = N.get_num_threads()
    try:
        N.set_num_threads(1)
        want = getattr(K, name)(*args)
        N.set_num_threads(3)
        results = [None] * 4

        def call(k):
            results[k] = getattr(K, name)(*args)

        workers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
        [w.start() for w in workers]
        [w.join() for w in workers]
    finally:
        N.set_num_threads(before)
    for got in results:
        close(got, want, ulps=2)


@native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_working_threads():
    program = """
import os, numpy as np
from wengert.arrays import kernels as K, native as N
N.set_num_threads(2)
x = np.ones(500_000, np.float32)
a = K.gelu(x)
child = os.fork()
if child == 0:
    os._exit(0 if (K.gelu(x) == a).all() else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], check=True, timeout=60)


@native
@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(level):
    program = """
import numpy as np
from wengert.arrays import kernels as K
x = np.linspace(-9, 9, 1001, dtype=np.float32)
for name in ("gelu", "sigmoid", "erf", "mish", "log_sigmoid"):
    np.testing.assert_allclose(getattr(K, name)(x), K.plain(name)(x), rtol=2e-6, atol=1e-12)
np.testing.assert_allclose(K.softmax(x), K.plain("softmax")(x), rtol=2e-6)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env={**os.environ, "WENGERT_ISA": level})


def test_the_plain_definitions_can_be_chosen():
    program = "from wengert.arrays import kernels as K; assert not K.available; assert K.erf is K.plain('erf')"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env={**os.environ, "WENGERT_NATIVE": "0"})


@pytest.mark.parametrize(("wish", "lines"), [("1", 1), ("0", 0)])
def test_a_missing_extension_is_said_in_one_line(wish, lines):
    program = ("import sys; sys.modules['wengert.arrays._kernels'] = None; import wengert; "
        "print(wengert.ones(2).sum().item())")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
        env={**os.environ, "WENGERT_NATIVE": wish})
    assert done.stdout == "2.0\n" and done.stderr.count("\n") == lines
    assert (
        lines == 0 or done.stderr.startswith(
            "wengert: there are no native kernels; NumPy does their work, slower (WENGERT_NATIVE=0"))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no_such_kernel"):
        K.no_such_kernel
    assert set(sum(K.FAMILIES.values(), ())) <= set(dir(K))
    for name in sum(K.FAMILIES.values(), ()):
        assert callable(getattr(K, name))
        assert K.plain(name).__doc__


# ---- rows ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape",
    [(4, 5), (3, 17, 40), (2, 3, 4, 5), (1, 1), (6,), (0, 3), (3, 0), (2, 1, 70), (7, 1100), (2, 9, 530)])
def test_softmax_family(dtype, shape):
    rng = np.random.default_rng(3)
    x, g = ((rng.standard_normal(shape) * 4).astype(dtype) for _ in range(2))
    for axis in range(-len(shape), len(shape)):
        for name in ("softmax", "log_softmax"):
            y = K.plain(name)(x, axis)
            close(getattr(K, name)(x, axis), y, scale=4)
            close(getattr(K, name + "_grad")(g, y, axis), K.plain(name + "_grad")(g, y, axis), scale=60)


def test_softmax_of_odd_rows():
    inf, nan = np.inf, np.nan
    x = np.array([[0, -inf, 1], [-inf, -inf, -inf], [inf, 0, 1], [nan, 0, 1], [1e4, -1e4, 0]], np.float32)
    for name in ("softmax", "log_softmax"):
        np.testing.assert_allclose(getattr(K, name)(x), K.plain(name)(x), rtol=1e-6)
        np.testing.assert_allclose(getattr(K, name)(x.T.copy(), 0).T, K.plain(name)(x), rtol=1e-6)
        many = np.tile(x, (8, 1))  # enough to go down the columns
        np.testing.assert_allclose(getattr(K, name)(many.T.copy(), 0).T, K.plain(name)(many), rtol=1e-6)


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_do_not_depend_on_those_beside_them(dtype):
    """Rows of all lengths around those of vectors, as many at a time as there are and one by one."""
    rng = np.random.default_rng(4)
    for n in (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 41, 64, 71, 300, 2100):
        x = (rng.standard_normal((37, n)) * 3).astype(dtype)
        x[5, n // 2], x[6], x[9, n - 1] = np.nan, -np.inf, np.inf
        weight, bias = (rng.standard_normal(n).astype(dtype) for _ in range(2))
        with np.errstate(all="ignore"):
            for call in (K.softmax, K.log_softmax, lambda a: K.layer_norm(a, 1, weight, bias, 1e-5)[0]):
                whole, alone = call(x), np.concatenate([call(row[None]) for row in x])
                np.testing.assert_array_equal(whole, alone)
            close(K.softmax(x), K.plain("softmax")(x, -1), scale=4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape",
    [(4, 5), (3, 17, 40), (2, 3, 4, 5), (1, 1), (6,), (2, 1, 70), (7, 1100), (2, 9, 530), (3, 300, 7), (90, 20),
     (2, 700, 2)])
def test_logsumexp(dtype, shape):
    rng = np.random.default_rng(3)
    x = (rng.standard_normal(shape) * 4).astype(dtype)
    for axis in range(-len(shape), len(shape)):
        y = K.plain("logsumexp")(x, axis)
        close(K.logsumexp(x, axis), y, scale=4)
        close(K.logsumexp(x.T, axis), K.plain("logsumexp")(x.T, axis), scale=4)
        g = rng.standard_normal(y.shape).astype(dtype)
        want = K.plain("logsumexp_grad")(g, x, y, axis)
        close(K.logsumexp_grad(g, x, y, axis), want, scale=60)
        close(K.logsumexp_grad(g.squeeze(axis), x, y.squeeze(axis), axis), want, scale=60)
        one = np.broadcast_to(g.dtype.type(0.5), y.shape)
        close(K.logsumexp_grad(one, x, y, axis), K.plain("logsumexp_grad")(one, x, y, axis), scale=60)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [3, 40])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_logsumexp_of_odd_rows(dtype, length, columns):
    inf, nan, top = np.inf, np.nan, np.finfo(dtype).max
    rows = np.array([[0, -inf, 1], [-inf, -inf, -inf], [inf, 0, 1], [nan, 0, 1], [inf, inf, -inf], [nan, inf, -inf],
        [-inf, nan, -inf], [inf, 0, nan], [top, -top, 0], [-top, -top, -top], [1e4, -1e4, 0]], dtype)
    want = np.array([np.log(1 + np.e), -inf, inf, nan, inf, nan, nan, nan, top, -top, 1e4], dtype)
    rows = np.pad(rows, ((0, 0), (0, length - 3)), constant_values=-inf)
    x = np.repeat(rows[:, :, None], columns, 2)
    for logsumexp in (K.logsumexp, K.plain("logsumexp")):
        np.testing.assert_allclose(logsumexp(x, 1)[:, 0], np.repeat(want[:, None], columns, 1), rtol=1e-6)
        np.testing.assert_allclose(logsumexp(rows, 1)[:, 0], want, rtol=1e-6)
    with np.errstate(all="ignore"):
        grad = np.exp(x - want[:, None, None])
    for name in (K.logsumexp_grad, K.plain("logsumexp_grad")):
        got = name(np.ones((11, 1, columns), dtype), x, np.repeat(want[:, None, None], columns, 2), 1)
        np.testing.assert_allclose(got, grad, rtol=2e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(("shape", "groups"),
    [((3, 6, 5, 4), 3), ((2, 4), 2), ((5, 1202), 2), ((5, 8, 20), 1), ((1, 4, 9), 4), ((0, 4, 3), 2)])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(dtype, shape, groups, affine):
    """Against layer normalisation of the groups, scaled and shifted by channels."""
    rng = np.random.default_rng(8)
    x, g = ((rng.standard_normal(shape) + 1).astype(dtype) for _ in range(2))
    n, c = shape[:2]
    weight, bias = ((rng.standard_normal(c) if affine else np.full(c, k)).astype(dtype) for k in (1.0, 0.0))
    by_channel = (1, c, *[1] * (len(shape) - 2))
    rows = x.astype(np.float64).reshape(n * groups, int(np.prod(shape[1:])) // groups)
    normal, mean, rstd = K.plain("layer_norm")(rows, 1, None, None, 1e-5)
    want = normal.reshape(shape) * weight.reshape(by_channel) + bias.reshape(by_channel)
    given = (weight, bias) if affine else (None, None)
    turned = np.asfortranarray(x)
    for function, x in ((K.group_norm, turned), (K.group_norm, x), (K.plain("group_norm"), x)):
        out, m, r = function(x, groups, *given, 1e-5)
        close(out, want.astype(dtype), scale=20)
        close(m, mean.reshape(n, groups).astype(m.dtype), scale=4)
        close(r, rstd.reshape(n, groups).astype(m.dtype), scale=20)
    scaled = (g * weight.reshape(by_channel).astype(np.float64)).reshape(rows.shape)
    grad = K.plain("layer_norm_grad")(scaled, rows, mean, rstd, None, 1, (True, False, False))[0].reshape(shape)
    axes = (0, *range(2, len(shape)))
    wants = (grad, (g * normal.reshape(shape)).sum(axis=axes), g.astype(np.float64).sum(axis=axes))
    for needed in [(True, True, True), (False, True, False), (True, False, False)]:
        for numbers in (x, turned):
            found = K.group_norm_grad(g, numbers, m, r, given[0], groups, needed)
            for got, value, there in zip(found, wants, needed, strict=True):
                assert (got is not None) == there
                if there:
                    close(got, value.astype(dtype), scale=60, ulps=30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(("shape", "dims"),
    [((6, 40), 1), ((3, 4, 5), 2), ((2, 3, 4), 3), ((300, 130), 1), ((0, 5), 1)])
@pytest.mark.parametrize("affine", [(True, True), (True, False), (False, True), (False, False)])
def test_layer_norm(dtype, shape, dims, affine):
    rng = np.random.default_rng(4)
    x, g = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    weight, bias = (rng.standard_normal(shape[-dims:]).astype(dtype) if wanted else None for wanted in affine)
    got, want = K.layer_norm(x, dims, weight, bias, 1e-5), K.plain("layer_norm")(x, dims, weight, bias, 1e-5)
    for a, b in zip(got, want, strict=True):
        close(a, b, scale=10)
    args = (g, x, want[1], want[2], weight, dims)
    for needed in [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]:
        grads, expected = K.layer_norm_grad(*args, needed), K.plain("layer_norm_grad")(*args, needed)
        for a, b, there in zip(grads, expected, needed, strict=True):
            assert (a is not None) == there == (b is not None)
            if there:
                close(a, b, scale=40, ulps=20)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "dims"), [((6, 40), 1), ((3, 4, 5), 2), ((7, 1), 1), ((300, 130), 1)])
@pytest.mark.parametrize("given", [(True, True, True), (True, False, True), (True, True, False), (False, False, False)])
def test_layer_norm_twice(dtype, shape, dims, given):
    rng = np.random.default_rng(5)
    rows = [rng.standard_normal(shape).astype(dtype) for _ in range(3)]
    row = [rng.standard_normal(shape[-dims:]).astype(dtype) if there else None for there in given]
    for arrays in rows, [np.repeat(a, 2, 0)[::2] for a in rows]:  # the second ones are not in order
        got = K.layer_norm_twice(*arrays, *row, dims, 1e-2, given[0])
        want = K.plain("layer_norm_twice")(*arrays, *row, dims, 1e-2, given[0])
        for a, b in zip(got[:2], want[:2], strict=True):
            close(a, b, scale=100, ulps=40)
        assert (got[2] is not None) == given[0] == (want[2] is not None)
        if given[0]:
            close(got[2], want[2], scale=1000, ulps=40)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [True, False])
def test_rms_norm(dtype, weighted):
    rng = np.random.default_rng(5)
    x, g = (rng.standard_normal((7, 3, 20)).astype(dtype) for _ in range(2))
    weight = rng.standard_normal(20).astype(dtype) if weighted else None
    got, want = K.rms_norm(x, 1, weight, 1e-6), K.plain("rms_norm")(x, 1, weight, 1e-6)
    for a, b in zip(got, want, strict=True):
        close(a, b, scale=4)
    args = (g, x, want[1], weight, 1)
    for a, b in zip(K.rms_norm_grad(*args), K.plain("rms_norm_grad")(*args), strict=True):
        close(a, b, scale=20)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [(4, 3, 5, 5), (8, 6), (2, 3, 40), (1, 2, 3, 3, 3), (150, 1100), (1, 20), (70, 3, 1)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_parts(dtype, shape, training):
    rng = np.random.default_rng(6)
    x, g = ((rng.standard_normal(shape) + 2).astype(dtype) for _ in range(2))
    mean, variance = K.plain("channel_moments")(x)
    for a, b in zip(K.channel_moments(x), (mean, variance), strict=True):
        close(a, b, scale=4)
    rstd = 1 / np.sqrt(variance + 1e-5)
    np.testing.assert_array_equal(K.channel_rstd(variance, 1e-5), K.plain("channel_rstd")(variance, 1e-5))
    weight = rng.standard_normal(shape[1]).astype(dtype)
    close(K.channel_affine(x, weight, weight), K.plain("channel_affine")(x, weight, weight), scale=10)
    for w in (weight, None):
        for b in (weight[::-1].copy(), None):
            close(K.channel_norm(x, mean, rstd, w, b), K.plain("channel_norm")(x, mean, rstd, w, b),
                scale=10 * max(1, float(rstd.max())))
            for then in ("relu", "relu6", "silu", "hardswish"):
                close(K.channel_norm(x, mean, rstd, w, b, then), K.plain("channel_norm")(x, mean, rstd, w, b, then),
                    scale=10 * max(1, float(rstd.max())))
    vectors = (weight, weight[::-1].copy(), weight + 1)
    close(K.channel_blend(g, x, *vectors), K.plain("channel_blend")(g, x, *vectors), scale=20)
    for w in (weight, None):
        args = (g, x, mean, rstd, w, training)
        for a, b in zip(K.batch_norm_grad(*args), K.plain("batch_norm_grad")(*args), strict=True):
            close(a, b, scale=100, ulps=20)
    assert K.batch_norm_grad(g, x, mean, rstd, weight, True, (False, True, False))[::2] == (None, None)


# ---- windows ----

WINDOWS = [
    # size, kernel, stride, padding, dilation
    ((9, 8), (3, 2), (2, 1), (1, 0), (1, 2)),
    ((8, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((6, 5), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((7, 7), (3, 3), (3, 3), (1, 1), (1, 1)),
    ((1, 5), (1, 3), (1, 2), (0, 1), (1, 1)),
    ((11,), (3,), (2,), (1,), (2,)),
    ((6, 9), (3, 9), (1, 1), (0, 0), (1, 1)),
    ((9, 7), (5, 7), (2, 2), (2, 3), (2, 1)),
    ((4, 5, 6), (2, 2, 3), (1, 2, 2), (1, 0, 1), (1, 1, 1)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.float16])
@pytest.mark.parametrize("case", WINDOWS)
def test_im2col_and_col2im(case, dtype):
    size, *how = case
    rng = np.random.default_rng(7)
    x = rng.integers(-9, 9, (2, 3, *size)).astype(dtype)
    columns = K.im2col(x, *how)
    np.testing.assert_array_equal(columns, K.plain("im2col")(x, *how))
    assert columns.dtype == dtype
    back = K.col2im(columns, size, *how)
    np.testing.assert_array_equal(back, K.plain("col2im")(columns, size, *how))
    # Transposes of each other: <im2col(x), c> = <x, col2im(c)>.
    c = rng.integers(-3, 3, columns.shape).astype(np.float64)
    assert (columns * c).sum() == (x * K.col2im(c, size, *how)).sum()
    swapped = np.asfortranarray(x)
    np.testing.assert_array_equal(K.im2col(swapped, *how), columns)
    rows = np.ascontiguousarray(columns.swapaxes(1, 2))
    np.testing.assert_array_equal(K.add_windows(rows, size, *how), back)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("case", WINDOWS)
def test_max_pool(case, ceil_mode, dtype):
    size, *how = case
    rng = np.random.default_rng(8)
    x = rng.integers(-9, 9, (2, 3, *size)).astype(dtype)
    out, index = K.max_pool(x, *how, ceil_mode)
    want, want_index = K.plain("max_pool")(x, *how, ceil_mode)
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(index, want_index)
    taken = np.take_along_axis(x.reshape(2, 3, -1), index.reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(taken.ravel(), out.ravel())
    g = rng.integers(1, 9, out.shape).astype(np.float32)
    grad = K.max_pool_grad(g, index, size)
    np.testing.assert_array_equal(grad, K.plain("max_pool_grad")(g, index, size))
    assert grad.sum() == g.sum()


POOLS = [
    *WINDOWS,
    ((4, 5, 6), (2, 3, 2), (2, 1, 3), (1, 1, 0), (1, 1, 2)),
    ((9,), (3,), (2,), (1,), (1,)),
    ((3, 3, 3), (3, 3, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1)),
    # windows side by side; the image is longer, or the last window longer than what is left
    ((9, 14), (3, 4), (3, 4), (0, 0), (1, 1)),
    ((10, 12), (4, 3), (4, 3), (0, 0), (1, 1)),
    ((3, 7, 9), (1, 2, 3), (1, 2, 3), (0, 0, 0), (1, 1, 1)),
    ((4, 2101), (2, 3), (2, 3), (0, 0), (1, 1)),
    ((2, 1500), (1, 1100), (1, 1100), (0, 0), (1, 1)),
    # rows that are added up first, or are too long for that; windows of one row
    ((11, 13), (5, 4), (3, 2), (2, 1), (1, 1)),
    ((3, 1024), (3, 3), (1, 2), (1, 1), (1, 1)),
    ((3, 1030), (3, 3), (1, 2), (1, 1), (1, 1)),
    ((4, 9), (1, 4), (2, 3), (0, 2), (1, 1)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.float16])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("case", POOLS)
def test_pools(case, ceil_mode, dtype):
    """Whole numbers are pooled exactly; the gradient is the transpose."""
    size, kernel, stride, padding, dilation = case
    padding = tuple(min(p, k // 2) for p, k in zip(padding, kernel))
    x = np.random.default_rng(11).integers(-9, 9, (2, 3, *size)).astype(dtype)
    if all(d * (k - 1) < s + 2 * p for k, s, p, d in zip(kernel, size, padding, dilation)):
        how = kernel, stride, padding, dilation, ceil_mode
        for got, want in zip(K.max_pool(x, *how), K.plain("max_pool")(x, *how)):
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype
        np.testing.assert_array_equal(K.max_pool_values(x, *how), K.max_pool(x, *how)[0])
    if any(k > s + 2 * p for k, s, p in zip(kernel, size, padding)):
        return
    for include, override in ((True, None), (False, None), (True, 4)):
        how = kernel, stride, padding, include, override
        got, want = K.avg_pool(x, ceil_mode, *how), K.plain("avg_pool")(x, ceil_mode, *how)
        np.testing.assert_allclose(got, want, rtol=0 if dtype is np.int64 else tolerance(dtype, 2), atol=0)
        assert got.dtype == want.dtype
        g = np.random.default_rng(12).standard_normal(got.shape).astype(np.float64)
        back = K.avg_pool_grad(g, size, *how)
        close(back, K.plain("avg_pool_grad")(g, size, *how), ulps=8)
        forward = K.avg_pool(x.astype(np.float64), ceil_mode, *how)
        np.testing.assert_allclose((g * forward).sum(), (back * x).sum(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 7), (4, 1, 70), (0, 3), (2, 90, 2, 3)])
def test_resampling(shape, dtype):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape).astype(dtype)
    for axis, size in enumerate(shape):
        if not size:
            continue
        for out, terms in ((1, 9), (5, 2), (130, 3), (4, 0)):
            places = rng.integers(-1, size, (terms, out)).astype(np.int32)
            factors = rng.standard_normal((terms, out)).astype(dtype)
            want = K.plain("resample")(x, axis, places, factors)
            close(K.resample(x, axis, places, factors), want, ulps=16, scale=10)
            close(K.resample(x.swapaxes(0, 1).copy().swapaxes(0, 1), axis, places, factors), want, ulps=16, scale=10)
    holes = np.array([[0, -1]], np.int32)
    found = K.resample(np.full((2, 1), np.inf, dtype), 1, holes, np.ones((1, 2), dtype))
    assert found.tolist() == [[np.inf, 0], [np.inf, 0]]  # nothing is not infinity times zero


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("space", [(3, 5), (1, 4), (16, 40), (2, 3, 4)])
def test_sampling(space, dtype):
    rng = np.random.default_rng(14)
    n, c, axes = 2, 3, len(space)
    image = rng.standard_normal((n, c, *space)).astype(dtype)
    for out, reach in ((9, 3.0), (80, 0.9), (0, 1.0)):
        grid = rng.uniform(-reach, reach, (n, *(2,) * (axes - 1), out, axes)).astype(dtype)
        grid[:, ..., :1, 0] = np.nan  # counts as zero times anything outside, and as the first pixel with borders
        g = rng.standard_normal((n, c, *grid.shape[1:-1])).astype(dtype)
        for how in itertools.product(range(3 if axes == 2 else 2), range(3), (True, False)):
            for images in (image, image.swapaxes(2, 3).copy().swapaxes(2, 3), np.repeat(image, 2, 0)[::2],
                    np.broadcast_to(image[:1], image.shape), image[:, ::-1]):
                close(K.grid_sample(images, grid, *how), K.plain("grid_sample")(images, grid, *how), ulps=200)
            for wanted in ((True, True), (True, False), (False, True)):
                images = np.broadcast_to(image[:1], image.shape) if wanted[0] != wanted[1] else image
                found = K.grid_sample_grad(images, grid, *how, g, *wanted)
                for got, want in zip(found, K.plain("grid_sample_grad")(images, grid, *how, g, *wanted), strict=True):
                    assert got is None is want or close(got, want, ulps=2000, scale=10) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_of_infinite_pixels(dtype):
    image = np.full((1, 2, 6, 9), np.inf, dtype)
    grid = np.array([[-7, 0], [0, 7], [np.inf, 0], [np.nan, np.nan], [0.1, 0.2], [-1.05, 0.1]], dtype)
    grid = np.repeat(grid, 12, 0).reshape(1, 1, -1, 2)
    grid[0, 0, 48:60] += np.linspace(0, 0.1, 12)[:, None].astype(dtype)  # more than one register of places inside
    with np.errstate(invalid="ignore"):
        found, want = (f(image, grid, 0, 0, False) for f in (K.grid_sample, K.plain("grid_sample")))
    assert np.array_equal(found, want, equal_nan=True)
    assert not found[..., :24].any() and np.isinf(found[..., 48:]).all()  # outside is not infinity times zero
    g = np.ones_like(found)
    functions = K.grid_sample_grad, K.plain("grid_sample_grad")
    (found, _), (want, _) = (f(image, grid, 0, 0, False, g, True, False) for f in functions)
    close(found, want, ulps=200)


@pytest.mark.parametrize("axes", [2, 3])
def test_sampling_at_grids_of_any_layout(axes):
    rng = np.random.default_rng(15)
    image, rows = rng.random((3, 2, *(5, 4, 3)[:axes])), rng.uniform(-1.2, 1.2, (3, *(4, 3, 70)[-axes:], axes))
    first = np.moveaxis(np.ascontiguousarray(np.moveaxis(rows, -1, 1)), 1, -1)  # coordinates before places
    apart = np.repeat(rows, 2, -2)[..., ::2, :]
    gaps = np.concatenate((rows, rows), -1)[..., axes:]
    uneven = np.repeat(rows, 2, 1)[:, ::2]
    one = np.broadcast_to(rows[1:2], rows.shape)
    for grid in (first, apart, gaps, uneven, one, rows[..., ::-1, ::-1], rows[:, :1]):
        copy = np.ascontiguousarray(grid)
        g = rng.random((3, 2, *grid.shape[1:-1]))
        assert (K.grid_sample(image, grid, 0, 0, False) == K.grid_sample(image, copy, 0, 0, False)).all()
        found, expected = (K.grid_sample_grad(image, x, 0, 0, False, g, True, True) for x in (grid, copy))
        assert (found[0] == expected[0]).all() and (found[1] == expected[1]).all()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(5,), (4, 7), (2, 3, 4), (17, 600), (0, 3), (3, 0)])
def test_lines_of_complex_numbers(shape, dtype):
    rng = np.random.default_rng(13)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    x = (x / np.abs(x)).astype(dtype)
    for axis in range(-1, len(shape)):
        for name, extra in (("running_product", ()), ("running_sum", (False,)), ("running_sum", (True,))):
            for turned in (x, np.asfortranarray(x)):
                got, want = getattr(K, name)(turned, axis, *extra), K.plain(name)(x, axis, *extra)
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, 40 * np.finfo(dtype).eps, 40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.float16])
@pytest.mark.parametrize("shape", [(5,), (4, 7), (9, 3), (2, 3, 4), (17, 600), (0, 3), (3, 0)])
def test_lines(shape, dtype):
    rng = np.random.default_rng(13)
    x = (rng.integers(-4, 5, shape) / 2).astype(dtype)
    for axis in range(-1, len(shape)):
        calls = [("running_product", ()), *itertools.product(("running_sum", "running_extreme"), ((False,), (True,)))]
        for name, extra in calls:
            if not shape[axis] and name == "running_extreme":
                continue
            arrays = x if name != "running_product" else np.sign(x)
            got, want = getattr(K, name)(arrays, axis, *extra), K.plain(name)(arrays, axis, *extra)
            np.testing.assert_array_equal(got, want)
            turned = np.asfortranarray(arrays)
            np.testing.assert_array_equal(getattr(K, name)(turned, axis, *extra),
                getattr(K, name)(arrays, axis, *extra))
        if not shape[axis]:
            continue
        longer = list(shape)
        longer[axis] = 6
        index = rng.integers(0, shape[axis], longer)
        np.testing.assert_array_equal(K.take_along(x, axis, index), np.take_along_axis(x, index, axis))
        values = rng.integers(-4, 5, longer).astype(dtype)
        for name in ("put_along", "add_along"):
            got, want = x.copy(), x.copy()
            assert getattr(K, name)(got, axis, index, values) is got
            K.plain(name)(want, axis, index, values)
            np.testing.assert_array_equal(got, want)
            if index.size:
                with pytest.raises(IndexError):
                    getattr(K, name)(got, axis, np.full_like(index, shape[axis]), values)
                np.testing.assert_array_equal(got, want)  # refused before anything is written


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 4, 5), (2, 1, 3, 17)])
def test_lines_joined_at_places_that_whole_rows_share(dtype, shape):
    rng = np.random.default_rng(2)
    x = rng.integers(-3, 4, shape).astype(dtype)
    for axis in range(-1, len(shape)):
        longer = list(shape)
        longer[axis] = 6
        index = rng.integers(0, shape[axis], longer)
        along = axis % len(shape)
        firsts = [tuple(slice(0, 1) if k in kept else slice(None) for k in range(len(shape)))
            for kept in ((), range(along + 1, len(shape)), set(range(len(shape))) - {along}, range(along))]
        values = rng.integers(-3, 4, longer).astype(dtype)
        for first in firsts:
            spread = np.broadcast_to(index[first].copy(), longer)
            for lying in (x, x[::-1], x[..., ::-1], np.broadcast_to(x[:1], shape), np.repeat(x, 2, 0)[1::2],
                    np.asfortranarray(x), x.swapaxes(0, -2 % x.ndim).copy().swapaxes(0, -2 % x.ndim)):
                for places in (spread, index):
                    np.testing.assert_array_equal(K.take_along(lying, axis, places),
                        np.take_along_axis(lying, places, axis))
            calls = [("put_along", values), ("put_along", np.array(5, dtype)), ("add_along", values)]
            calls += [("join_along", values, how) for how in ("sum", "prod", "amax", "amin")]
            for name, brought, *how in calls:
                got, want = x.copy(), x.copy()
                assert getattr(K, name)(got, axis, spread, brought, *how) is got
                K.plain(name)(want, axis, spread, brought, *how)
                np.testing.assert_array_equal(got, want)
            with pytest.raises(IndexError):
                K.take_along(x, axis, np.broadcast_to(index[first] + shape[axis], longer))
            with pytest.raises(IndexError):
                K.take_along(x[::-1], axis, np.broadcast_to(index[first] + shape[axis], longer))


@pytest.mark.parametrize("how", ["amax", "amin"])
@pytest.mark.parametrize("spread", [False, True])
def test_extremes_joined_at_places_keep_nan(how, spread):
    x = np.array([[1, np.nan], [np.inf, 2], [-np.inf, 0]], np.float32)
    values = np.array([[np.nan, 5], [1, np.nan], [2, 2]], np.float32)
    index = np.broadcast_to(np.array([[0], [1], [2]]), (3, 2))
    index = index if spread else index.copy()
    want = np.maximum(x, values) if how == "amax" else np.minimum(x, values)
    np.testing.assert_array_equal(K.join_along(x.copy(), 0, index, values, how), want)


def test_lines_of_odd_values():
    x = np.array([1, np.nan, 3, np.inf, -np.inf, 2, np.nan, 0], np.float32)
    values, places = K.running_extreme(x, 0, False)
    np.testing.assert_array_equal(values, [1] + [np.nan] * 7)
    np.testing.assert_array_equal(places, [0, 1, 1, 1, 1, 1, 6, 6])
    values, places = K.running_extreme(np.array([2.0, 2.0, 1.0, 1.0, 3.0]), 0, True)
    np.testing.assert_array_equal(values, [2, 2, 1, 1, 1])
    np.testing.assert_array_equal(places, [0, 1, 2, 3, 3])
    np.testing.assert_array_equal(K.running_sum(x[3:], 0, False), [np.inf, np.nan, np.nan, np.nan, np.nan])
    tiny = np.full(4, 1e-45, np.float32)
    np.testing.assert_array_equal(K.running_sum(tiny, 0, False), np.arange(1, 5) * 1.401298464324817e-45)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.bool_, np.complex128])
def test_copies_of_views(dtype):
    x = (np.random.default_rng(14).standard_normal((6, 40, 30)) * 4).astype(dtype)
    views = [x, x[::-1], x[:, ::-1], x[..., ::-1], x[..., ::2], x.T, x.swapaxes(1, 2), x.transpose(1, 0, 2),
        x[:, 3:, 5:], x[..., :1],
             np.broadcast_to(x[:, :1], x.shape),
             np.broadcast_to(x[..., :1], x.shape), np.broadcast_to(x[0, 0, 0], (50, 60)), x[0, :, 0],
             x[:0]]
    for view in views:
        got = K.in_order(view)
        np.testing.assert_array_equal(got, view)
        assert got.flags.c_contiguous
        assert got.dtype == view.dtype
        assert not np.shares_memory(got, view)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_pairs(dtype):
    """Small formulas, at odd values too, and their numbers."""
    rng = np.random.default_rng(15)
    with np.errstate(all="ignore"):
        odd = np.array(ODD_VALUES).astype(dtype)
    x = np.concatenate([odd, rng.standard_normal(2000).astype(dtype)])
    y = np.concatenate([odd[::-1], rng.standard_normal(2000).astype(dtype)])
    tame = rng.standard_normal(2000).astype(dtype)
    calls = [("rsqrt", (x,)), ("cube", (x,)), ("square_difference", (x, y)),
        *[("lerp", (x, y, w)) for w in (0.0, 0.3, 0.5, 1.0)], ("lerp", (tame, tame[::-1].copy(), abs(tame))),
        *[("scaled_sum", (x, y, a)) for a in (0.7, -2.0)], *[("smooth_l1", (x, y, b)) for b in (0.5, 1.0)],
        ("nan_to_num", (x, 0.5, 7.0, -8.0)), ("rsqrt_grad", (x, y)),
        ("bent_grad", (x, y, y[::-1].copy(), 0.5, 2.0)), ("logit_grad", (y, x, 0.0, 1.0, np.nan)),
        ("logit_grad", (y, x, 0.1, 0.9, 0.0)), ("gated", (x, y)), ("gated_grad", (x, y, y[::-1].copy())),
        *[(name, (x, b)) for name in ("hardshrink", "softshrink") for b in (0.0, 0.5, 2.5)],
        *[("shrink_grad", (y, x, b)) for b in (0.0, 0.5, 2.5)],
        *[("threshold", (x, b, v)) for b, v in ((0.0, -1.0), (0.5, np.nan), (np.inf, 3.0))],
        *[("threshold_grad", (y, x, b)) for b in (0.0, 0.5)], *[("huber", (x, y, d)) for d in (0.5, 1.0, 2.5)],
        ("logit", (x,)), ("logit", (abs(y) / 4,)),
        *[("scaled_quotient", (x, y, x[::-1].copy(), s)) for s in (1.0, -0.3)],
        *[("scaled_product", (tame, tame[::-1].copy(), tame * tame, s)) for s in (1.0, -0.3)]]
    summed = ("lerp", "scaled_sum", "gated_grad", "logit", "scaled_product", "scaled_quotient")
    for name, args in calls:
        got, want = getattr(K, name)(*args), K.plain(name)(*args)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        scale = 8 if name in summed else 1e-300
        close(got, want, ulps=4, scale=scale)
        strided = [np.repeat(a, 2)[::2] if isinstance(a, np.ndarray) else a for a in args]
        close(getattr(K, name)(*strided), want, ulps=4, scale=scale)


def test_lerp_by_more_weights_than_a_block_holds():
    x, y, w = np.random.default_rng(3).random((3, 3, 1 << 15))
    np.testing.assert_allclose(K.plain("lerp")(x, y, w), x + w * (y - x), rtol=1e-12)


@pytest.mark.parametrize("far", [1e-3, 0.5, 4.0, 4.5, 14.0])
def test_gelu_of_any_block(far):
    """Blocks without a number beyond 4 are computed in another way."""
    x = np.random.default_rng(17).uniform(-far, far, 5000).astype(np.float32)
    x[:4] = [0.0, -0.0, far, -far]
    exact = K.gelu(x.astype(np.float64))
    got = K.gelu(x)
    # The definition in NumPy rounds more often; where all are near zero it is as good as its exponent.
    ulps = (4 + 4 * np.minimum(x, 0).astype(np.float64) ** 2 if far <= 5.5 else 1) if K.available else 8
    assert (np.abs(got - exact) <= ulps * np.spacing(np.abs(exact).astype(np.float32))).all()
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x))
    assert np.isnan(K.gelu(np.array([0.5, np.nan], np.float32))).tolist() == [False, True]


def test_gelu_of_halves():
    """Of every number: rounded once, from what is exact to far more."""
    for half in halves():
        x = np.arange(1 << 16).astype(np.uint16).view(half)
        with np.errstate(all="ignore"):
            exact = K.gelu(x.astype(np.float64))
            got = K.gelu(x).astype(np.float64)
        fine = np.isfinite(exact) & (np.abs(exact) < 6e4)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
        slack = np.maximum(np.abs(exact) * float(ml_eps(half)) / 2 * 1.02, 3.1e-8 if half is np.float16 else 1e-37)
        assert (np.abs(got[fine] - exact[fine]) <= slack[fine]).all()


def test_sums_of_halves():
    rng = np.random.default_rng(16)
    for half in halves():
        for shape in [(3000,), (70, 600), (5, 40, 30), (3, 5), (1, 1), (20, 3)]:
            x = rng.standard_normal(shape).astype(half)
            exact = x.astype(np.float64)
            for axes in [None, *range(len(shape)), tuple(range(len(shape)))]:
                for name in ("sum", "mean"):
                    got = getattr(K, name)(x, axes, False)
                    want = getattr(exact, name)(axis=axes)
                    assert got.dtype == half
                    slack = 1e-5 * np.abs(exact).sum(axis=axes)
                    assert (np.abs(got.astype(np.float64) - want)
                        <= np.abs(want) * float(ml_eps(half)) / 2 * 1.001 + slack).all()
        np.testing.assert_array_equal(K.sum(np.ones(100_000, half) / half(2), None, False).astype(np.float64),
            half(5e4).astype(np.float64))


def ml_eps(half):
    import ml_dtypes

    return ml_dtypes.finfo(half).eps


@pytest.mark.parametrize("seed", range(40))
def test_max_pool_of_any_windows(seed):
    rng = np.random.default_rng(seed)
    axes = seed % 3 + 1
    kernel, stride, dilation = (tuple(map(int, rng.integers(1, most, axes))) for most in (6, 5, 4))
    padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
    size = tuple(d * (k - 1) + 1 + int(rng.integers(0, 50 // axes**2)) for k, d in zip(kernel, dilation))
    x = rng.integers(-2, 2, (2, 2, *size)).astype([np.float32, np.float64][seed % 2]) * -1.0  # some zeros are negative
    x[rng.random(x.shape) < 0.1 * (seed % 4)] = -np.inf
    x[rng.random(x.shape) < 0.1 * (seed % 4 == 3)] = np.nan
    for ceil_mode in (False, True):
        how = kernel, stride, padding, dilation, ceil_mode
        (got, places), (want, right) = K.max_pool(x, *how), K.plain("max_pool")(x, *how)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        np.testing.assert_array_equal(places, right)
        for alone in K.max_pool_values(x, *how), K.plain("max_pool_values")(x, *how):
            np.testing.assert_array_equal(alone, want)
            np.testing.assert_array_equal(np.signbit(alone), np.signbit(want))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pools_without_a_batch(axes):
    x = np.random.default_rng(axes).standard_normal((2, 3, 9, 7, 8)[: 2 + axes]).astype(np.float32)
    how = (3,) * axes, (2,) * axes, (1,) * axes
    dilation = (1,) * axes
    for find in (lambda name: getattr(K, name), K.plain):
        values, places = find("max_pool")(x, *how, dilation)
        averages = find("avg_pool")(x, False, *how, True, None)
        back = find("max_pool_grad")(values, places, x.shape[2:])
        spread = find("avg_pool_grad")(averages, x.shape[2:], *how, True, None)
        for i in range(2):
            for got, want in zip(find("max_pool")(x[i], *how, dilation), (values[i], places[i])):
                np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(find("max_pool_values")(x[i], *how, dilation), values[i])
            np.testing.assert_array_equal(find("avg_pool")(x[i], False, *how, True, None), averages[i])
            np.testing.assert_array_equal(find("max_pool_grad")(values[i], places[i], x.shape[2:]), back[i])
            np.testing.assert_array_equal(find("avg_pool_grad")(averages[i], x.shape[2:], *how, True, None), spread[i])


def test_max_pool_of_odd_values():
    x = np.full((1, 1, 4, 3), -np.inf, np.float32)
    x[0, 0, :2] = [[np.nan, 1, 2], [3, np.nan, 4]]
    out, index = K.max_pool(x, (2, 3), (1, 1), (0, 0), (1, 1))
    np.testing.assert_array_equal(out.ravel(), [np.nan, np.nan, -np.inf])
    np.testing.assert_array_equal(index.ravel(), [4, 4, 6])  # the last NaN, else the first place


@pytest.mark.parametrize("lead", [(0, 3), (2, 0), (0, 0)])
@pytest.mark.parametrize("case", WINDOWS)
def test_windows_of_nothing(case, lead):
    size, kernel, *how = case
    x = np.zeros((*lead, *size), np.float32)
    for find in (lambda name: getattr(K, name), K.plain):
        columns = find("im2col")(x, kernel, *how)
        assert columns.shape[:2] == (lead[0], lead[1] * np.prod(kernel))
        assert find("col2im")(columns, size, kernel, *how).shape == x.shape
        out, index = find("max_pool")(x, kernel, *how)
        assert out.shape == index.shape
        assert find("max_pool_grad")(out, index, size).shape == x.shape


def test_max_pool_grad_refuses_foreign_places():
    with pytest.raises(IndexError):
        K.max_pool_grad(np.ones((1, 1, 2), np.float32), np.array([[[0, 9]]]), (4,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.float16])
@pytest.mark.parametrize("row", [(), (3,), (40,), (2, 3)])
def test_add_at(dtype, row):
    rng = np.random.default_rng(9)
    index = rng.integers(-6, 6, (30, 4))
    values = rng.integers(-9, 9, (30, 4, *row)).astype(dtype)
    want = np.ones((6, *row), dtype)
    np.add.at(want, index, values)
    out = np.ones((6, *row), dtype)
    assert K.add_at(out, index, values) is out
    np.testing.assert_array_equal(out, want)
    for wrong in (6, -7):
        with pytest.raises(IndexError):
            K.add_at(out, np.array([0, wrong]), np.ones((2, *row), dtype))
        np.testing.assert_array_equal(out, want)  # nothing was changed
    K.add_at(out, np.zeros(0, np.int64), np.ones((0, *row), dtype))
    np.testing.assert_array_equal(out, want)


# ---- folds and dropout ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 700), (2, 3, 257), (1, 40_000), (300, 3), (90, 2), (5, 4),
    (5, 8)])
def test_rows_are_folded_as_defined(dtype, shape):
    from wengert.arrays.plain import shortcuts as folds

    x = np.random.default_rng(1).uniform(0.9, 1.1, shape).astype(dtype)
    for rows, inner in ((x.size // shape[-1], 1), (x.size // (shape[-2] * shape[-1]), shape[-1])):
        for kind in (folds.LARGEST, folds.LEAST):
            how = rows, kind, inner
            np.testing.assert_array_equal(K.fold_rows(x, *how), folds.fold_rows(x, *how))
            for place in (0, shape[-1] // 2, shape[-1] - 1):
                odd = x.copy()
                odd[0, ..., place] = np.nan
                np.testing.assert_array_equal(K.fold_rows(odd, *how), folds.fold_rows(odd, *how))
                odd[-1, ..., place] = np.inf
                np.testing.assert_array_equal(K.fold_rows(odd, *how), folds.fold_rows(odd, *how))


@native
@pytest.mark.parametrize("axes", [s for n in range(1, 5) for s in itertools.combinations(range(4), n)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_folds_over_any_axes(axes, dtype):
    from wengert.arrays.reduce import fold

    x = np.random.default_rng(2).normal(size=(3, 8, 5, 20)).astype(dtype)
    x[1, 2, 3, 4] = np.nan
    for kind, ufunc in enumerate((np.maximum, np.minimum)):
        for keep in (False, True):
            found = fold(x, axes[::-1], keep, kind)
            np.testing.assert_array_equal(found, ufunc.reduce(x, axes, keepdims=keep))
            assert not np.shares_memory(found, x)
    assert fold(x, (), False, 0) is None
    assert fold(x, (0, -4), False, 0) is None


LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 1000, 2047, 2048, 2049,
    4095, 4097, 9000, 40_000]
TOTALS = {"sum": np.add.reduce, "mean": np.mean, "norm": lambda x, *rest, **options: np.sqrt(np.add.reduce(
    np.abs(x) ** 2, *rest, **options)), "product": np.multiply.reduce}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("n", LENGTHS)
def test_totals_of_rows(dtype, n):
    rng = np.random.default_rng(n)
    for name, rows in itertools.product(TOTALS, (1, 2, 3, 7, 8, 15, 16, 17, 35)):
        if np.dtype(dtype).kind == "c" and name in ("norm", "product"):
            continue
        x = rng.standard_normal((rows, n)) + 0.5
        x = 1 + np.clip(x, -1, 1) / (2 * np.sqrt(n)) if name == "product" else x
        x = (x + 1j * rng.standard_normal((rows, n)) if np.dtype(dtype).kind == "c" else x).astype(dtype)
        wide = x.astype(np.result_type(dtype, np.float64))
        size = TOTALS["norm" if name == "product" else "sum"](np.abs(wide), axis=1).max() / (n if name == "mean" else 1)
        for keepdims in (False, True):
            got, want = getattr(K, name)(x, 1, keepdims), TOTALS[name](wide, axis=1, keepdims=keepdims)
            assert (got.dtype, got.shape) == (x.dtype, want.shape)
            tolerance = 2 * np.finfo(dtype).eps * (np.sqrt(n) if name == "product" or dtype != np.float32 else 1)
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=0 if name in ("norm", "product") else size *
                tolerance)
        if 1 < n < 40_000 and rows > 1:  # a row does not know of its neighbours; a long one alone is cut into parts
            if K.available or name != "norm":  # which einsum sums in parts of another length
                assert np.array_equal(getattr(K, name)(x, 1, False)[-1], getattr(K, name)(x[-1:], 1, False)[0])
            odd = x.copy()
            odd[1, n // 2], odd[0, 0], odd[-1, -1] = np.nan, np.inf, np.nan
            found = getattr(K, name)(odd, 1, False)
            assert np.isnan(found[[1, -1]]).all() and (rows == 2 or np.isinf(found[0]))
            np.testing.assert_array_equal(found[2:-1], getattr(K, name)(x, 1, False)[2:-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 4, 5), (6, 1, 2), (2, 3, 700), (40, 2, 2), (1, 1, 1), (4, 0, 2), (70, 33, 1)])
def test_totals_over_any_axes(dtype, shape):
    rng = np.random.default_rng(3)
    x = rng.uniform(0.9, 1.1, shape)
    x = (x + 1j * rng.uniform(0.9, 1.1, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)
    for name, axes in itertools.product(TOTALS, (None, 0, -1, (0, 1), (0, 2), (1, 2), (2, 1, 0))):
        if (np.dtype(dtype).kind == "c" and name in ("norm", "product")) or (not x.size and name == "mean"):
            continue
        wide = x.astype(np.result_type(dtype, np.float64))
        got, want = getattr(K, name)(x, axes, False), TOTALS[name](wide, axis=axes)
        assert (got.dtype, got.shape) == (x.dtype, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=1e-4 if name == "product" else 20 * np.finfo(dtype).eps)


def test_norms_of_what_would_overflow():
    big = np.full((3, 40), 1e30, np.float32)
    np.testing.assert_allclose(K.norm(big, 1, False), np.sqrt(40) * 1e30, rtol=1e-6)
    np.testing.assert_allclose(K.norm(big * np.float32(1e-60), 1, True), 0, atol=1e-40)


def test_squares_of_several_arrays_are_added_up():
    from wengert.arrays.plain import shortcuts

    draw = np.random.default_rng(2).standard_normal
    whole = [draw((3, 5)).astype("f4"), draw((4, 1000)).T, draw(7), np.zeros((0, 3)), np.float64(2) + np.zeros(())]
    cases = [[], whole, [*whole, draw(20)[::2]], [draw(9).astype("f2")], [np.full(3, 3e38, "f4")]]
    for arrays in cases:
        expected = sum(float(np.square(a, dtype=np.float64).sum()) for a in arrays)
        for square_sum in (K.square_sum, shortcuts.square_sum):
            assert square_sum(arrays) == pytest.approx(expected, rel=1e-12)
    assert np.isnan(K.square_sum([draw(3), np.full(20, np.nan)]))


def test_folds_take_any_last_axes():
    from wengert.arrays.plain.shortcuts import LARGEST
    from wengert.arrays.reduce import fold

    x = np.random.default_rng(2).standard_normal((8, 16, 64)).astype(np.float32)
    for axis in (None, -1, 2, (1, 2), (-1, 1), (0, 1, 2)):
        for keepdims in (False, True):
            found = fold(x, axis, keepdims, LARGEST)
            if K.available:
                np.testing.assert_array_equal(found, x.max(axis, keepdims=keepdims))
                assert found.shape == np.shape(x.max(axis, keepdims=keepdims))
    assert fold(x[:, ::2], -1, False, LARGEST) is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dropout_is_a_product(dtype):
    rng = np.random.default_rng(3)
    x, mask = rng.standard_normal((37, 41)).astype(dtype), rng.random((37, 41)) < 0.6
    x[0, :4] = [np.inf, -np.inf, np.nan, -0.0]
    with np.errstate(all="ignore"):
        want = x * mask.astype(dtype) * dtype(2.5)
        close(K.masked_scale(x, mask, 2.5), want, ulps=1)
        close(K.masked_scale(x, mask[:1], 2.5), x * mask[:1].astype(dtype) * dtype(2.5), ulps=1)
        np.testing.assert_array_equal(np.signbit(K.masked_scale(x, mask, 2.5)), np.signbit(want))


def test_truth_values_are_drawn_as_their_numbers_would_be():
    one, two = np.random.MT19937(5), np.random.MT19937(5)
    bound = 3 << 51
    for shape in ((), (7,), (30, 50)):
        got = K.fill_below(one, np.empty(shape, np.bool_), bound)
        np.testing.assert_array_equal(got, K.plain("fill_below")(two, np.empty(shape, np.bool_), bound))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 16, 17, 1000])
def test_numbers_are_drawn_alike(count):
    one, two = np.random.MT19937(5), np.random.MT19937(5)
    for dtype in (np.float32, np.float64):
        low, width = float(dtype(-0.3)), float(dtype(1.7))
        got = K.fill_between(one, np.empty(count, dtype), low, width)
        np.testing.assert_array_equal(got, K.plain("fill_between")(two, np.empty(count, dtype), low, width))
    for spare in (None, 0.25):
        got, want = np.empty(count), np.empty(count)
        left = K.fill_pairs(one, got, spare), K.plain("fill_pairs")(two, want, spare)
        close(got, want, ulps=8)
        assert left[0] is left[1] is None or left[0] == pytest.approx(left[1], rel=1e-14)
    for wide in (False, True):
        for size, base in ((10, 0), (16, 5), (1 << 31, 2**64 - 3), (0, 7), (2**40, 1)):
            got, want = np.empty(count, np.int64), np.empty(count, np.int64)
            np.testing.assert_array_equal(K.fill_integers(one, got, size, base, wide),
                K.plain("fill_integers")(two, want, size, base, wide))
        got, want = np.empty(count, np.int64), np.empty(count, np.int64)
        np.testing.assert_array_equal(K.fill_permutation(one, got, wide), K.plain("fill_permutation")(two, want, wide))
    assert one.random_raw() == two.random_raw()  # as many words were used


def few_values(rng, shape, dtype):
    """Rows in which values occur again, with NaN, infinities and zeros of both signs."""
    x = rng.integers(-6, 7, shape).astype(dtype)
    x[x == 6], x[x == 5], x[x == -5] = np.nan, np.inf, -np.inf
    x[(x == 0) & (rng.random(shape) < 0.5)] = -0.0
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("n", [1, 2, 5, 16, 17, 40, 400, 3000])
def test_places_by_rank(n, dtype):
    rng = np.random.default_rng(n)
    for x in (rng.standard_normal((9, n)) * 1000, few_values(rng, (9, n), np.float64), np.zeros((2, n)),
            np.sort(rng.standard_normal((3, n))), np.full((2, n), np.nan)):
        with np.errstate(all="ignore"):
            x = x.astype(dtype)
        for rank, kind in ((0, 0), (n // 3, 0), (n - 1, 0), (0, 1), (0, 2)):
            np.testing.assert_array_equal(K.ranked_places(x, rank, kind), K.plain("ranked_places")(x, rank, kind))
        for count in {1, min(5, n), min(64, n), min(65, n), n}:
            for least in (False, True):
                got, want = K.top_places(x, count, least), K.plain("top_places")(x, count, least)
                np.testing.assert_array_equal(np.take_along_axis(x, got, 1), np.take_along_axis(x, want, 1))
                if 8 * count >= n:
                    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.float16, np.int8])
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 300, 5000])
def test_places_in_sorted_order(n, dtype):
    rng = np.random.default_rng(n)
    whole = np.iinfo(dtype) if np.dtype(dtype).kind == "i" else None
    wide = whole and rng.integers(whole.min, whole.max, (3, n), dtype)
    with np.errstate(all="ignore"):
        for x in (rng.standard_normal((3, n)) * 1000, few_values(rng, (9, n), np.float64), np.zeros((2, n)),
                np.sort(rng.standard_normal((3, n))), np.full((2, n), np.nan), np.zeros((0, n)), x_of_signs(rng, n),
                wide):
            if x is None:
                continue
            x = x.astype(dtype)
            for descending in (False, True):
                got = K.sorted_places(x, descending)
                assert got.dtype == np.int64
                np.testing.assert_array_equal(got, K.plain("sorted_places")(x, descending))


def x_of_signs(rng, n):
    """NaN of both signs among numbers."""
    x = rng.standard_normal((4, n))
    x[rng.random((4, n)) < 0.2] = np.nan
    return np.copysign(x, rng.standard_normal((4, n)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("batch", "n", "m", "width"), [((), 1, 1, 1), ((), 5, 17, 3), ((), 33, 16, 40),
    ((2, 3), 4, 9, 70), ((), 0, 3, 2), ((), 3, 0, 2), ((0,), 3, 4, 2), ((2,), 100, 40, 5)])
def test_distances_of_rows_and_their_gradients(batch, n, m, width, dtype):
    rng = np.random.default_rng(width)
    x, y = (few_values(rng, (*batch, rows, width), dtype) for rows in (n, m))
    if n == 5:  # NaN and infinities only here: elsewhere they would hide everything
        pairs = [(x, y)]
    else:
        pairs = [(np.nan_to_num(x, nan=1, posinf=2, neginf=3), np.nan_to_num(y, nan=1, posinf=2, neginf=3)),
            tuple(rng.standard_normal((*batch, rows, width)).astype(dtype) for rows in (n, m))]
    tolerance = dict(rtol=1e-5, atol=1e-5) if dtype == np.float32 else dict(rtol=1e-12, atol=1e-12)
    with np.errstate(all="ignore"):
        for (x, y), kind in itertools.product(pairs, range(5)):
            far = K.distances(x, y, kind, 2.5)
            assert far.dtype == dtype
            np.testing.assert_allclose(far, K.plain("distances")(x, y, kind, 2.5), **tolerance)
            g = rng.standard_normal(far.shape).astype(dtype)
            if kind:
                for a, b, turned in ((x, y, False), (y, x, True)):
                    got, want = (f(a, b, g, far, kind, turned, 2.5)
                        for f in (K.distances_grad, K.plain("distances_grad")))
                    atol = tolerance["atol"] * (np.nanmax(np.abs(want), initial=1) if kind == 4 else 1)
                    np.testing.assert_allclose(got, want, rtol=tolerance["rtol"], atol=atol)
    assert K.distances(x[..., ::-1], y[..., ::-1], 1).shape == (*batch, n, m)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (5, 1), (2, 3, 70), (4, 0), (0, 3)])
def test_rows_beside_their_squares_and_roots(shape, dtype):
    x = np.random.default_rng(3).standard_normal(shape).astype(dtype)
    for factor, first in ((-2, True), (1, False)):
        for rows in (x, x[..., ::-1]):
            found, wanted = (f(rows, factor, first) for f in (K.beside_squares, K.plain("beside_squares")))
            assert found.dtype == dtype
            np.testing.assert_allclose(found, wanted, rtol=20 * np.finfo(dtype).eps)
    if x.size:
        x.flat[0], x.flat[-1] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        wanted = K.plain("roots")(x.copy())
        found = K.roots(x)
        assert found is x
        np.testing.assert_array_equal(found, wanted)
        assert K.roots(np.full((4, 3), 4, dtype).T).tolist() == [[2.0] * 4] * 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("batch", "n", "width"), [((), 0, 2), ((), 1, 3), ((), 2, 1), ((), 5, 3), ((), 8, 4),
    ((2, 3), 17, 5), ((), 33, 40), ((), 70, 2), ((0,), 3, 2), ((2,), 3, 0), ((), 16, 9), ((), 200, 3)])
def test_distances_of_pairs_and_their_gradients(batch, n, width, dtype):
    rng = np.random.default_rng(width)
    odd = few_values(rng, (*batch, n, width), dtype)
    if n not in (5, 17):
        odd = np.nan_to_num(odd, nan=1, posinf=2, neginf=3)
    tolerance = dict(rtol=2e-5, atol=2e-5) if dtype == np.float32 else dict(rtol=1e-12, atol=1e-12)
    with np.errstate(all="ignore"):
        for x, (kind, p) in itertools.product((odd, rng.standard_normal(odd.shape).astype(dtype)),
                [(0, 0), (1, 1), (2, 2), (3, np.inf), (4, 0.5), (4, 1.5), (4, 3)]):
            far = K.pair_distances(x, kind, float(p))
            assert far.dtype == dtype
            np.testing.assert_allclose(far, K.plain("pair_distances")(x, kind, p), **tolerance)
            whole = K.plain("distances")(x, x, kind, p)
            np.testing.assert_allclose(far, whole[(..., *np.triu_indices(n, 1))], **tolerance)
            if kind:
                g = rng.standard_normal(far.shape).astype(dtype)
                got, want = (f(x, g, far, kind, float(p))
                    for f in (K.pair_distances_grad, K.plain("pair_distances_grad")))
                largest = np.abs(want[np.isfinite(want)]).max(initial=1)
                np.testing.assert_allclose(got, want, rtol=tolerance["rtol"], atol=tolerance["atol"] * largest)
    turned = x[..., ::-1]
    assert K.pair_distances(turned, 1, 1.0).shape == (*batch, max(n * (n - 1) // 2, 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize(("shape", "axis"), [((3,), 0), ((4, 3), 1), ((3, 5), 0), ((2, 3, 1), 1), ((2, 3, 3, 7), 2),
    ((0, 3), 1)])
def test_cross_products(shape, axis, dtype):
    rng = np.random.default_rng(7)
    x, y = (few_values(rng, shape, np.float64).round(1) for _ in "xy")
    if dtype not in (np.float32, np.float64):
        x, y = (np.nan_to_num(a, nan=1, posinf=2, neginf=3) for a in (x, y))
    x, y = x.astype(dtype), y.astype(dtype)
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (x[::-1], y), (np.asfortranarray(x), y)):
            found = K.cross(a, b, axis)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.moveaxis(np.cross(a, b, axis=axis), axis, axis))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.float16])
@pytest.mark.parametrize(("lines", "n", "each"), [(1, 7, 30), (5, 7, 3), (3, 1, 4), (2, 0, 3), (4, 5, 0), (0, 3, 2),
    (2, 1000, 900)])
def test_places_among_rows_in_order(lines, n, each, dtype):
    rng = np.random.default_rng(n)
    edges, values = (rng.integers(-6, 7, shape).astype(dtype) for shape in ((lines, n), (lines, each)))
    edges.sort(1)
    for right in (False, True):
        got = K.search_rows(edges, values, right)
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, [np.searchsorted(e, v, "right" if right else "left")
            for e, v in zip(edges, values)] if lines else np.zeros((0, each)))
        np.testing.assert_array_equal(got, K.plain("search_rows")(edges, values, right))
    if np.dtype(dtype).kind == "f" and edges.size:
        odd = few_values(rng, (lines, each), dtype)
        edges[:, n // 2 :] = np.nan
        np.testing.assert_array_equal(K.search_rows(edges, odd, False), K.plain("search_rows")(edges, odd, False))


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.float32, np.complex128])
def test_triangles(dtype):
    rng = np.random.default_rng(0)
    for shape in ((4, 4), (3, 5), (2, 5, 3), (2, 1, 0), (0, 3)):
        x = rng.integers(1, 9, shape).astype(dtype)
        for a in (x, np.swapaxes(x, -1, -2)):
            for diagonal in (0, 1, -1, 3, -7, 2**40):
                for upper in (False, True):
                    np.testing.assert_array_equal(K.triangle(a, diagonal, upper),
                        (np.triu if upper else np.tril)(a, diagonal))


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most", [0, 1, 7, 8, 40])
def test_alignments(most, dtype):
    rng = np.random.default_rng(most)
    steps, batch, kinds = 50, 9, 6
    x = (rng.standard_normal((batch, steps, kinds)) * 2).astype(dtype).transpose(1, 0, 2)
    x[3, 4, 2], x[8, 5, 1], x[9, 6] = -np.inf, np.nan, -np.inf
    states = np.zeros((batch, 2 * most + 1), np.int64)
    states[:, 1::2] = rng.integers(0, kinds, (batch, most))
    sizes, lengths = rng.integers(0, most + 1, batch), rng.integers(0, steps + 1, batch)
    sizes[:2], lengths[:2], lengths[2:8] = most, (steps, 0), steps
    given, g = (x, states, sizes, lengths), rng.standard_normal(batch).astype(dtype)
    want, found = K.plain("alignment_loss")(*given), K.alignment_loss(*given)
    for a, b in zip(found, want):
        close(a, b, ulps=64, scale=100)
    for zero in (False, True):
        close(K.alignment_grad(g, *given, *want, zero), K.plain("alignment_grad")(g, *given, *want, zero), ulps=2000)
    copied = K.alignment_loss(np.ascontiguousarray(x[..., ::-1])[..., ::-1], *given[1:])
    np.testing.assert_allclose(copied[0], found[0], rtol=1e-5)
    with pytest.raises(IndexError):  # what would lead out of the arrays is left to NumPy, which refuses it
        K.alignment_loss(x, states + kinds, sizes, lengths)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (0,)])
@pytest.mark.parametrize("n", [1, 5, 70])
def test_small_matrices(n, batch, dtype):
    rng = np.random.default_rng(3)
    half = rng.standard_normal((*batch, n, n)).astype(dtype)
    whole = half @ half.conj().swapaxes(-1, -2) + n * np.eye(n, dtype=dtype)
    found = K.cholesky_lower(whole)
    for a in (np.tril(whole), whole[..., ::-1, :].copy()[..., ::-1, :]):
        close(K.cholesky_lower(a), K.plain("cholesky_lower")(whole), ulps=2000, scale=10)
    for bad in (-whole, whole * np.nan) if found.size else ():
        assert K.cholesky_lower(bad) is K.plain("cholesky_lower")(bad) is None
    for a in (found, found.swapaxes(-1, -2).copy().swapaxes(-1, -2), found[(0,) * len(batch)] if found.size else found):
        for unit in (True, False):
            lower = a / n if unit else a
            got = rng.standard_normal((*batch, 3, n)).astype(dtype).swapaxes(-1, -2).copy()
            want, behind = got.copy(), got[..., ::-1, :].copy()[..., ::-1, :]  # the same, with its rows from behind
            for x, substitute in ((got, K.substitute), (behind, K.substitute), (want, K.plain("substitute"))):
                substitute(lower, x, unit)
            close(got, want, ulps=4000, scale=10)
            close(behind, got, ulps=4000, scale=10)


def _matrices(rng, shape, dtype):
    """Random ones, complex where the type is."""
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def _put_together(name, a):
    """The matrices whose factors a kernel of LAPACK's and its plain definition find, put together again."""
    for kernel in (getattr(K, name), K.plain(name)):
        k, n = min(a.shape[-2:]), a.shape[-1]
        if name == "orthogonal":
            for mode in (0, 1):
                q, r = kernel(a, mode)
                assert not np.tril(r, -1).any() and q.shape[-1] == (a.shape[-2] if mode else k)
                yield q @ r
            packed, tau = kernel(a, 2)
            np.testing.assert_allclose(np.triu(packed[..., :k, :]), np.triu(r[..., :k, :]), atol=1e-5)
            assert tau.shape == (*a.shape[:-2], k)
        elif name == "singular":
            for job in (1, 2):
                s, u, vh = kernel(a, job)
                np.testing.assert_allclose(kernel(a, 0)[0], s, rtol=1e-3, atol=1e-5)
                yield (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
            assert kernel(np.full_like(a, np.nan), 1) is None
        elif name == "lu_factor":
            lu, pivots, info = kernel(a)
            assert not info.any() and kernel(np.zeros_like(a))[2].all()
            for parts in (K.lu_parts, K.plain("lu_parts")):
                p, low, up = parts(lu, pivots)
                yield p @ low @ up
        elif name == "symmetric":
            for upper, part in ((False, a), (True, a.conj().swapaxes(-1, -2))):
                values, v = kernel(part, upper, True)
                np.testing.assert_allclose(kernel(part, upper, False)[0], values, rtol=1e-3, atol=1e-4)
                low = (v * values[..., None, :]) @ v.conj().swapaxes(-1, -2)
                yield np.tril(low) + np.triu(a, 1)
        elif name == "eigen":
            values, v = kernel(a, True)
            assert values.dtype == v.dtype and values.dtype.kind == "c"
            close(np.sort_complex(kernel(a, False)[0].round(2)), np.sort_complex(values.round(2)))
            yield (v * values[..., None, :]) @ np.linalg.inv(v)
        elif name == "cholesky":
            whole = a @ a.conj().swapaxes(-1, -2) + np.eye(n, dtype=a.dtype)
            low, info = kernel(whole, False)
            up, _ = kernel(whole, True)
            assert not info.any() and not np.triu(low, 1).any() and not np.tril(up, -1).any()
            np.testing.assert_array_equal(kernel(-whole, False)[1], 1)
            np.testing.assert_allclose(low @ low.conj().swapaxes(-1, -2), whole, rtol=1e-3, atol=1e-3)
            yield a + (up.conj().swapaxes(-1, -2) @ up - whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 4, 4), (2, 2, 6, 3), (3, 6), (70, 70)])
@pytest.mark.parametrize("name", ["orthogonal", "singular", "lu_factor", "symmetric", "eigen", "cholesky"])
def test_decompositions_give_the_matrices_back(name, shape, dtype):
    a = _matrices(np.random.default_rng(4), shape, dtype)
    if name in ("symmetric", "eigen", "cholesky") and shape[-1] != shape[-2]:
        pytest.skip("of square matrices alone")
    if name == "symmetric":
        a = a + a.conj().swapaxes(-1, -2)
    for lying in (a, a.swapaxes(-1, -2).copy().swapaxes(-1, -2), np.repeat(a, 2, -1)[..., ::2]):
        for again in _put_together(name, lying):
            np.testing.assert_allclose(again, a, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
@pytest.mark.parametrize("n", [1, 5, 70])
def test_systems(n, batch, dtype):
    rng = np.random.default_rng(5)
    a = _matrices(rng, (*batch, n, n), dtype) + n * np.eye(n, dtype=dtype)
    b = _matrices(rng, (*batch, n, 3), dtype)
    near = {"rtol": 1e-3, "atol": 1e-4}
    for system, solve, factor in ((K.solve_once, K.lu_solve, K.lu_factor),
            tuple(map(K.plain, ("solve_once", "lu_solve", "lu_factor")))):
        x, lu, pivots, info = system(a, b)
        np.testing.assert_allclose(a @ x, b, **near)
        if not lu.size:
            lu, pivots, info = factor(a)
        assert not info.any()
        for lying in (lu, np.ascontiguousarray(lu), np.repeat(lu, 2, -1)[..., ::2]):
            np.testing.assert_allclose(a @ solve(lying, pivots, b, False), b, **near)
            np.testing.assert_allclose(a.swapaxes(-1, -2) @ solve(lying, pivots, b, True), b, **near)
        bad = a.copy()
        bad[..., 0] = 0
        x, *_, info = system(bad, b)
        assert info.all() and np.isnan(x).all()
    for inverse in (K.inverse, K.plain("inverse")):
        np.testing.assert_allclose(inverse(a)[0] @ a, np.broadcast_to(np.eye(n), a.shape), **near)
        assert inverse(bad)[1].all() and np.isnan(inverse(bad)[0]).all()
    for got, want in zip(K.determinants(a / n), K.plain("determinants")(a / n)):
        np.testing.assert_allclose(got, want, **near)
    triangle = a / n
    behind = triangle[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
    for lying in (triangle, triangle.swapaxes(-1, -2).copy().swapaxes(-1, -2), behind):
        for upper, unit in itertools.product((False, True), repeat=2):
            x = K.triangular(lying, b, upper, unit)
            np.testing.assert_allclose(x, K.plain("triangular")(triangle, b, upper, unit), **near)
    tall, right = a[..., : max(1, n // 2)], b
    for squares in (K.least_squares, K.plain("least_squares")):
        x, rank = squares(tall, right, 1e-5)
        rest = tall.conj().swapaxes(-1, -2) @ (tall @ x - right)
        np.testing.assert_allclose(rest, 0 * rest, atol=0.05 * n)
        assert (rank == tall.shape[-1]).all() and rank.shape == batch
        assert squares(np.full_like(tall, np.inf), right, 1e-5) is None


@pytest.mark.parametrize(
    "sizes", [(1, 2, 1), (12, 4, 32), (13, 6, 33), (30, 64, 31), (5, 7, 9), (64, 130, 100), (3, 0, 2)])
def test_products_of_bfloat16(sizes):
    _, brain = halves()
    rng = np.random.default_rng(18)
    n, k, m = sizes
    a, b = rng.standard_normal((n, k)).astype(brain), rng.standard_normal((k, m)).astype(brain)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    room = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) * 1e-6 + np.abs(exact) * 2.0**-8 * 1.01
    for x, y in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b)), (a[::-1], b)):
        want = exact[::-1] if x.strides[0] < 0 else exact
        for find in (K.brain_product, K.plain("brain_product")):
            got = find(x, y)
            assert got.dtype == brain and got.flags.c_contiguous
            assert (np.abs(got.astype(np.float64) - want) <= (room[::-1] if x.strides[0] < 0 else room)).all()
    a[0, :1], b[:1, 0] = np.inf, np.nan
    np.testing.assert_array_equal(np.isnan(K.brain_product(a, b)), np.isnan(K.plain("brain_product")(a, b)))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (12, 4, 32), (13, 7, 33), (25, 33, 50), (40, 65, 17)])
@pytest.mark.parametrize("stacks", [((), ()), ((3,), (3,)), ((2, 3), (1, 3)), ((4,), ()), ((2, 1), (5,))])
def test_stacks_of_bfloat16_with_a_bias_in_every_layout(sizes, stacks):
    _, brain = halves()
    rng = np.random.default_rng(3)
    n, k, m = sizes
    bias = rng.standard_normal(m).astype(brain)
    for turned in range(4):
        a, b = (rng.standard_normal((*s, *(d[::-1] if turn else d))).astype(brain)
            for s, d, turn in zip(stacks, ((n, k), (k, m)), (turned & 1, turned & 2)))
        a, b = a.swapaxes(-1, -2) if turned & 1 else a, b.swapaxes(-1, -2) if turned & 2 else b
        exact = a.astype(np.float64) @ b.astype(np.float64) + bias.astype(np.float64)
        room = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) * 1e-6 + np.abs(exact) * 2.0**-8 * 1.01
        for find in (K.brain_product, K.plain("brain_product")):
            got = find(a, b, bias)
            assert got.dtype == brain and got.shape == exact.shape
            assert (np.abs(got.astype(np.float64) - exact) <= room + 1e-6).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_sparse_products(dtype):
    rng = np.random.default_rng(3)
    for n, m, k, stored in ((4, 5, 3, 9), (30, 2, 1, 100), (3, 3, 0, 2), (2, 7, 40, 0)):
        rows, columns = rng.integers(0, n, stored), rng.integers(0, m, stored)
        values, dense = rng.standard_normal(stored).astype(dtype), rng.standard_normal((k, m)).astype(dtype).T
        got = K.sparse_product(values, dense, rows, columns, n)
        close(got, K.plain("sparse_product")(values, dense, rows, columns, n), ulps=200)
    with pytest.raises(IndexError):
        K.sparse_product(np.ones(1, dtype), np.ones((2, 2), dtype), np.array([0]), np.array([2]), 2)


@pytest.mark.parametrize("shape", [(2, 3, 9), (1, 5, 4, 300), (4, 3, 1), (3, 2, 5), (1, 1, 2500)])
@pytest.mark.parametrize("number", [0, 1])
def test_channels_of_16_bits_are_rounded_once(shape, number):
    half = halves()[number]
    rng = np.random.default_rng(4)
    g, x = (rng.standard_normal(shape).astype(half) for _ in range(2))
    a, b, c = (rng.standard_normal(shape[1]).astype(np.float32) for _ in range(3))
    wide = [v.astype(np.float64) for v in (g, x, a, b, c)]

    def near(got, want, kind=half):
        assert got.dtype == kind
        step = 1e-6 if kind == np.float32 else 2.0**-8 if number else 2.0**-11
        np.testing.assert_allclose(got.astype(np.float64), want, step * 1.01, 1e-5)

    for got, want in zip(K.channel_moments(x), K.plain("channel_moments")(wide[1]), strict=True):
        near(got, want, np.float32)
    near(K.channel_affine(x, a, b), K.plain("channel_affine")(wide[1], *wide[2:4]))
    near(K.channel_blend(g, x, a, b, c), K.plain("channel_blend")(*wide))
    for training in (True, False):
        for weight in (c, c.astype(half), None):
            plain = None if weight is None else weight.astype(np.float64)
            found = K.batch_norm_grad(g, x, a, abs(b), weight, training)
            wanted = K.plain("batch_norm_grad")(*wide[:3], abs(wide[3]), plain, training)
            kinds = half, *[half if weight is None else weight.dtype] * 2
            for got, want, kind in zip(found, wanted, kinds, strict=True):
                step = 1e-5 if kind == np.float32 else 2.0**-8 if number else 2.0**-11
                assert got.dtype == kind
                np.testing.assert_allclose(got.astype(np.float64), want, step * 1.01, 1e-4)


HALF_CONVOLUTIONS = [  # images, filters, stride, padding, dilation, groups
    ((2, 16, 9, 11), (24, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 32, 8, 8), (33, 32, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 9, 13, 40), (8, 9, 3, 2), (1, 1), (0, 0), (1, 2), 1),
    ((2, 16, 10, 12), (12, 16, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((1, 3, 23, 21), (16, 3, 7, 7), (2, 3), (3, 3), (1, 1), 1),
    ((2, 32, 6, 6), (16, 16, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    ((2, 16, 7, 7), (16, 16, 5, 5), (1, 1), (2, 2), (2, 1), 1),
    ((3, 12, 50), (20, 12, 5), (1,), (2,), (1,), 1),
    ((3, 12, 33), (20, 12, 5), (2,), (4,), (2,), 1),
    ((2, 40, 1, 1), (8, 40, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((1, 8, 40, 32), (9, 8, 3, 1), (1, 1), (1, 0), (1, 1), 1),
    ((2, 4, 5, 6, 7), (8, 4, 2, 2, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((1, 8, 4, 4), (8, 8, 2, 2), (2, 2), (0, 0), (1, 1), 1),
    ((1, 64, 20, 30), (8, 64, 1, 1), (2, 1), (0, 0), (1, 1), 1),
    ((2, 16, 16, 16), (24, 16, 4, 4), (2, 2), (1, 1), (1, 1), 1),
    ((2, 3, 17, 18), (16, 3, 4, 5), (2, 3), (2, 1), (1, 1), 1),
    ((2, 8, 17, 9), (16, 4, 3, 3), (3, 2), (0, 2), (1, 1), 2),
    ((2, 8, 9), (16, 8, 4), (4,), (3,), (1,), 1),
    ((3, 8, 5, 5), (16, 8, 5, 5), (1, 1), (0, 0), (1, 1), 1),
]


@pytest.mark.parametrize("case", HALF_CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("number", [0, 1])
def test_convolutions_of_16_bits_are_rounded_once(case, number):
    half = halves()[number]
    images, filters, *how = case
    rng = np.random.default_rng(6)
    x, w, bias = (rng.standard_normal(s).astype(half) for s in (images, filters, filters[:1]))
    wide = [a.astype(np.float64) for a in (x, w, bias)]
    out = K.plain("conv")(*wide, *how)
    g = rng.standard_normal(out.shape).astype(half)
    wide_g = g.astype(np.float64)
    for name, operands, exact in (
            ("half_conv", (x, w, bias), out), ("half_conv", (x, w, None), K.plain("conv")(*wide[:2], None, *how)),
            ("half_conv_input", (g, w, images), K.plain("conv_input")(wide_g, wide[1], images, *how)),
            ("half_conv_weight", (x, g, filters), K.plain("conv_weight")(wide[0], wide_g, filters, *how))):
        for find in (getattr(K, name), K.plain(name)):
            got = find(*operands, *how)
            assert got.dtype == half and got.shape == exact.shape
            step = 2.0**-8 if number else 2.0**-11
            np.testing.assert_allclose(got.astype(np.float64), exact, step * 1.01, 1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("number", [0, 1])
def test_pools_and_group_norm_of_16_bits_are_rounded_once(number):
    half = halves()[number]
    rng = np.random.default_rng(7)
    x, wide_x = (a := rng.standard_normal((2, 8, 9, 9)).astype(half)), a.astype(np.float64)
    window, step = ((3, 3), (2, 2), (1, 1)), 2.0**-8 if number else 2.0**-11

    def near(got, want):
        assert got.dtype == half and got.shape == want.shape
        np.testing.assert_allclose(got.astype(np.float64), want, step * 1.01, 1e-5)

    values, places = K.max_pool(x, *window, (1, 1))
    want, wanted_places = K.plain("max_pool")(wide_x, *window, (1, 1))
    near(values, want)
    near(K.max_pool_values(x, *window, (1, 1)), want)
    np.testing.assert_array_equal(places, wanted_places)
    near(K.max_pool_grad(values, places, (9, 9)), K.plain("max_pool_grad")(want, places, (9, 9)))
    near(K.avg_pool(x, False, *window, True, None), K.plain("avg_pool")(wide_x, False, *window, True, None))
    back = K.plain("avg_pool_grad")(want, (9, 9), *window, True, None)
    near(K.avg_pool_grad(values, (9, 9), *window, True, None), back)
    weight, bias = (rng.standard_normal(8).astype(half) for _ in range(2))
    plain = [v.astype(np.float64) for v in (weight, bias)]
    found, exact = K.group_norm(x, 2, weight, bias, 1e-5), K.plain("group_norm")(wide_x, 2, *plain, 1e-5)
    near(found[0], exact[0])
    g = rng.standard_normal(x.shape).astype(half)
    for got, want in zip(K.group_norm_grad(g, x, *found[1:], weight, 2),
            K.plain("group_norm_grad")(g.astype(np.float64), wide_x, *exact[1:], plain[0], 2), strict=True):
        assert got.dtype == half
        np.testing.assert_allclose(got.astype(np.float64), want, step * 1.01, 1e-4)


@pytest.mark.parametrize("number", [0, 1])
def test_bags_of_16_bits_are_rounded_once(number):
    half = halves()[number]
    rng = np.random.default_rng(5)
    weight, places = rng.standard_normal((20, 300)).astype(half), rng.integers(0, 20, 30)
    starts = np.array([0, 4, 4, 17])
    for average in (False, True):
        want = K.plain("bags")(weight.astype(np.float64), places, starts, average)
        for find in (K.bags, K.plain("bags")):
            got = find(weight, places, starts, average)
            assert got.dtype == half
            np.testing.assert_allclose(got.astype(np.float64), want, 2.0**-8 if number else 2.0**-11, 1e-5)
    assert K.bags(weight, np.array([20]), np.array([0]), False) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("average", [False, True])
def test_bags(dtype, average):
    rng = np.random.default_rng(4)
    for rows, width, sizes in ((5, 3, [2, 0, 4, 1]), (100, 65, [7] * 30), (3, 1, []), (2, 4, [0, 0]), (9, 0, [1, 2])):
        weight, places = rng.standard_normal((rows, width)).astype(dtype), rng.integers(0, rows, sum(sizes))
        starts = np.cumsum([0, *sizes])[:-1]
        got = K.bags(weight, places, starts, average)
        close(got, K.plain("bags")(weight, places, starts, average), ulps=100)
        cuts = [weight[part].sum(0) / (max(len(part), 1) if average else 1) for part in np.split(places, starts[1:])]
        assert got.shape == (len(sizes), width)
        assert got.dtype == dtype
        if sizes:
            np.testing.assert_allclose(got, cuts, rtol=1e-5, atol=1e-5)
        for bad in ([rows], [-1]):
            assert K.bags(weight, np.array(bad), np.array([0]), average) is None
            assert K.plain("bags")(weight, np.array(bad), np.array([0]), average) is None
        for bad in ([1, 0], [-1], [9999]):
            assert K.bags(weight, places, np.array(bad), average) is None
            assert K.plain("bags")(weight, places, np.array(bad), average) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("how", ["sum", "prod", "amax", "amin"])
def test_runs(how, dtype):
    rng = np.random.default_rng(4)
    ufunc = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[how]
    for width, lengths in ((3, [2, 0, 4, 1]), (65, [7] * 30), (1, []), (4, [0, 0]), (0, [1, 2]), (1100, [3, 9]),
            (1, [5])):
        x = rng.standard_normal((sum(lengths), width)).astype(dtype)
        if len(x) > 4 and width:
            x[3, 0] = np.nan
        for start in (0.5, np.inf, np.nan):
            with np.errstate(all="ignore"):
                got = K.fold_runs(x, np.array(lengths, np.int64), how, np.asarray(start, dtype))
                ends = np.cumsum([0, *lengths])
                want = [ufunc.reduce(x[a:b], 0, initial=dtype(start)) for a, b in itertools.pairwise(ends)]
            assert got.shape == (len(lengths), width) and got.dtype == dtype
            want = np.array(want, dtype).reshape(got.shape)
            np.testing.assert_allclose(got, want, rtol=1e-2 if dtype == np.float16 else 2e-5)
    x = np.ones((3, 2), dtype)
    for bad in ([1, 1], [4], [-1, 4]):
        with pytest.raises((ValueError, IndexError)):
            K.fold_runs(x, np.array(bad), how, np.asarray(0, dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bags_of_rows_times_factors_without_one_row(dtype):
    rng = np.random.default_rng(4)
    weight, places = rng.standard_normal((10, 33)).astype(dtype), rng.integers(0, 10, 40)
    starts, factors = np.array([0, 4, 4, 17, 39]), rng.standard_normal(40).astype(dtype)
    places[-1] = 3  # the last bag has nothing but the row left out
    for times, skipped in ((factors, None), (None, 3), (factors, 3), (factors.reshape(2, 20).T.copy().T, 3)):
        for average in (False, True):
            want = np.zeros((5, 33))
            for k, part in enumerate(np.split(np.arange(40), starts[1:])):
                part = part[places[part] != (-1 if skipped is None else skipped)]
                each = np.ones(40) if times is None else times.reshape(-1)
                want[k] = (weight[places[part]] * each[part, None]).sum(0) / (max(len(part), 1) if average else 1)
            for find in (K.bags, K.plain("bags")):
                got = find(weight, places, starts, average, times, skipped)
                assert got.dtype == dtype
                np.testing.assert_allclose(got, want, 1e-5, 1e-5)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 3, 5, 16, 17, 33, 70]), min_size=1, max_size=3), st.integers(0, 2),
    st.sampled_from([np.float32, np.float64]), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 99))
def test_extremes_with_their_places(shape, axis, dtype, least, keepdim, turned, seed):
    """Ties, infinities, zeros of both signs and NaN: the first of equals, and NaN before all others."""
    rng = np.random.default_rng(seed)
    pool = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, 2, -3] if seed % 3 else [1, 2, 3, -1], dtype)
    x = rng.choice(pool, shape) if seed % 4 else rng.standard_normal(shape).astype(dtype)
    axis %= len(shape)
    x = np.moveaxis(x, 0, -1) if turned else x
    values, places = K.extreme(x, axis, least, keepdim)
    wanted, where = K.plain("extreme")(x, axis, least, keepdim)
    np.testing.assert_array_equal(places, where)
    np.testing.assert_array_equal(values, wanted)
    assert values.dtype == dtype
    assert places.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.float16, np.complex64, np.complex128])
def test_arrays_are_joined(dtype):
    def some(*shape):
        return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)

    for arrays, stack in (([some(3)] * 4, True), ([some()] * 2, True), ([some(2, 3), some(2, 3) + some(1)], True),
            ([some(3), some(0), some(2)], False), ([some(2, 3), some(1, 3)], False), ([some(3, 2).T, some(2, 3)], True),
            ([some(3, 2).T, some(2, 3)], False), ([some(3), some(2)], True), ([some(2, 3), some(2, 2)], False),
            ([some(3), some(3).astype(np.int32)], True), ([some(3), some(3, 1)], False),
            ([some(40, 7, 6)[:, 2], some(40, 6)[::-1]], True),
            ([some(9, 5, 4)[:, 1:3], some(9, 1, 4), some(9, 0, 4)], False)):
        for axis in range(-arrays[0].ndim - stack - 1, arrays[0].ndim + stack + 1):
            got, want = K.joined(arrays, axis, stack), K.plain("joined")(arrays, axis, stack)
            try:
                known = (np.stack if stack else np.concatenate)(arrays, axis)
            except ValueError:
                known = None
            assert (got is None) == (want is None) == (known is None or len({a.dtype for a in arrays}) > 1)
            if want is not None:
                np.testing.assert_array_equal(got, known)
                np.testing.assert_array_equal(want, known)
                assert got.dtype == want.dtype and got.flags.c_contiguous and got.flags.owndata


def test_signs():
    for dtype in (np.float16, np.float32, np.float64):
        x = np.array([-np.inf, -2, -0.0, 0.0, 1e-7, np.inf, np.nan], dtype)
        np.testing.assert_array_equal(K.signum(x), np.array([-1, -1, 0, 0, 1, 1, 0], dtype))


# ---- plain definitions of large arrays ----


@pytest.mark.parametrize("name", ["gelu", "gelu_grad", "erf", "sigmoid"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_plain_definitions_go_by_blocks(name, dtype):
    """The same numbers as piece by piece, into the result's own memory, and little besides it."""
    import tracemalloc

    args = arguments(name, dtype, (300, 700))
    plain = K.plain(name)
    pieces = np.concatenate([plain(*[a[i : i + 1] for a in args]) for i in range(300)])
    tracemalloc.start()
    try:
        got = plain(*args)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(got, pieces)
    assert got.dtype == dtype
    assert peak < got.nbytes + 40 * 8 * (1 << 15)
    out = np.empty_like(got)
    assert plain(*args, out=out) is out
    np.testing.assert_array_equal(out, pieces)
    np.testing.assert_array_equal(plain(*[np.asfortranarray(a) for a in args]), pieces)


@pytest.mark.parametrize("causal", [False, True])
def test_plain_attention_goes_by_heads(causal):
    rng = np.random.default_rng(4)
    q, k, v, g = (rng.standard_normal((3, 8, 256, 16)) for _ in range(4))
    from wengert.arrays.plain import attention as plain

    want = np.stack([plain.attention(*(x[i, :2] for x in (q, k, v)), None, causal, 0.25) for i in range(3)])
    np.testing.assert_allclose(plain.attention(q, k, v, None, causal, 0.25)[:, :2], want, rtol=1e-12)
    needs = (True, False, True, False)
    grads = plain.attention_grad(g, q, k, v, None, causal, 0.25, needs)
    few = plain.attention_grad(*(x[1, :2] for x in (g, q, k, v)), None, causal, 0.25, needs)
    for whole, part in zip(grads, few):
        assert (whole is None) == (part is None)
        if whole is not None:
            np.testing.assert_allclose(whole[1, :2], part, rtol=1e-10, atol=1e-12)


# ---- NumPy's own functions, and the short ways ----

SHAPES = [
    ((8, 8), (8, 8)), ((5, 1, 3), (4, 1)), ((), ()), ((3,), ()), ((0, 3), (1, 3)), ((2, 3, 4), (4,)), ((1,), (1, 1)),
    ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), (3, 1)), ((300, 700), (700,)), ((300, 700), (300, 1)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64, np.float16, np.bool_])
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum", "less", "equal", "logical_and"])
@pytest.mark.filterwarnings("error")
def test_arithmetic_is_numpys(name, dtype):
    rng = np.random.default_rng(10)
    function, ufunc = getattr(K, name), getattr(np, name)
    for left, right in SHAPES:
        a, b = ((rng.standard_normal(shape) * 5 + 3).astype(dtype) for shape in (left, right))
        with np.errstate(all="ignore"):
            want = np.asarray(ufunc(a, b))
            got = function(a, b) if dtype not in (np.int64, np.bool_) or name != "divide" else want
            assert np.asarray(got).dtype == want.dtype
            own = name == "divide" and dtype == np.complex64  # rounded once, in test_complex_functions.py
            np.testing.assert_allclose(got, want, rtol=3e-7 if own else 0)
            out = np.zeros_like(want)
            assert function(a, b, out=out) is out
            np.testing.assert_array_equal(out, got)
            for x in (a[..., ::-1] if a.ndim else a, np.asfortranarray(a)):
                np.testing.assert_allclose(function(x, b), ufunc(x, b), rtol=3e-7 if own else 0)


@pytest.mark.parametrize("name", K.FAMILIES["arithmetic"])
def test_every_arithmetic_function(name):
    function, ufunc = getattr(K, name), getattr(np, name)
    for dtype in (np.float32, np.float64, np.int64, np.bool_):
        x = np.array([1, 2, 3, 1]).astype(dtype)
        args = (x,) * ufunc.nin
        try:
            with np.errstate(all="ignore"):
                want = ufunc(*args)
        except TypeError:
            with pytest.raises(TypeError):
                function(*args)
            continue
        with np.errstate(all="ignore"):  # integers go NumPy's way
            got = function(*args)
        assert got.dtype == want.dtype
        if dtype in (np.float32, np.float64):  # some are our own (test_ulp.py)
            (np.testing.assert_array_max_ulp(got, want, 4) if got.dtype == dtype
                else np.testing.assert_array_equal(got, want))
        else:
            np.testing.assert_array_equal(got, want)


@native
@pytest.mark.filterwarnings("error")
def test_arithmetic_is_quiet_and_returns_arrays():
    zero = np.zeros((), np.float32)
    assert type(K.log(zero)) is np.ndarray
    assert K.log(zero) == -np.inf
    assert np.isnan(K.divide(zero, zero))
    assert np.isnan(K.sqrt(np.array([[-1.0, -2.0]])[:, ::-1])).all()  # a layout that takes NumPy's way
    assert type(K.add(np.float64(1), np.float64(2))) is np.ndarray


@native
def test_arithmetic_with_python_numbers_keeps_the_type():
    x = np.arange(3, dtype=np.float32)
    for function, ufunc in ((K.multiply, np.multiply), (K.subtract, np.subtract), (K.power, np.power)):
        for args in ((x, 2), (2.5, x), (x, 3.0)):
            assert function(*args).dtype == np.float32
            np.testing.assert_array_equal(function(*args), ufunc(*args))
    assert K.multiply(np.arange(3), 2).dtype == np.int64
    assert K.multiply(np.arange(3), 2.5).dtype == np.float64


@native
def test_arithmetic_in_place():
    x = np.arange(6.0)
    assert K.multiply(x, x, x) is x
    np.testing.assert_array_equal(x, np.arange(6.0) ** 2)
    y = np.arange(6.0)
    K.add(y[:-1], y[1:], out=y[1:])  # overlapping: as if from a copy
    np.testing.assert_array_equal(y, [0, 1, 3, 5, 7, 9])
    big = np.ones((700, 300), np.float32)
    K.add(big, big[0].copy(), out=big)
    assert (big == 2).all()
    with pytest.raises(ValueError, match="broadcast"):
        K.add(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="output"):
        K.add(np.ones((2, 3)), np.ones(3), out=np.ones(3))
    assert K.add.reduce(np.ones(4)) == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.bool_])
@pytest.mark.parametrize("shape",
    [(), (5,), (3, 4), (2, 3, 4, 5), (70, 130), (1, 3, 1), (100_001,), (40, 3, 500), (0, 3)])
def test_sum_and_mean(dtype, shape):
    rng = np.random.default_rng(11)
    x = (rng.standard_normal(shape) * 3).astype(dtype)
    axes = [None, (), tuple(range(len(shape))), *range(-len(shape), len(shape)), *([(0, -1)] if len(shape) > 1 else [])]
    for axis in axes:
        for keepdims in (False, True):
            exact = np.sum(x, axis=axis, keepdims=keepdims, dtype=np.int64 if x.dtype.kind in "bi" else np.float64)
            scale = np.sum(np.abs(x.astype(np.float64)), axis=axis, keepdims=keepdims)
            got = K.sum(x, axis, keepdims)
            assert type(got) is np.ndarray
            assert got.dtype == (np.int64 if x.dtype.kind in "bi" else dtype)
            eps = 0 if x.dtype.kind in "bi" else float(np.finfo(dtype).eps)
            assert (np.abs(got - exact) <= 4 * eps * scale + eps).all()
            if x.dtype.kind == "f" and x.size:
                count = x.size // got.size
                assert (np.abs(K.mean(x, axis, keepdims) - exact / count) <= 4 * eps * scale / count + eps).all()


def test_sum_of_other_layouts_and_of_many():
    x = np.random.default_rng(12).standard_normal((50, 60)).astype(np.float32)
    np.testing.assert_allclose(K.sum(x.T, 0), x.sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(K.sum(x[::2], 1), x[::2].sum(1), rtol=1e-5, atol=1e-5)
    assert K.sum(np.full(1 << 22, 0.1, np.float32)) == pytest.approx(np.float32(0.1) * float(1 << 22), rel=2e-6)
    assert K.sum(np.full((1 << 20, 3), 0.1, np.float32), 0) == pytest.approx(np.float32(0.1) * float(1 << 20), rel=2e-6)
    with pytest.raises(np.exceptions.AxisError):
        K.sum(x, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [(50, 11), (3, 40), (2, 3, 4), (3, 5, 2, 3), (2, 5, 30, 31), (2, 300, 3), (1, 1)])
@pytest.mark.parametrize("softmax", [True, False])
def test_losses_of_classes(dtype, shape, softmax):
    rng = np.random.default_rng(15)
    x = (rng.standard_normal(shape) * 3).astype(dtype)
    target = rng.integers(0, shape[1], shape[:1] + shape[2:])
    weight = rng.random(shape[1]).astype(dtype)
    left_out = target.copy()
    left_out.flat[::7] = -100
    log_p = K.plain("log_softmax")(x.astype(np.float64), 1) if softmax else x.astype(np.float64)
    rtol = 0.02 if dtype is np.float16 else 1e-4 if dtype is np.float32 else 1e-12
    cases = itertools.product([target, left_out], [-100, 0], [None, weight], ["none", "sum", "mean"])
    for classes, ignored, w, reduction in cases:
        if ignored == 0 and classes is left_out:
            continue
        arguments = x, classes, w, ignored, reduction, softmax
        found, want = K.class_losses(*arguments), K.plain("class_losses")(*arguments)
        kept = classes != ignored
        safe = np.where(kept, classes, 0)
        factor = kept * (1.0 if w is None else w.astype(np.float64)[safe])
        each = np.where(kept, -np.take_along_axis(log_p, safe[:, None], 1)[:, 0] * factor, 0)
        total = factor.sum()
        with np.errstate(all="ignore"):
            exact = each if reduction == "none" else each.sum() if reduction == "sum" else each.sum() / total
        for loss, lse, index, scale, weights in (found, want):
            np.testing.assert_allclose(loss, exact, rtol=rtol, atol=rtol)
            assert (lse is not None) == softmax
            assert index.shape == (shape[0], 1, *shape[2:])
            assert (index[:, 0] == np.where(kept, classes, -1 if softmax else 0)).all()
            np.testing.assert_allclose(weights, total, rtol=rtol, atol=rtol)
            if total:
                np.testing.assert_allclose(scale, -factor / total if reduction == "mean" else -factor, rtol=rtol)
            assert {loss.dtype, scale.dtype, weights.dtype} == {np.dtype(dtype)}
        if not softmax or not total:
            continue
        for g in (np.array(0.7, dtype), rng.standard_normal(classes.shape).astype(dtype)):
            slope = K.cross_entropy_grad(g, found[3], x, found[2], found[1])
            close(slope, K.plain("cross_entropy_grad")(g, found[3], x, found[2], found[1]), scale=8)
            assert not np.moveaxis(slope, 1, -1)[~kept].any()


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("shape", [(9, 11), (40, 33), (200, 5), (2, 3, 4), (3, 7, 40), (2, 300, 5)])
@pytest.mark.parametrize("offset", [0, 100, 1000, 3e4])
def test_losses_of_large_scores_are_exact(native, shape, offset):
    """Sums of exponentials are known to more than one number says."""
    rng = np.random.default_rng(3)
    x = (rng.standard_normal(shape) * 2 + offset).astype(np.float32)
    target = rng.integers(0, shape[1], shape[:1] + shape[2:])
    losses, slope_of = ((K.class_losses, K.cross_entropy_grad) if native
        else (K.plain("class_losses"), K.plain("cross_entropy_grad")))
    loss, lse, index, scale, _ = losses(x, target, None, -100, "none", True)
    p = K.plain("softmax")(x.astype(np.float64), 1)
    exact = -np.log(np.take_along_axis(p, target[:, None], 1)[:, 0])
    np.testing.assert_allclose(loss, exact, rtol=1e-6, atol=1e-6)
    g = rng.standard_normal(target.shape).astype(np.float32)
    np.put_along_axis(p, target[:, None], np.take_along_axis(p, target[:, None], 1) - 1, 1)
    np.testing.assert_allclose(slope_of(g, scale, x, index, lse), p * g[:, None], rtol=3e-6, atol=3e-7)


@pytest.mark.parametrize("shape", [(9, 11), (40, 33), (2, 3, 4)])
def test_losses_of_odd_scores(shape):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape).astype(np.float32)
    target = np.ones(shape[:1] + shape[2:], np.int64)
    target[1] = -100
    one = np.float32(1).reshape(())
    for odd in (np.nan, np.inf, -np.inf):
        y = x.copy()
        y[0, 2], y[1, 0] = odd, odd
        loss, lse, index, scale, _ = K.class_losses(y, target, None, -100, "none", True)
        slope = K.cross_entropy_grad(one, scale, y, index, lse)
        fine = odd == -np.inf  # one class of a score that is impossible
        assert (np.isfinite(loss[0]) == fine).all()
        assert not loss[1].any()
        assert (np.isnan(slope[:2]) != fine).all()
        assert np.isfinite(slope[2:]).all()
        want = K.plain("class_losses")(y, target, None, -100, "none", True)
        np.testing.assert_allclose(loss, want[0], rtol=1e-5)
        exact = K.plain("cross_entropy_grad")(one, want[3], y, want[2], want[1])
        np.testing.assert_allclose(slope, exact, rtol=1e-4, atol=1e-6)


def test_classes_that_are_none():
    x = np.zeros((4, 3), np.float32)
    for wrong, softmax in itertools.product([3, -1, 99], [True, False]):
        for losses in (K.class_losses, K.plain("class_losses")):
            with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
                losses(x, np.array([0, -100, wrong, 1]), None, -100, "mean", softmax)
    for wrong in ([0, 0, 3], np.arange(6).reshape(3, 2)):  # other shapes
        with pytest.raises((ValueError, IndexError)):
            K.class_losses(x, np.array(wrong), None, -100, "mean", True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.complex128, np.bool_])
@pytest.mark.parametrize("shape", [(33, 70), (5, 40, 31), (17, 3, 65), (64, 16), (2, 3), (0, 40), (40,), ()])
def test_copies_in_order(dtype, shape):
    x = (np.random.default_rng(16).standard_normal(shape) * 50).astype(dtype)
    for axes in itertools.permutations(range(len(shape))):
        view = x.transpose(axes)
        for v in (view, view[::-1] if x.ndim else view, view[..., 1:] if x.ndim else view,
                np.broadcast_to(view, (2, *view.shape))):
            got = K.in_order(v)
            assert got.flags.c_contiguous and got.flags.owndata and got.dtype == v.dtype
            np.testing.assert_array_equal(got, v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.float16])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 3), (5, 13), (7, 64), (3, 3, 3), (70,)])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7, 8, 9, 33])
def test_images_are_turned_in_order(channels, size, dtype):
    """Planes into rows of pixels and back, without writing beside them."""
    planes = (np.random.default_rng(3).standard_normal((3, channels, *size)) * 50).astype(dtype)
    pixels = K.in_order(np.moveaxis(planes, 1, -1))
    assert pixels.flags.c_contiguous
    np.testing.assert_array_equal(pixels, np.moveaxis(planes, 1, -1))
    np.testing.assert_array_equal(K.in_order(np.moveaxis(pixels, -1, 1)), planes)
    few = np.moveaxis(planes[1:, :, 1:], 1, -1)
    np.testing.assert_array_equal(K.in_order(few), few)


def test_sums_of_products_in_plain_agree_with_calculus():
    """The plain gradients are derivatives of the plain functions (central differences, float64)."""
    x = np.linspace(-3, 3, 41)
    step = 1e-6
    for name in ("gelu", "gelu_tanh", "silu", "softplus", "log_sigmoid", "mish", "sigmoid"):
        f, slope = K.plain(name), K.plain(name + "_grad")
        numeric = (f(x + step) - f(x - step)) / (2 * step)
        exact = slope(np.ones_like(x), f(x) if name == "sigmoid" else x)
        np.testing.assert_allclose(exact, numeric, rtol=1e-7, atol=1e-9)


# ---- optimizers ----

OPTIMIZERS = {  # family: how optim_kernels computes it, and the constants of the native family
    "sgd": (("sgd_update", {"lr": 0.1}), (0, -0.1, 0, 1)),
    "sgd_first": (("sgd_update", {"lr": 0.1, "momentum": 0.9, "first": True}), (0, -0.1, 0.9, 1)),
    "sgd_first_nesterov": (
        ("sgd_update", {"lr": 0.1, "momentum": 0.9, "first": True, "nesterov": True}), (0, -0.1, 0.9, 1)
    ),
    "sgd_momentum": (("sgd_update", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}), (0, -0.1, 0.9, 0.7)),
    "sgd_nesterov": (("sgd_update", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), (0, -0.1, 0.9, 1)),
    "adam": (
        ("adam_update", {"step": 3, "lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8}),
        (0, 1, 0.1, 0.99, 0.01, 1e-8 * (1 - 0.99**3) ** 0.5, -0.01 / (1 - 0.9**3) * (1 - 0.99**3) ** 0.5),
    ),
    "adagrad": (("adagrad_update", {"step": 1, "lr": 0.1, "lr_decay": 0.0, "eps": 1e-10}), (0, 1e-10, -0.1)),
    "rmsprop": (("rmsprop_update", {"lr": 0.1, "alpha": 0.9, "eps": 1e-8}), (0, 0.9, 0.1, 1e-8, -0.1, 0)),
    "rmsprop_momentum": (
        ("rmsprop_update", {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "momentum": 0.5}), (0, 0.9, 0.1, 1e-8, -0.1, 0.5)
    ),
    "adadelta": (("adadelta_update", {"lr": 1.0, "rho": 0.9, "eps": 1e-6}), (0, 0.9, 0.1, 1e-6, -1.0)),
}
OPTIMIZERS["adam_amsgrad"] = OPTIMIZERS["adam"]


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("family", OPTIMIZERS)
def test_optimizer_updates_are_those_of_numpy(family, decay, sign, dtype, monkeypatch):
    optim_kernels = pytest.importorskip("wengert.arrays.optim_kernels")
    from wengert.arrays.plain.steps import FAMILIES

    rng = np.random.default_rng(16)
    (function, options), constants = OPTIMIZERS[family]
    want = [[rng.random(shape).astype(dtype) for shape in ((), (3, 5), (70_001,))] for _ in range(FAMILIES[family][0])]
    got, connected = ([[a.copy() for a in column] for column in want] for _ in range(2))
    update = getattr(optim_kernels, function)
    update(*connected, **options, weight_decay=decay, maximize=sign < 0)
    with monkeypatch.context() as patch:
        patch.setattr(optim_kernels.K, "optimizer_update", K.plain("optimizer_update"))
        update(*want, **options, weight_decay=decay, maximize=sign < 0)
    assert K.optimizer_update(family, got, (sign, decay, *constants[1:])) is True
    for a, b, c in zip(itertools.chain(*got), itertools.chain(*want), itertools.chain(*connected), strict=True):
        if np.dtype(dtype).itemsize > 2:
            close(a, b, ulps=16)
            np.testing.assert_allclose(a, c, rtol=1e-6)
            continue
        # Rounded once, from float32 numbers that differ by where a product and a sum were contracted.
        wide, plain = a.astype(np.float32), b.astype(np.float32)
        step = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(wide, plain, rtol=2 * step, atol=step)
        assert (wide != plain).sum() <= 1 + a.size / 100
        np.testing.assert_array_equal(a, c)


@native
def test_optimizer_updates_change_nothing_they_cannot_finish():
    p, g = (
        [np.ones(4, np.float32), np.ones((4, 4), np.float32)[:, ::2]],
        [np.ones(4, np.float32), np.ones((4, 2), np.float32)],
    )
    assert K.optimizer_update("sgd", [p, g], (1, 0, -0.1, 0, 1)) is False
    assert (p[0] == 1).all()
    for columns, constants in (([p], (1, 0, -0.1, 0, 1)), ([p, g], (1, 0)), ([p, g[:1]], (1, 0, -0.1, 0, 1))):
        with pytest.raises(ValueError, match="column"):
            K.optimizer_update("sgd", columns, constants)
    with pytest.raises(ValueError, match="no_such"):
        K.optimizer_update("no_such", [p, g], ())
    assert K.plain("optimizer_update")("sgd", [p, g], (1, 0, -0.1, 0, 1)) is False


# -- attention --------------------------------------------------------------------------------------------------------


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "shape", [(70, 70, 64, 64), (17, 33, 5, 7), (33, 17, 40, 48), (1, 1, 1, 1), (200, 90, 36, 33)],
    ids=lambda s: "x".join(map(str, s))
)
def test_attention_is_that_of_numpy(shape, causal, dtype):
    rng = np.random.default_rng(17)
    queries, keys, width, depth = shape
    q, k = (rng.standard_normal((2, 3, n, width)).astype(dtype) for n in (queries, keys))
    v = rng.standard_normal((2, keys, 3, depth)).astype(dtype).swapaxes(1, 2)  # as a projection leaves it
    g = rng.standard_normal((2, 3, queries, depth)).astype(dtype)[..., ::-1]  # not contiguous: copied
    nowhere = rng.random((1, 1, queries, keys)) < 0.6
    nowhere[..., 0, :] = False
    for mask in (None, nowhere, rng.standard_normal((3, 1, keys)).astype(dtype)):
        got = K.attention(q, k, v, mask, causal, 0.3)
        tolerance = 2e-5 if dtype == np.float32 else 1e-13
        np.testing.assert_allclose(got, K.plain("attention")(q, k, v, mask, causal, 0.3), rtol=tolerance,
            atol=tolerance)
        for needs in ([True, True, True, False], [False, True, False, False], [True, False, False, True]):
            found = K.attention_grad(g, q, k, v, mask, causal, 0.3, needs)
            for a, b, need in zip(found, K.plain("attention_grad")(g, q, k, v, mask, causal, 0.3, needs), needs,
                    strict=True):
                assert (a is not None) is need
                if need:
                    np.testing.assert_allclose(a, b, rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("masked", [None, "bool", "half", "single"])
@pytest.mark.parametrize("number", [0, 1])
def test_attention_of_16_bits_rounds_weights_and_results(number, masked):
    half = halves()[number]
    rng = np.random.default_rng(8)
    q, k, v, g = (rng.standard_normal((2, 5, 3, 8)).astype(half).transpose(0, 2, 1, 3) for _ in range(4))
    mask = rng.standard_normal((3, 5, 5)).astype(half)
    mask = {None: None, "bool": mask > -0.5, "half": mask, "single": mask.astype(np.float32)}[masked]
    if masked == "bool":
        mask[..., 0] = True
    wide = [a.astype(np.float64) for a in (g, q, k, v)]
    widened = mask if mask is None or masked == "bool" else mask.astype(np.float64)
    exact = [K.plain("attention")(*wide[1:], widened, False, 0.3),
        *K.plain("attention_grad")(*wide, widened, False, 0.3, (True, True, True, False))[:3]]
    for of in (lambda name: getattr(K, name), K.plain):
        found = [of("half_attention")(q, k, v, mask, False, 0.3),
            *of("half_attention_grad")(g, q, k, v, mask, False, 0.3, (True, True, True, False))[:3]]
        for got, want in zip(found, exact, strict=True):
            assert got.dtype == half and got.shape == want.shape
            step = 2.0**-8 if number else 2.0**-11
            room = step * abs(wide[3]).max() if got is found[0] else 1e-5
            np.testing.assert_allclose(got.astype(np.float64), want, step, room)


@native
def test_attention_keeps_nan_and_infinities():
    q, k, v = (np.ones((1, 4, 8), np.float32) for _ in range(3))
    k[0, 2, 0] = np.nan
    out = K.attention(q, k, v, None, True, 1.0)
    assert np.isfinite(out[0, :2]).all() and np.isnan(out[0, 2:]).all()
    k[0, 2, 0] = np.inf
    assert (np.isnan(K.attention(q, k, v, None, False, 1.0)).all()
        == np.isnan(K.plain("attention")(q, k, v, None, False, 1.0)).all())


@native
def test_attention_makes_no_array_of_scores():
    import tracemalloc

    q, k, v = (np.ones((2, 2048, 16), np.float32) for _ in range(3))
    tracemalloc.start()
    K.attention(q, k, v, None, True, 0.25)
    K.attention_grad(q, q, k, v, None, True, 0.25, [True, True, True, False])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2048 * 2048  # bytes; the scores of one head alone would be four times that


# -- convolutions -----------------------------------------------------------------------------------------------------

CONVOLUTIONS = {  # x, weight, stride, padding, dilation, groups
    "plain": ((2, 3, 9, 11), (5, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    "everything": ((2, 4, 9, 11), (6, 2, 3, 2), (2, 1), (1, 2), (1, 1), 2),
    "depthwise": ((3, 8, 7, 7), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1), 8),
    "wide": ((2, 3, 5, 70), (9, 3, 1, 7), (1, 1), (0, 3), (1, 3), 1),
    "strides": ((2, 3, 30, 40), (17, 3, 5, 5), (2, 3), (2, 0), (1, 1), 1),
    "dilated": ((1, 2, 20, 20), (33, 2, 3, 3), (1, 1), (2, 2), (2, 2), 1),
    "all padding": ((1, 2, 3, 3), (4, 2, 2, 2), (1, 1), (3, 3), (1, 1), 1),
    "one element": ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "one axis": ((3, 4, 50), (8, 2, 5), (1,), (2,), (2,), 2),
    "one axis, stride": ((3, 4, 50), (7, 4, 5), (3,), (1,), (1,), 1),
}


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_are_those_of_numpy(case, dtype):
    x_shape, w_shape, *rest = CONVOLUTIONS[case]
    rng = np.random.default_rng(18)
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    bias = rng.standard_normal(w_shape[0]).astype(dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    want = K.plain("conv")(x, w, bias, *rest)
    np.testing.assert_allclose(K.conv(x, w, bias, *rest), want, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(K.conv(x[..., ::-1], w, None, *rest), K.plain("conv")(x[..., ::-1], w, None, *rest),
        rtol=tolerance, atol=tolerance)
    g = rng.standard_normal(want.shape).astype(dtype)
    for name, arguments in (("conv_weight", (x, g, w.shape)), ("conv_input", (g, w, x.shape))):
        want = K.plain(name)(*arguments, *rest)
        got = getattr(K, name)(*arguments, *rest)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=10 * tolerance)


@native
def test_convolution_keeps_nan_and_infinities_where_they_are_seen():
    x = np.zeros((1, 1, 5, 40), np.float32)
    x[0, 0, 2, 20], x[0, 0, 0, 0] = np.nan, np.inf
    y = K.conv(x, np.ones((2, 1, 3, 3), np.float32), None, (1, 1), (0, 0), (1, 1), 1)
    seen = np.zeros((3, 38), bool)
    seen[:3, 18:21] = True
    np.testing.assert_array_equal(np.isnan(y[0, 0]), seen)
    assert np.isinf(y[0, :, 0, 0]).all() and np.isinf(y).sum() == 2


# -- recurrent layers -------------------------------------------------------------------------------------------------


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64, "bfloat16"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("hidden", "sizes"), [(5, (4, 4, 3, 1)), (33, (17, 17, 17)), (64, (1,) * 6), (16, (9, 2))])
@pytest.mark.parametrize("layer", ["lstm", "gru", "gru without bias", "elman", "elman relu"])
def test_recurrent_layers_are_those_of_numpy(layer, hidden, sizes, reverse, dtype, monkeypatch):
    from wengert.arrays import recurrent

    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype)
    rng = np.random.default_rng(19)
    gates = {"lstm": 4, "gru": 3, "elman": 1}[layer.split()[0]]

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype) / 2

    rows, batch = sum(sizes), sizes[0]
    x, w, b = normal(rows, gates * hidden), normal(gates * hidden, hidden) / hidden**0.5, normal(gates * hidden)
    h0, c0 = normal(batch, hidden), normal(batch, hidden)
    g = [normal(rows, hidden)[:, ::-1], normal(batch, hidden), normal(batch, hidden)]

    def both():
        if layer == "lstm":
            y = recurrent.lstm(x, w, h0, c0, sizes, reverse)
            return *y, *recurrent.lstm_grad(g, w, h0, c0, y[0], y[3], y[4], sizes, reverse, [True] * 4)
        if layer.startswith("gru"):
            bias = b if layer == "gru" else None
            y = recurrent.gru(x, w, bias, h0, sizes, reverse)
            return *y, *recurrent.gru_grad(g, w, bias, h0, y[0], y[2], sizes, reverse, [True] * 4)
        y = recurrent.elman(x, w, h0, layer.endswith("relu"), sizes, reverse)
        return *y, *recurrent.elman_grad(g, w, h0, y[0], layer.endswith("relu"), sizes, reverse, [True] * 3)

    got = both()
    monkeypatch.setattr(recurrent.K, "recurrent_walk", K.plain("recurrent_walk"))
    for a, e in zip(got, both(), strict=True):
        assert (a is None) == (e is None)
        if e is not None:
            tolerance = {2: 0.03, 4: 1e-4, 8: 1e-12}[dtype.itemsize]  # products of bfloat16 round the states
            assert a.dtype == e.dtype == dtype
            np.testing.assert_allclose(a.astype(float), e.astype(float), rtol=tolerance, atol=tolerance)


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("hidden", "sizes"), [(5, (4, 4, 3, 1)), (33, (17, 17, 17)), (16, (9, 2))])
@pytest.mark.parametrize("layer", ["lstm", "gru", "gru without bias", "elman", "elman relu"])
def test_gradients_of_recurrent_gradients_are_those_of_numpy(layer, hidden, sizes, reverse, dtype, monkeypatch):
    from wengert.arrays import recurrent, recurrent_twice

    rng = np.random.default_rng(20)
    gates, rows, batch = {"lstm": 4, "gru": 3, "elman": 1}[layer.split()[0]], sum(sizes), sizes[0]

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype) / 2

    x, w, b = normal(rows, gates * hidden), normal(gates * hidden, hidden) / hidden**0.5, normal(gates * hidden)
    h0, c0 = normal(batch, hidden), normal(batch, hidden)
    g = [normal(rows, hidden)[:, ::-1], normal(batch, hidden), normal(batch, hidden)]
    v, v_w, v_b, v_h, v_c = normal(*x.shape), normal(*w.shape), normal(*b.shape), normal(*h0.shape), normal(*h0.shape)

    def each(full):
        if layer == "lstm":
            out, _, _, cells, act = recurrent.lstm(x, w, h0, c0, sizes, reverse)
            along = (v, v_w, v_h, v_c) if full else (None, None, None, v_c)
            return recurrent_twice.lstm_twice(along, g, w, h0, c0, out, cells, act, sizes, reverse, full)
        if layer.startswith("gru"):
            bias = b if layer == "gru" else None
            out, _, act = recurrent.gru(x, w, bias, h0, sizes, reverse)
            along = (v, v_w, v_b if layer == "gru" else None, v_h) if full else (v, None, None, None)
            return recurrent_twice.gru_twice(along, g, w, bias, h0, out, act, sizes, reverse, full)
        out, _ = recurrent.elman(x, w, h0, layer.endswith("relu"), sizes, reverse)
        along = (v, v_w, v_h) if full else (None, None, v_h)
        return recurrent_twice.elman_twice(along, g, w, h0, out, layer.endswith("relu"), sizes, reverse, full)

    got = [*each(True), *each(False)]
    monkeypatch.setattr(recurrent.K, "recurrent_twice_walk", K.plain("recurrent_twice_walk"))
    for a, e in zip(got, [*each(True), *each(False)], strict=True):
        assert (a is None) == (e is None)
        if e is not None:
            tolerance = 1e-4 if dtype == np.float32 else 1e-12
            np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


@native
def test_recurrent_twice_walk_refuses_what_it_cannot_do():
    x, w, h = np.ones((2, 3), np.float32), np.ones((3, 3), np.float32), np.ones((2, 3), np.float32)
    arrays = (x, x.copy(), h.copy())
    assert K.recurrent_twice_walk(4, w, None, arrays, h, (2,), False, False) is True
    assert K.recurrent_twice_walk(4, w.astype(np.float16), None, arrays, h, (2,), False, False) is False
    assert K.recurrent_twice_walk(4, w[:, ::-1], None, arrays, h, (2,), False, False) is False
    assert K.recurrent_twice_walk(4, w, None, (x[:, ::-1], *arrays[1:]), h, (2,), False, False) is False
    with pytest.raises(ValueError, match="more rows than the batch"):
        K.recurrent_twice_walk(4, w, None, arrays, h, (3,), False, False)
    with pytest.raises(ValueError, match="too few rows"):
        K.recurrent_twice_walk(4, w, None, (x[:1], *arrays[1:]), h, (2,), False, False)


@native
def test_recurrent_walk_refuses_what_it_cannot_do():
    x, w, h = np.ones((2, 3), np.float32), np.ones((3, 3), np.float32), np.ones((2, 3), np.float32)
    arguments = [4, x, w, None, None, None, h, None, None, None, np.empty_like(x), None, None]
    assert K.recurrent_walk(*arguments, (2,), False, False) is True
    assert K.recurrent_walk(4, x.astype(np.float16), *arguments[2:], (2,), False, False) is False
    assert K.recurrent_walk(*arguments[:2], w[:, ::-1], *arguments[3:], (2,), False, False) is False
    with pytest.raises(ValueError, match="more rows than the batch"):
        K.recurrent_walk(*arguments, (3,), False, False)
    with pytest.raises(ValueError, match="a row for every sequence and step"):
        K.recurrent_walk(*arguments, (2, 1), False, False)


def test_an_extension_older_than_its_sources_is_left_alone(tmp_path):
    package, sources = tmp_path / "package", tmp_path / "native"
    package.mkdir()
    assert not K.stale(str(package), str(sources))  # installed: no sources at all
    sources.mkdir()
    (sources / "tape.c").touch()
    (package / "_kernels.pyi").touch()
    assert not K.stale(str(package), str(sources))  # nothing was built
    built = package / "_kernels.cpython-311-x86_64-linux-gnu.so"
    built.touch()
    os.utime(built, (1e9, 1e9))
    assert K.stale(str(package), str(sources))
    os.utime(sources / "tape.c", (5e8, 5e8))
    assert not K.stale(str(package), str(sources))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name",
    ["remainder", "fmod", "floor_divide", "hypot", "logaddexp", "sign", "reciprocal", "exp2", "sin", "cos"])
def test_arithmetic_of_our_own(name, dtype):
    """Quotients and their rests bit for bit as NumPy's, signs of zeros too (but for ``remainder``); the others to
    rounding.
    """
    rng, ufunc = np.random.default_rng(3), getattr(np, name)
    with np.errstate(all="ignore"):
        odd = np.array(ODD_VALUES + [0.5, -0.5, 7.0, 2.5, 1e9, -1e5 - 1, 1e300, 1e-300]).astype(dtype)
        a = np.concatenate(
            [np.repeat(odd, odd.size), (rng.standard_normal(3000) * 10 ** rng.uniform(-3, 4, 3000)).astype(dtype)])
        b = np.concatenate([np.tile(odd, odd.size), rng.standard_normal(3000).astype(dtype)])
        a[-500:] = np.round(a[-500:]) * b[-500:]  # quotients that are whole, or nearly
        for x, y in ((a, b), (np.repeat(a, 2)[::2], np.repeat(b, 3)[::3]), (a[:5], b[:5])):
            args = (x, y)[: ufunc.nin]
            got = getattr(K, name)(*args)
            want = ufunc(*[v.astype(np.float32) for v in args]).astype(dtype) if dtype is np.float16 else ufunc(*args)
            if name in ("remainder", "fmod", "floor_divide"):
                np.testing.assert_array_equal(got, want)
                # a zero that remains has, in PyTorch, the sign of what was divided
                signs = x if name == "remainder" else want
                np.testing.assert_array_equal(np.signbit(got)[want == 0], np.signbit(signs)[want == 0])
            else:
                info = np.finfo(dtype)
                small = 4 * float(info.eps) if name == "logaddexp" else 2 * float(info.smallest_subnormal)
                np.testing.assert_allclose(got, want, rtol=4 * float(info.eps), atol=small)
    target = a[:64].copy()
    assert getattr(K, name)(*(target, b[:64])[: ufunc.nin], out=target) is target
    np.testing.assert_array_equal(target, getattr(K, name)(*(a[:64], b[:64])[: ufunc.nin]))


def test_has_nan():
    for has_nan in (K.has_nan, K.plain("has_nan")):
        for dtype in (np.float16, np.float32, np.float64, np.complex64, np.complex128):
            for shape in [(), (1,), (3, 4097), (2, 3, 5)]:
                x = np.full(shape, 1e30 if dtype != np.float16 else 6e4, dtype)
                assert has_nan(x) is False
                x.reshape(-1)[-1:] = np.inf
                assert has_nan(x) is False
                for at in {0, x.size // 2, x.size - 1}:
                    y = x.copy()
                    y.reshape(-1)[at] = np.nan
                    assert has_nan(y) is True
                    assert has_nan(np.asfortranarray(y)) is True
                    assert has_nan(np.stack([y, y], -1)[..., 0]) is True
            assert has_nan(np.empty((0, 3), dtype)) is False
        assert has_nan(np.arange(5)) is False
        assert has_nan(np.array([True])) is False


@pytest.mark.parametrize("native", [True, False])
def test_within(native):
    """Whether all elements lie between two limits, which belong to it; NaN does not, and nothing is outside of none."""
    within = K.within if native else K.plain("within")
    for dtype in (np.float16, np.float32, np.float64, np.int32, np.int64):
        for shape in [(1,), (), (3, 4097), (2, 3, 5)]:
            x = np.full(shape, 3, dtype)
            assert within(x, 3, 3) is True
            assert within(x, -1, 2) is within(x, 4, 9) is within(x, 5, 1) is False
            for at in {0, x.size // 2, x.size - 1}:
                for value, inside in ((-2, True), (5, True), (-3, False), (6, False)):
                    y = x.copy()
                    y.reshape(-1)[at] = value
                    for z in (y, np.asfortranarray(y), np.stack([y, y], -1)[..., 0]):
                        assert within(z, -2, 5) is inside
                for value in (np.nan, np.inf, -np.inf) if x.dtype.kind == "f" else ():
                    y = x.copy()
                    y.reshape(-1)[at] = value
                    assert within(y, -2, 5) is False
        assert within(np.empty((0, 3), dtype), 0, -1) is True
    limits = np.array([-(2**63), 2**63 - 1])
    assert within(limits, -(2**63), 2**63 - 1) is True
    assert within(limits, -(2**63) + 1, 2**63 - 1) is within(limits, -(2**63), 2**63 - 2) is False
    assert within(np.array([2.0**53 + 2]), 0, 2**53 + 1) is within(np.array([True]), 0, 0) is False
    assert within(np.zeros(3, bool), 0, 0) is True


def test_other_steps_in_the_same_memory():
    """Views with given steps are views: of the memory's owner, writable as they were, and they begin where their array
    does.
    """
    from wengert.arrays.plain.layout import restrided

    x = np.arange(12.0).reshape(3, 4)
    for a in (x, x[1:], x[:, 1:], x.T, x[1:2, :1], np.asfortranarray(x)[1:]):
        for look in (K.restrided, restrided):
            steps = tuple(s // a.itemsize for s in a.strides)
            seen = look(a, (1, *a.shape), (99, *steps))
            assert seen.strides[0] == 99 * 8 and seen.flags.writeable and np.shares_memory(seen, a)
            np.testing.assert_array_equal(seen[0], a)
            repeated = look(a, (2, a.shape[0]), (0, steps[0]))
            np.testing.assert_array_equal(repeated, np.broadcast_to(a[:, 0], (2, a.shape[0])))
    x.flags.writeable = False
    assert not any(look(x[1:], (2, 2), (4, 1)).flags.writeable for look in (K.restrided, restrided))
    with pytest.raises(ValueError):
        K.restrided(x, (1, 2), (3,))


@native
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("pairs", [[(1, 2), (0, 3)], [(0, 0), (2, 0)], [(3, 1), (1, 1)]])
def test_padding_is_numpys(dtype, pairs):
    x = np.arange(20).reshape(4, 5).astype(dtype)
    for a in (x, np.asfortranarray(x), x[::-1, ::-1]):
        for mode, name in enumerate(("constant", "reflect", "edge", "wrap")):
            wanted = np.pad(a, pairs, mode=name)
            np.testing.assert_array_equal(K.padded(a, pairs, mode, np.zeros((), dtype)), wanted)
    np.testing.assert_array_equal(K.padded(x, [(-1, 2), (1, -2)], 0, np.ones((), dtype)),
        np.pad(x[1:, :-2], [(0, 2), (1, 0)], constant_values=1))


@native
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("shape",
    [(3, 4, 1, 1), (3, 4, 1, 5), (3, 4, 5, 1), (2, 3, 4, 4), (2, 1, 40, 30), (1, 1, 1, 1)])
def test_padding_of_small_blocks_is_numpys(dtype, shape):
    """They are filled before they are written: images of one number, single lines, what is partly taken away."""
    x = (np.arange(np.prod(shape)) % 100 + 1).reshape(shape).astype(dtype)
    value = np.array(7, dtype)
    for a in (x, np.asfortranarray(x), x[::-1, ..., ::-1]):
        for pairs in ([(0, 0), (0, 0), (1, 1), (1, 2)], [(1, 0), (0, 2), (0, 1), (3, 0)],
                [(0, 0), (0, 0), (-1, 3), (0, 0)], [(2, -1), (0, 0), (1, 0), (2, -1)]):
            kept = tuple(slice(max(-b, 0), n + min(c, 0)) for (b, c), n in zip(pairs, shape, strict=True))
            wanted = np.pad(a[kept], [(max(b, 0), max(c, 0)) for b, c in pairs], constant_values=7)
            np.testing.assert_array_equal(K.padded(a, pairs, 0, value), wanted)


@native
def test_padding_that_wraps_twice_is_left_to_others():
    x = np.ones((2, 3), np.float32)
    assert K.padded(x, [(0, 0), (3, 0)], 1, None) is None
    assert K.padded(x, [(0, 0), (4, 0)], 3, None) is None
    assert K.padded(x, [(0, 0), (-1, 0)], 2, None) is None
    assert K.padded(x, [(0, 0), (1, 0)], 0, np.ones((), np.float64)) is None
    assert K.padded(x, [(0, 0), (-4, 9)], 0, 0) is None  # takes away more than there is
    for n in (2**62, 2**63 - 1, -(2**63)):  # sums of lengths would overflow
        assert K.padded(x, [(0, 0), (n, n)], 0, 0) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n, columns", [(1, 2), (5, 3), (33, 16), (70, 17), (130, 40), (200, 100), (600, 5)])
def test_substitution_with_several_columns(dtype, n, columns):
    from wengert.arrays.linalg import solve_triangular

    rng = np.random.default_rng(n)
    a = np.tril(rng.standard_normal((n, n)) / n) + np.eye(n)
    b = rng.standard_normal((n, columns))
    for lower in (a, np.asfortranarray(a)):
        for unit in (False, True):
            wanted = np.linalg.solve(np.tril(lower, -1) + np.eye(n) if unit else lower, b)
            np.testing.assert_allclose(solve_triangular(lower.astype(dtype), b.astype(dtype), unit=unit), wanted,
                rtol=0, atol=200 * np.finfo(dtype).eps)
            np.testing.assert_allclose(solve_triangular(lower.T.astype(dtype), b.astype(dtype), True, unit),
                np.linalg.solve(np.triu(lower.T, 1) + np.eye(n) if unit else lower.T, b), rtol=0,
                atol=200 * np.finfo(dtype).eps)


@pytest.mark.skipif(not K.available, reason="of the extension")
@pytest.mark.parametrize("seed", [0, 1, 5489, 2**31, 2**32 - 1])
def test_the_twister_is_numpys(seed):
    ours, theirs = K._native.twister(seed), np.random.MT19937(0)
    np.random.RandomState(theirs).seed(seed)
    np.testing.assert_array_equal(ours.random_raw(2000), theirs.random_raw(2000))
    state = theirs.state
    assert ours.state["state"]["pos"] == state["state"]["pos"]
    np.testing.assert_array_equal(ours.state["state"]["key"], state["state"]["key"])
    ours.random_raw(1234)
    ours.state = state
    one, two = np.empty(777), np.empty(777)
    K.fill_uniform(ours, one), K.fill_uniform(theirs, two)
    np.testing.assert_array_equal(one, two)
    ours.seed(seed)
    fresh = np.random.MT19937(0)
    np.random.RandomState(fresh).seed(seed)
    np.testing.assert_array_equal(ours.random_raw(3), fresh.random_raw(3))


@pytest.mark.skipif(not K.available, reason="of the extension")
@pytest.mark.parametrize("state", [{}, {"state": {}}, {"state": {"key": [1, 2], "pos": 0}},
    {"state": {"key": [0] * 624, "pos": 625}}, {"state": {"key": [0] * 624, "pos": -1}},
    {"state": {"key": ["a"] * 624, "pos": 1}}, None])
def test_the_twister_refuses_what_is_no_state(state):
    twister = K._native.twister(3)
    before = twister.state["state"]["key"]
    with pytest.raises((KeyError, ValueError, TypeError, AttributeError)):
        twister.state = state
    with pytest.raises((AttributeError, TypeError)):
        del twister.state
    with pytest.raises(ValueError, match="negative"):
        twister.random_raw(-1)
    np.testing.assert_array_equal(twister.state["state"]["key"], before)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 65535, 65537, 10**6 + 3, 2**28 - 1, 2**31, 2**32 - 1])
def test_remainders_of_words(size):
    bits, other = np.random.MT19937(5), np.random.MT19937(5)
    out = K.fill_integers(bits, np.empty(3000, np.int64), size, 7, False)
    np.testing.assert_array_equal(out, 7 + (other.random_raw(3000) % np.uint64(size)).astype(np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "classes", "most"), [(1, 1, 1), (3, 4, 1), (5, 17, 3), (4, 40, 40), (0, 3, 2)])
def test_margins_of_classes_and_their_gradients(rows, classes, most, dtype):
    rng = np.random.default_rng(classes)
    labels = rng.integers(-1, classes, (rows, most))
    plain = [rng.standard_normal((rows, classes)).astype(dtype), few_values(rng, (rows, classes), dtype)]
    g, weight = rng.standard_normal(rows).astype(dtype), rng.random(classes).astype(dtype)
    tolerance = dict(rtol=1e-5, atol=1e-5) if dtype == np.float32 else dict(rtol=1e-12, atol=1e-12)
    with np.errstate(all="ignore"):
        for x, p, w in itertools.product(plain, (1, 2), (None, weight)):
            got, want = (f(x, labels, p, 0.7, w) for f in (K.margins, K.plain("margins")))
            assert got.dtype == want.dtype == dtype
            np.testing.assert_allclose(got, want, **tolerance)
            got, want = (f(g, x, labels, p, 0.7, w) for f in (K.margins_grad, K.plain("margins_grad")))
            assert got.dtype == want.dtype == dtype
            np.testing.assert_allclose(got, want, **tolerance)
