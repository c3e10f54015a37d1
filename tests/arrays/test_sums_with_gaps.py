"""Sums, means, norms and products of arrays whose rows lie apart in memory."""

from __future__ import annotations

import random

import numpy as np
import pytest

from wengert.arrays import kernels

native = getattr(getattr(kernels, "_native", None), "_kernels", None)
pytestmark = pytest.mark.skipif(not hasattr(native, "sum"), reason="the extension was not built")

WANTED = {"sum": np.sum, "mean": np.mean, "product": np.prod, "sum_of_numbers": np.nansum,
    "norm": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))}


@pytest.mark.parametrize("name", WANTED)
@pytest.mark.parametrize("type_", [np.float32, np.float64])
def test_parts_of_arrays_are_summed_where_they_lie(name, type_):
    draw, numbers = random.Random(0), np.random.default_rng(0)
    for _ in range(200):
        n = draw.randint(2, 4)
        whole = numbers.standard_normal([draw.randint(3, 40 if d == n - 1 else 6) for d in range(n)]).astype(type_)
        part = whole[tuple(slice(draw.randint(0, 1), None) for _ in range(n))]
        axes = tuple(sorted(draw.sample(range(n), draw.randint(1, n))))
        keep = draw.random() < 0.5
        found = getattr(native, name)(part, axes, keep)
        assert found is not NotImplemented
        want = WANTED[name](part.astype(np.float64), axis=axes, keepdims=keep)
        assert found.shape == want.shape and found.dtype == type_
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_axes_whose_order_is_another_and_steps_of_two_are_left_to_others():
    x = np.ones((4, 6, 5), np.float32)
    assert native.sum(x[:, 1:, ::2], 1, False) is NotImplemented
    turned = x.transpose(1, 0, 2)[1:, :3]
    assert native.sum(turned, 2, False) is NotImplemented
    np.testing.assert_array_equal(native.sum(turned, (0, 2), False), [25, 25, 25])


def test_columns_of_parts_wider_than_a_tile_and_pairs():
    x = np.arange(3 * 7 * 600, dtype=np.float32).reshape(3, 7, 600)
    for part in (x[:, 1:, :599], x[:, 1:, 1:3], x[1:, :, :2]):
        for axes in ((1,), (0, 1), (0,), (2,), (0, 2)):
            found = native.sum(part, axes, False)
            np.testing.assert_allclose(found, part.sum(axes, dtype=np.float64), rtol=1e-6)
