"""Numbers of 16 bits, every one of them: arithmetic is that of float32 rounded once, whatever the vectors hold."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from wengert.arrays import kernels as K

HALVES = [np.float16, ml_dtypes.bfloat16]
BITS = np.arange(1 << 16, dtype=np.uint16)
LENGTHS = [0, 1, 7, 15, 16, 17, 31, 33, 511, 513, 2047, 2049, 5000]


def same(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Equal bit for bit, but for which NaN it is."""
    assert ours.dtype == theirs.dtype
    odd = np.isnan(theirs.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(ours.astype(np.float32)), odd)
    np.testing.assert_array_equal(ours.view(np.uint16)[~odd], theirs.view(np.uint16)[~odd])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_of_every_number(half, name):
    rng = np.random.default_rng(1)
    kernel, numpys = getattr(K, name), getattr(np, name)
    x = BITS.view(half)
    with np.errstate(all="ignore"):
        for _ in range(4):
            y = rng.permutation(BITS).view(half)
            same(kernel(x, y), numpys(x.astype(np.float32), y.astype(np.float32)).astype(half))
        for n in LENGTHS:
            a, b = x[20000 : 20000 + n], x[3 : 3 + n]
            want = numpys(a.astype(np.float32), b.astype(np.float32)).astype(half)
            same(kernel(a, b), want)
            own = a.copy()
            assert kernel(own, b, out=own) is own
            same(own, want)


@pytest.mark.parametrize("half", HALVES)
def test_relu_of_every_number(half):
    wide = BITS.view(half).astype(np.float32)
    with np.errstate(invalid="ignore"):
        want = np.where(wide <= 0, np.float32(0), wide).astype(half)
    same(K.relu(BITS.view(half)), want)
    same(K.relu(BITS.view(half)[1::2]), want[1::2])
    g = np.random.default_rng(3).permutation(BITS).view(half)
    want = np.where(wide <= 0, half(0), g)
    same(K.relu_grad(g, BITS.view(half)), want)
    same(K.relu_grad(g[1::3], BITS.view(half)[1::3]), want[1::3])


@pytest.mark.parametrize("half", HALVES)
def test_extremes_of_rows(half):
    rng = np.random.default_rng(2)
    finite = BITS.view(half)[np.isfinite(BITS.view(half).astype(np.float32))]
    for n in [1, 2, 15, 16, 17, 100, 1025]:
        x = rng.choice(finite, (60, n))
        x[1], x[2], x[3], x[4] = -np.inf, np.inf, finite.min(), finite.max()
        x[5, n // 2], x[6, 0], x[7, -1] = np.nan, -np.inf, np.inf
        x[8, n // 2] = BITS.view(half)[0xffff]  # NaN with a sign
        for kind, ufunc in ((0, np.maximum), (1, np.minimum)):
            want = ufunc.reduce(x.astype(np.float32), 1).astype(half) + half(0)
            same(K.fold_rows(x, 60, kind, 1) + half(0), want)
            same(K.fold_rows(np.ascontiguousarray(x.T), 1, kind, 60) + half(0), want)
            columns = K.fold_rows(np.tile(np.ascontiguousarray(x.T), (1, 20)), 1, kind, 1200)
            same(columns + half(0), np.tile(want, 20))


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("n", LENGTHS[1:] + [70_000])
def test_sums_of_rows(half, n):
    rng = np.random.default_rng(n)
    x = (rng.standard_normal((3, n)) / 4 + 0.05).astype(half)
    exact = x.astype(np.float64).sum(1)
    bound = np.finfo(np.float32).eps * 16 * np.abs(x.astype(np.float64)).sum(1)
    step = float(ml_dtypes.finfo(half).eps)
    for axes in (1, (0, 1)):
        got, want = K.sum(x, axes, False).astype(np.float64), exact if axes == 1 else exact.sum()
        assert (np.abs(got - want) <= bound.sum() + np.abs(want) * step / 2 * 1.001 + 1e-7).all()
    x[1, n // 2] = np.inf
    assert np.isinf(K.sum(x, 1, False).astype(np.float32)[1])
    x[1, 0] = np.nan
    assert np.isnan(K.sum(x, 1, False).astype(np.float32)[1])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("other", [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float64, *HALVES])
def test_casts_go_by_way_of_float32(half, other):
    """Also of what lies apart; numbers beyond a type's range are left out."""
    rng = np.random.default_rng(4)
    x = BITS.view(half)
    numbers = x[np.abs(x.astype(np.float32)) < 100] if np.dtype(other).kind in "iu" else x
    numbers = numbers[numbers.astype(np.float32) >= 0] if other is np.uint8 else numbers
    with np.errstate(over="ignore"):
        back = (rng.standard_normal(5000) * 70000).astype(other)
    if other is np.float64:
        back[:4] = 1 + 2**-11 + 2**-40, 65519.999999, 1 + 2**-9 + 2**-40, -1e300
    single = np.dtype(np.float32)
    with np.errstate(all="ignore"):
        for source, target in ((numbers, other), (back, half)):
            source = source[: len(source) // 60 * 60]
            for v in (source, source[::2], source[:60].reshape(3, 4, 5).transpose(1, 0, 2), source[:0]):
                got, want = K.cast(v, np.dtype(target)), v.astype(single).astype(target)
                assert got.dtype == target and got.shape == v.shape
                view = np.dtype(target).itemsize == 2 and np.dtype(target).kind in "fV"
                same(got, want) if view else np.testing.assert_array_equal(got, want)


def test_float64_to_float16_rounds_twice(torch):
    x = torch.full((3, 5), 1 + 2**-11 + 2**-40, dtype=torch.float64)
    y = torch.zeros(3, 5, dtype=torch.float16)
    assert (x.half() == 1).all() and (y.copy_(x) == 1).all()
    y.zero_()[:2] = x[:2]
    assert (y[:2] == 1).all()
