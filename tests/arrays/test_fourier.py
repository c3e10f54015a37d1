"""Fourier transforms, natively, beside NumPy's in more digits."""

import numpy as np
import pytest

from wengert.arrays import kernels as K

LENGTHS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 25, 30, 32, 48, 60, 64, 100, 125, 128, 7, 11, 33)
FORWARDS, INVERSE, OF_REAL, TO_REAL, OF_REAL_WHOLE = range(5)
REALS = (OF_REAL, OF_REAL_WHOLE)

pytestmark = pytest.mark.skipif(not K.available, reason="needs the native extension")


def random(rng, shape, kind, single):
    x = rng.standard_normal(shape)
    x = x if kind in REALS else x + 1j * rng.standard_normal(shape)
    return x.astype(np.float32 if kind in REALS else np.complex64) if single else x


def exact(x, axes, kind, size, scale):
    """In more digits, where NumPy and the machine have them."""
    return K.plain("fourier")(x.astype(np.longdouble if kind in REALS else np.clongdouble), axes, kind, size, scale)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("kind", range(5))
def test_transforms_are_as_exact_as_those_of_numpy(kind, single):
    rng = np.random.default_rng(kind)
    for _ in range(150):
        ndim = int(rng.integers(1, 4))
        shape = [int(rng.choice(LENGTHS[:12] if ndim == 3 else LENGTHS)) for _ in range(ndim)]
        axes = tuple(int(a) for a in rng.permutation(ndim)[: rng.integers(1, ndim + 1)])
        axes = axes[:1] if kind == OF_REAL_WHOLE else axes
        size = 2 * shape[axes[-1]] - int(rng.integers(1, 5)) if kind == TO_REAL else 0
        scale = int(rng.integers(3))
        if kind == TO_REAL and size < 1:
            continue
        x = random(rng, shape, kind, single)
        before = x.copy()
        found, wanted = K.fourier(x, axes, kind, size, scale), exact(x, axes, kind, size, scale)
        by_numpy = K.plain("fourier")(x, axes, kind, size, scale)
        assert (found.shape, found.dtype) == (by_numpy.shape, by_numpy.dtype) and np.array_equal(x, before)
        bound = 3 * max(np.abs(by_numpy - wanted).max(), np.finfo(x.dtype).eps * np.abs(wanted).max())
        assert np.abs(found - wanted).max() <= bound, (shape, axes, size)


@pytest.mark.parametrize(
    ("kind", "size"), [(FORWARDS, 0), (INVERSE, 0), (OF_REAL, 0), (TO_REAL, 32), (OF_REAL_WHOLE, 0)])
def test_lines_do_not_touch_each_other(kind, size):
    x = random(np.random.default_rng(9), (21, 17 if kind == TO_REAL else 32), kind, True)
    wanted = K.fourier(x, (1,), kind, size, 0)
    x[3, 2], x[7, 1], x[8] = np.nan, np.inf, 1e30
    found = K.fourier(x, (1,), kind, size, 0)
    rest = [i for i in range(21) if i not in (3, 7, 8)]
    assert np.array_equal(found[rest], wanted[rest])
    assert np.isnan(found[3]).all() and not np.isfinite(found[7]).any()


def test_an_infinity_alone():
    x = np.zeros((16, 4), np.complex128)
    x[:, 0] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.array_equal(K.fourier(x, (1,), FORWARDS, 0, 0).real, np.full((16, 4), np.inf))


def test_neither_order_nor_emptiness_matter():
    rng = np.random.default_rng(3)
    x = random(rng, (8, 6, 10), FORWARDS, False)
    turned = x.transpose(2, 0, 1)
    np.testing.assert_allclose(K.fourier(turned, (0, 2), INVERSE, 0, 2), np.fft.ifftn(turned, axes=(0, 2)), atol=1e-15)
    assert K.fourier(np.zeros((0, 8), np.complex64), (1,), FORWARDS, 0, 0).shape == (0, 8)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n", [3, 7, 9, 11, 13, 14, 15, 17, 19, 22, 23, 29, 31, 45, 49, 62, 77, 91, 105, 143, 1001])
def test_larger_primes_and_odd_real_lines(n, single):
    rng = np.random.default_rng(n)
    for kind in range(4):
        for shape, axes in (((40, n), (1,)), ((n, 5, 4), (0,)), ((3, n, 2), (1,)), ((3, n, 24), (1,)), ((6, n), (0, 1)),
                            ((n, 6), (1, 0))):
            real = list(shape)
            if kind == TO_REAL:
                real[axes[-1]] = shape[axes[-1]] // 2 + 1
            size = shape[axes[-1]] if kind == TO_REAL else 0
            x = random(rng, real, kind, single)
            found, wanted = K.fourier(x, axes, kind, size, 1), exact(x, axes, kind, size, 1)
            by_numpy = K.plain("fourier")(x, axes, kind, size, 1)
            assert (found.shape, found.dtype) == (by_numpy.shape, by_numpy.dtype)
            bound = 3 * max(np.abs(by_numpy - wanted).max(), np.finfo(x.dtype).eps * np.abs(wanted).max())
            assert np.abs(found - wanted).max() <= bound, (kind, shape, axes)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n", [16, 17, 36, 100, 256, 1000, 4096, 6561, 37, 97, 127, 131, 194, 257, 2 * 257, 1009, 4099])
def test_few_lines_and_lengths_of_every_kind(n, single):
    rng = np.random.default_rng(n)
    for kind in range(4):
        for shape, axis in (((n,), 0), ((3, n), 1), ((2, n, 2), 1)) if n < 2000 else (((n,), 0), ((n, 2), 0)):
            real = list(shape)
            if kind == TO_REAL:
                real[axis] = n // 2 + 1
            x = random(rng, real, kind, single)
            before = x.copy()
            found, wanted = K.fourier(x, (axis,), kind, n if kind == TO_REAL else 0, 2), exact(x, (axis,), kind, n, 2)
            assert found.shape == wanted.shape and np.array_equal(x, before)
            error = np.abs(found - wanted).max() / np.abs(wanted).max()
            assert error <= 5 * np.finfo(x.dtype).eps, (kind, shape)


@pytest.mark.parametrize("n", [64, 1000])
def test_an_infinity_that_comes_first_in_a_single_line(n):
    x = np.zeros(n, np.complex64)
    x[0] = np.inf
    assert np.array_equal(K.fourier(x, (0,), FORWARDS, 0, 0), np.full(n, np.inf, np.complex64))
