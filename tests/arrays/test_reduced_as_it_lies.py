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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(6, 5, 4), (24, 9, 16), (2, 700, 3)])
def test_products_and_sums_of_numbers(size, dtype):
    """In any order, over axes side by side or not, with NaN and zeros among the numbers."""
    import wengert as torch

    plain = np.random.default_rng(1).uniform(0.9, 1.1, size)
    holes = plain.copy()
    holes[1, 2, 2], holes[0, 1], holes[1, 0, 1] = np.nan, np.nan, np.inf
    for order in permutations(range(3)):
        for x in (plain, holes):
            a = x.astype(dtype).transpose(order)
            for part in (a, a[:, ::2], a[::-1]):
                t = torch.from_numpy(part.copy(order="K"))
                wide = part.astype("f8")
                for axis in AXES:
                    if axis is not None and max(axis) > 2:
                        continue
                    for keep in (False, True):
                        found = torch.nansum(t, axis, keep)
                        np.testing.assert_allclose(found.numpy(), np.nansum(wide, axis, keepdims=keep), rtol=1e-5)
                        assert found.is_contiguous() and found.dtype == t.dtype
                for axis in (0, 1, 2, -1):
                    for keep in (False, True):
                        found, want = torch.prod(t, axis, keep), wide.prod(axis, keepdims=keep)
                        np.testing.assert_allclose(found.numpy(), want, rtol=1e-5)
                np.testing.assert_allclose(t.prod().numpy(), wide.prod(), rtol=1e-4)


@pytest.mark.parametrize("size", [(3, 5, 4), (8, 17, 2), (20, 40, 30), (1, 3, 1)])
def test_truths_and_counts(size):
    import wengert as torch

    rng = np.random.default_rng(2)
    for share in (0.0, 0.03, 0.5, 0.97, 1.0):
        x = rng.random(size) < share
        for order in permutations(range(3)):
            a = x.transpose(order)
            for part in (a, a[:, ::2]):
                whole = torch.from_numpy(x.copy()).permute(order)
                t = whole if part is a else whole[:, ::2]
                assert torch.count_nonzero(t).item() == np.count_nonzero(part)
                assert torch.count_nonzero(t.double()).item() == np.count_nonzero(part)
                for axis in AXES:
                    if axis is not None and max(axis) > 2:
                        continue
                    for keep in (False, True):
                        given = () if axis is None else (axis, keep)
                        for name, ufunc in (("all", np.logical_and), ("any", np.logical_or)):
                            found = getattr(t, name)(*given)
                            want = ufunc.reduce(part, axis, keepdims=keep and axis is not None)
                            assert found.dtype == torch.bool and found.is_contiguous()
                            np.testing.assert_array_equal(found.numpy(), want)


def test_truths_over_no_dimensions_stay():
    import wengert as torch

    x = torch.tensor([[True, False], [False, False]])
    assert torch.any(x, ()).tolist() == x.tolist() and torch.all(x, ()).tolist() == x.tolist()
    assert torch.zeros(0, 3, dtype=torch.bool).all(0).tolist() == [True] * 3
    assert not torch.zeros(0, 3, dtype=torch.bool).any()


@pytest.mark.parametrize("least", [False, True])
def test_extremes_of_short_rows(least):
    for n in range(1, 9):
        x = np.random.default_rng(n).standard_normal((600, n)).astype(np.float32)
        x[5, 0], x[6, n - 1], x[7, n // 2], x[8] = np.nan, np.nan, np.inf, -np.inf
        want = (np.min if least else np.max)(x, 1)
        np.testing.assert_array_equal(K.fold_rows(x, 600, int(least), 1), want)
