"""Sums, means and extremes of arrays whose axes lie in another order in memory."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from wengert.arrays import kernels as K
from wengert.arrays.reduce import add_up, in_memory_order

SHAPES = [(5, 7), (3, 4, 5), (2, 1, 6, 3), (40, 30), (1, 1), (4, 1, 3)]
AXES = [None, *(c for n in (1, 2, 3) for c in combinations(range(4), n))]


def arrays(dtype):
    for shape in SHAPES:
        numbers = np.random.default_rng(0).standard_normal(shape).astype(dtype)
        for order in permutations(range(len(shape))):
            yield numbers.transpose(order)
        yield numbers[..., ::2]
        yield numbers[::-1]
        yield np.broadcast_to(numbers[:1], shape)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_sums_and_means(dtype, keepdims):
    for x in arrays(dtype):
        for axis in AXES:
            if axis is not None and max(axis) >= x.ndim:
                continue
            wanted = x.astype("c16" if dtype[0] == "c" else "f8").sum(axis=axis, keepdims=keepdims)
            found = add_up(x, axis, keepdims)
            assert found.shape == wanted.shape and found.dtype == x.dtype
            np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=3e-6)
            mean = in_memory_order(K.mean, x, axis, keepdims)
            if mean is not None:
                np.testing.assert_allclose(mean, wanted / (x.size / max(wanted.size, 1)), rtol=2e-6, atol=3e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(6, 5, 4), (24, 9, 16)])
def test_extremes(size, dtype):
    """Few and many numbers, in any order, NaN before all, over axes side by side or not."""
    import wengert as torch

    x = np.random.default_rng(1).standard_normal(size).astype(dtype)
    x[1, 2, 3] = np.nan
    for order in permutations(range(3)):
        t = torch.from_numpy(x).permute(order)
        for axis in AXES:
            if axis is not None and max(axis) > 2:
                continue
            for name, ufunc in (("amax", np.maximum), ("amin", np.minimum)):
                for keep in (False, True):
                    found = getattr(t, name)(axis or (), keep).numpy()
                    np.testing.assert_array_equal(found, ufunc.reduce(t.numpy(), axis, keepdims=keep))
                if axis is None:
                    assert np.isnan(getattr(t, name[1:])().item())
                    assert getattr(t[:1], name[1:])().item() == ufunc.reduce(t[:1].numpy(), None) or np.isnan(
                        t[:1].numpy()).any()


@pytest.mark.skipif(not K.available, reason="needs the extension")
def test_they_are_taken_as_they_lie():
    x, native = np.ones((3, 4, 5), np.float32), K._native._kernels
    for axis in (1, 2, (0, 1), (0, 2), None):
        assert native.sum(x.transpose(0, 2, 1), axis, False) is not NotImplemented
    assert native.sum(x.transpose(0, 2, 1), 0, False) is NotImplemented  # what is left lies in another order
    assert native.sum(x.transpose(0, 2, 1)[:, ::2], 1, False) is NotImplemented  # there are gaps
    assert native.mean(x.T, (0, 1), True).shape == (1, 1, 3)
