"""Kernels of windows with an extent of their own, of sums without NaN, triangles, and groups of inner channels."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.arrays import kernels as K

INF, NAN = np.inf, np.nan


def edges(space, counts):
    """Adaptive windows."""
    i = [np.arange(o) for o in counts]
    pairs = [(at * s // o, -((-(at + 1) * s) // o)) for at, s, o in zip(i, space, counts, strict=True)]
    return tuple(np.stack(pair)[None] for pair in pairs)


def layouts(x):
    """In rows; with the channels innermost; a view with gaps."""
    inside = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    gaps = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    gaps[..., ::2] = x
    return x, np.moveaxis(inside, -1, 1), gaps[..., ::2]


SHAPES = [((2, 3, 17), (5,)), ((2, 3, 100), (2,)), ((1, 3, 4), (9,)), ((2, 3, 7, 9), (3, 4)), ((2, 5, 32, 33), (7, 7)),
    ((2, 19, 4, 3), (7, 1)), ((2, 3, 5, 6, 7), (2, 4, 3))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(("shape", "counts"), SHAPES)
def test_windows_between_edges(shape, counts, dtype):
    rng, at = np.random.default_rng(1), edges(shape[2:], counts)
    x, g = (rng.standard_normal(size).astype(dtype) for size in (shape, (*shape[:2], *counts)))
    error = {np.float32: 1e-5, np.float64: 1e-12, np.float16: 2e-3}[dtype]
    tolerance = {"rtol": error, "atol": error}
    mean, spread = K.plain("mean_between")(x, at), K.plain("spread_between")(g, at, shape[2:])
    for y in layouts(x):
        for got, want in zip(K.largest_between(y, at), K.plain("largest_between")(x, at), strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype
        np.testing.assert_allclose(K.mean_between(y, at), mean, **tolerance)
    for h in layouts(g):
        np.testing.assert_allclose(K.spread_between(h, at, shape[2:]), spread, **tolerance)


@pytest.mark.parametrize("odd", [(NAN,), (INF, NAN), (-INF,), (0.0, -0.0), (1.0,), (INF, -INF)])
def test_windows_of_odd_values(odd):
    """Of equal numbers the first is the largest, of NaN the last; infinities stay in their windows."""
    rng, at = np.random.default_rng(2), edges((9, 10), (4, 3))
    x = rng.standard_normal((2, 5, 9, 10)).astype(np.float32)
    x.reshape(-1)[rng.permutation(x.size)[: x.size // 3]] = np.resize(odd, x.size // 3)
    whole = np.full_like(x, odd[0])
    for y in (*layouts(x), *layouts(whole)):
        for got, want in zip(K.largest_between(y, at), K.plain("largest_between")(y, at), strict=True):
            np.testing.assert_array_equal(got, want)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(K.mean_between(y, at), K.plain("mean_between")(y, at), rtol=1e-5, atol=1e-6)


def test_each_image_has_its_own_windows():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 3, 9, 8)).astype(np.float32)
    starts = [rng.integers(0, s - 2, (6, o)) for s, o in zip((9, 8), (4, 5), strict=True)]
    at = tuple(np.stack((row, row + 2), 1) for row in starts)
    for y in layouts(x):
        for got, want in zip(K.largest_between(y, at), K.plain("largest_between")(x, at), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.skipif(not K.available, reason="no native kernels")
@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 5), (2, 2)])
def test_edges_outside_are_not_read(start, stop):
    from wengert.arrays import _kernels

    x, bad = np.ones((1, 1, 4), np.float32), (np.array([[[start], [stop]]]),)
    assert _kernels.largest_between(x, bad) is NotImplemented
    assert _kernels.mean_between(x, bad) is NotImplemented
    assert _kernels.spread_between(x[..., :1], bad, (4,)) is NotImplemented


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1, 2)])
def test_sum_of_numbers(axis, dtype):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((3, 70, 60)).astype(dtype)
    x[rng.random(x.shape) < 0.1] = NAN
    x[0, 1, 2], x[2, 3, 4] = INF, -INF
    for y in (x, x[1:2], np.full((2, 3, 4), NAN, dtype), x[..., ::2], np.ones((0, 2, 3), dtype)):
        with np.errstate(invalid="ignore"):
            want = np.nansum(y.astype(np.float64), axis).astype(dtype)
        for function in (K.sum_of_numbers, K.plain("sum_of_numbers")):
            with np.errstate(invalid="ignore"):
                got = function(y, axis, False)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


def test_triangle_places():
    for rows, columns in ((0, 3), (3, 0), (4, 4), (5, 3), (3, 7), (60, 61)):
        for offset in (-70, -9, -2, 0, 1, 3, 20, 70):
            for lower, find in ((True, np.tril_indices), (False, np.triu_indices)):
                for function in (K.triangle_places, K.plain("triangle_places")):
                    got = function(rows, offset, columns, lower)
                    np.testing.assert_array_equal(got, np.stack(find(rows, offset, columns)))
                    assert got.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "groups"),
    [((2, 8, 5, 7), 4), ((3, 1024, 3, 2), 16), ((2, 6, 2, 3, 2), 1), ((1, 2000, 2, 2), 2)])
def test_group_norm_of_inner_channels(shape, groups, dtype):
    """As of images in rows, and laid out as the input is."""
    rng = np.random.default_rng(5)
    x, g = (rng.standard_normal(shape).astype(dtype) + 1 for _ in range(2))
    weight, bias = (rng.standard_normal(shape[1]).astype(dtype) for _ in range(2))
    inside = layouts(x)[1]
    want, got = K.group_norm(x, groups, weight, bias, 1e-5), K.group_norm(inside, groups, weight, bias, 1e-5)
    assert got[0].strides == inside.strides
    of_rows, *others = (K.group_norm_grad(h, y, want[1], want[2], weight, groups)
        for y, h in ((x, g), (inside, g), (inside, layouts(g)[1])))
    pairs = [pair for grads in others for pair in zip(grads, of_rows, strict=True)]
    for a, b in [*zip(got, want, strict=True), *pairs]:
        np.testing.assert_allclose(a, b, rtol=0, atol=np.abs(b).max() * (1e-5 if dtype == np.float32 else 1e-12))
