"""Results that go past the caches: the same numbers, wherever they begin and however many there are."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest

import wengert as torch
from wengert.arrays import kernels as K

pytestmark = pytest.mark.skipif(not K.available, reason="there are no native kernels")


def _cache() -> int:
    try:
        return min(max(os.sysconf("SC_LEVEL3_CACHE_SIZE"), 1 << 25), 1 << 26)
    except (AttributeError, ValueError):
        return 1 << 25


LARGE = _cache() // 8 + 5  # of 4 bytes, one read and one written
RNG = np.random.default_rng(3)
X, Y = (RNG.standard_normal(LARGE + 40, dtype=np.float32) for _ in range(2))


@pytest.mark.parametrize("start", [0, 1, 3, 16])
@pytest.mark.parametrize("n", [LARGE, LARGE + 7])
def test_any_place_of_operands_and_result(n, start):
    x, y = X[start : start + n], Y[2 : 2 + n]
    np.testing.assert_array_equal(K.add(x, y), x + y)
    out = np.empty(n + 40, np.float32)
    K.multiply(x, y, out=out[start : start + n])
    np.testing.assert_array_equal(out[start : start + n], x * y)
    np.testing.assert_array_equal(K.hardtanh(x, -1.0, 1.0), np.clip(x, -1, 1))


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int8, np.complex64, np.bool_])
def test_other_types(dtype):
    n = LARGE * 8 // np.dtype(dtype).itemsize
    x = np.resize(np.arange(113), n).astype(dtype)
    y = x[::-1].copy()
    np.testing.assert_array_equal(K.add(x, y), x + y)
    if dtype != np.complex64:
        np.testing.assert_array_equal(K.less(x, y), x < y)
    np.testing.assert_array_equal(torch.tensor(x).clone().numpy(), x)


def test_numbers_and_rows_beside_an_array():
    rows = X[: LARGE // 1001 * 1001].reshape(-1, 1001)
    for other in (np.float32(2.5), Y[:1001], rows[:, :1].copy()):
        np.testing.assert_array_equal(K.subtract(rows, other), rows - other)
        np.testing.assert_array_equal(K.subtract(other, rows) if isinstance(other, np.ndarray) else -rows, other - rows
            if isinstance(other, np.ndarray) else -rows)
    np.testing.assert_array_equal(K.add(rows, 2.5), rows + np.float32(2.5))


def test_written_where_it_is_read():
    x = X.copy()
    K.add(x, Y, out=x)
    np.testing.assert_array_equal(x, X + Y)
    w = torch.tensor(X)
    w.mul_(torch.tensor(Y))
    np.testing.assert_array_equal(w.numpy(), X * Y)


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_halves(half):
    x = np.concatenate([X, Y]).astype(half)
    wide = x.astype(np.float32)
    np.testing.assert_array_equal(K.cast(x, np.dtype(np.float32)), wide)
    np.testing.assert_array_equal(K.cast(wide[1:], np.dtype(half)).view(np.uint16), x[1:].view(np.uint16))
    np.testing.assert_array_equal(K.add(x, x).view(np.uint16), (wide + wide).astype(half).view(np.uint16))


def test_threads(monkeypatch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        np.testing.assert_array_equal(torch.add(torch.tensor(X), torch.tensor(Y)).numpy(), X + Y)
        np.testing.assert_array_equal(torch.cat([torch.tensor(X), torch.tensor(Y)]).numpy(), np.concatenate([X, Y]))
    finally:
        torch.set_num_threads(before)


def test_rows_copied_to_any_place():
    x = X[: LARGE // 3001 * 3001].reshape(-1, 3001)
    t = torch.tensor(x)
    for shift, dim in ((1, 1), (-700, 1), (5, 0)):
        np.testing.assert_array_equal(t.roll(shift, dim).numpy(), np.roll(x, shift, dim))
    np.testing.assert_array_equal(torch.cat((t, t[:, 1:]), 1).numpy(), np.concatenate((x, x[:, 1:]), 1))
    np.testing.assert_array_equal(t[1:, 3:].clone().numpy(), x[1:, 3:])
    np.testing.assert_array_equal(t[0].expand(*x.shape).clone().numpy(), np.broadcast_to(x[0], x.shape))
    w = torch.zeros(*x.shape)
    w[1:, 2:].copy_(t[1:, :-2])
    np.testing.assert_array_equal(w.numpy()[1:, 2:], x[1:, :-2])
    assert not w.numpy()[0].any() and not w.numpy()[:, :2].any()
