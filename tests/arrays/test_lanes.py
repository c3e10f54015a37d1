"""Loops in the place of NumPy's: logical functions, roots, extremes of integers, choices by broadcast conditions."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.arrays import kernels as K

ODD = [0.0, -0.0, 1.0, -2.5, np.nan, np.inf, -np.inf, 1e-45]


def layouts(x, y):
    """The same numbers in a row, apart, backwards, across, beside a number, and none."""
    yield x, y
    yield x[::2], y[::2]
    yield x[::-1], y[::-1]
    yield x.reshape(-1, 4).T, y.reshape(-1, 4).T
    yield x.reshape(-1, 4), y[:4]
    yield x.reshape(-1, 4), y.reshape(-1, 4)[:, :1]
    yield x, y[1].reshape(())
    yield x[:0], y[:0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_functions_of_two(name, dtype):
    x, y = (np.array(v, dtype).repeat(9) for v in (np.repeat(ODD, 8), np.tile(ODD, 8)))
    for a, b in layouts(x, y):
        found, expected = getattr(K, name)(a, b), getattr(np, name)(a, b)
        assert found.dtype == expected.dtype == bool
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_logical_not(dtype):
    x = np.array(ODD * 9, dtype)
    for a, _ in layouts(x, x):
        assert np.array_equal(K.logical_not(a), np.logical_not(a))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_roots_are_rounded_once(dtype):
    x = np.concatenate([np.array(ODD, dtype), np.random.default_rng(0).random(1000).astype(dtype)])
    for a, _ in layouts(x, x):
        with np.errstate(invalid="ignore"):
            expected = np.sqrt(a.astype(np.float64)).astype(dtype)
        found = K.sqrt(a)
        assert found.dtype == dtype
        assert np.array_equal(found, expected, equal_nan=True)
        assert np.array_equal(np.signbit(found[a == 0]), np.signbit(a[a == 0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", ["absolute", "floor", "ceil", "rint", "trunc"])
def test_amounts_and_whole_parts(name, dtype):
    numbers = np.random.default_rng(0).standard_normal(1000) * 5
    x = np.concatenate([np.array(ODD, dtype), np.arange(-8, 8).astype(dtype) / 2, numbers.astype(dtype)])
    for a, _ in layouts(x, x):
        found, expected = getattr(K, name)(a), getattr(np, name)(a)
        assert found.dtype == dtype
        assert np.array_equal(found, expected, equal_nan=True)
        assert np.array_equal(np.signbit(found[a == a]), np.signbit(expected[a == a]))
    out = x.copy()
    assert getattr(K, name)(out, out) is out
    assert np.array_equal(out, getattr(np, name)(x), equal_nan=True)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_of_integers(name):
    ends = np.iinfo(np.int64)
    x = np.array([0, 1, -1, ends.min, ends.max, 1 << 32, -(1 << 32), 7] * 9)
    for a, b in layouts(x, np.roll(x, 3)):
        assert np.array_equal(getattr(K, name)(a, b), getattr(np, name)(a, b))
    out = x.copy()
    assert getattr(K, name)(out, np.array(5), out=out) is out
    assert np.array_equal(out, getattr(np, name)(x, 5))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.int64])
def test_choices_by_a_condition_for_each_row(dtype):
    x, y = (np.arange(k, k + 60).astype(dtype).reshape(3, 5, 4) for k in (0, 60))
    rows = np.arange(15).reshape(3, 5, 1) % 2 == 0
    for condition in (rows, rows[:, :1], rows[:1, :1], np.array(True), np.array(False)):
        across = x.transpose(2, 1, 0).copy().transpose(2, 1, 0)
        for a, b in ((x, y), (x, y[:1, :1, :1]), (x[..., ::-1], y), (across, y)):
            assert np.array_equal(K.where(condition, a, b), np.where(condition, a, b))
    assert np.array_equal(K.where(rows, x[..., :0], y[..., :0]), x[..., :0])


@pytest.mark.parametrize("size", [(1,), (130,), (9, 70), (16, 64), (3, 5, 4), (2, 70, 2), (0, 3), (4, 600, 3)])
def test_running_sums_and_extremes_of_whole_numbers(size):
    """Sums and products wrap; of equal extremes the last counts."""
    x = np.random.default_rng(0).integers(-9, 9, size)
    large = x << 60
    for axis in range(-1, x.ndim):
        for back in (False, True):
            for a in (x, large):
                np.testing.assert_array_equal(K.running_sum(a, axis, back), K.plain("running_sum")(a, axis, back))
            for least in (False, True):
                for got, want in zip(K.running_extreme(x, axis, least), K.plain("running_extreme")(x, axis, least)):
                    np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(K.running_product(x, axis), K.plain("running_product")(x, axis))
