"""The native convolutions of images whose channels lie innermost in memory, against their plain definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.arrays import kernels as K

pytestmark = pytest.mark.skipif(not K.available, reason="there are no native kernels")


def innermost(a: np.ndarray) -> np.ndarray:
    """The same numbers, channels innermost."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def check(x_shape: Any, w_shape: Any, how: Any, dtype: Any, bias: bool, kept: bool = False) -> None:
    rng = np.random.default_rng(len(x_shape))
    x, w = (rng.standard_normal(shape).astype(dtype) for shape in (x_shape, w_shape))
    b = rng.standard_normal(w_shape[0]).astype(dtype) if bias else None
    want = K.plain("conv")(x, w, b, *how)
    g = rng.standard_normal(want.shape).astype(dtype)
    lain = innermost(x), innermost(w), innermost(g)
    for name, arguments, rest in (("conv", (0, 1), (b,)), ("conv_input", (2, 1), (x.shape,)),
            ("conv_weight", (0, 2), (w.shape,))):
        want = K.plain(name)(*((x, w, g)[k] for k in arguments), *rest, *how)
        got = getattr(K, name)(*(lain[k] for k in arguments), *rest, *how)
        bound = np.abs(want).max() * (3e-5 if dtype == np.float32 else 1e-13) + 1e-12
        np.testing.assert_allclose(got, want, rtol=0, atol=bound, err_msg=name)
        if kept and name != "conv_weight" and not lain[arguments[0]].flags.c_contiguous:
            assert np.moveaxis(got, 1, -1).flags.c_contiguous


@st.composite
def depthwise(draw: Any) -> tuple[Any, ...]:
    """Any windows; with channels for some vectors, for one and for less."""
    def each(*values: int) -> tuple[int, ...]:
        return tuple(draw(st.sampled_from(values)) for _ in range(2))

    kernel, stride, dilation, padding = each(1, 2, 3, 5, 7), each(1, 1, 2, 3), each(1, 1, 2, 3), each(0, 1, 2, 5)
    size = tuple(max(1, d * (k - 1) + 1 - 2 * p) + m
        for k, p, d, m in zip(kernel, padding, dilation, each(0, 1, 4, 13, 20), strict=True))
    groups, filters = draw(st.sampled_from([2, 4, 5, 8, 9, 16, 17, 31, 32, 50])), draw(st.sampled_from([1, 1, 1, 2]))
    return (draw(st.integers(1, 3)), groups, *size), (groups * filters, 1, *kernel), stride, padding, dilation, groups


@settings(max_examples=150, deadline=None)
@given(depthwise(), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_depthwise_of_any_shape(call: Any, dtype: Any, bias: bool) -> None:
    x_shape, w_shape, *how = call
    check(x_shape, w_shape, how, dtype, bias)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [2, 3, 7, 8, 15, 16, 17, 64])
@pytest.mark.parametrize("size", [(1, 2), (5, 3), (7, 7), (4, 4, 9), (31, 33)])
def test_images_that_are_turned(size: tuple[int, ...], channels: int, dtype: Any) -> None:
    n = len(size)
    for filters, groups, kernel in ((5, 1, 3), (2 * channels, channels, 3), (24, 1, 1)):
        how = (2,) * n, (1,) * n, (1,) * n, groups
        check((3, channels, *size), (filters, channels // groups, *(kernel,) * n), how, dtype, True, kept=True)


@st.composite
def windows(draw: Any) -> tuple[Any, ...]:
    """Of images or volumes that may go as pixels by vectors of filters; the last batch may have fewer images."""
    axes = draw(st.sampled_from([2, 2, 2, 3]))

    def each(*values: int) -> tuple[int, ...]:
        return tuple(draw(st.sampled_from(values)) for _ in range(axes))

    kernel, stride, dilation, padding = each(1, 2, 3, 5), each(1, 1, 2, 3), each(1, 1, 2), each(0, 1, 1, 3)
    size = tuple(max(1, d * (k - 1) + 1 - 2 * p) + m
        for k, p, d, m in zip(kernel, padding, dilation, each(0, 1, 4, 9), strict=True))
    channels, filters = draw(st.sampled_from([2, 3, 7, 16, 33])), draw(st.sampled_from([1, 2, 5, 8, 9, 16, 17, 40]))
    return (draw(st.integers(1, 7)), channels, *size), (filters, channels, *kernel), stride, padding, dilation, 1


@settings(max_examples=150, deadline=None)
@given(windows(), st.sampled_from([np.float32, np.float64]), st.booleans(), st.booleans())
def test_vectors_of_filters_of_any_shape(call: Any, dtype: Any, bias: bool, only: bool) -> None:
    from wengert.arrays import _kernels as native

    x_shape, w_shape, *how = call
    native.conv_only("broad" if only else None)
    try:
        check(x_shape, w_shape, how, dtype, bias)
    finally:
        native.conv_only(None)


def test_vectors_of_filters_see_their_own_windows() -> None:
    """A number that is not finite, and one behind the images."""
    from wengert.arrays import _kernels as native

    memory = np.full(2 * 9 * 8 * 5 + 64, np.nan, np.float32)
    memory[: 2 * 9 * 8 * 5] = 1
    x = np.moveaxis(memory[: 2 * 9 * 8 * 5].reshape(2, 9, 8, 5), -1, 1)
    w, how = np.ones((24, 5, 3, 3), np.float32), ((2, 2), (1, 1), (1, 1), 1)
    native.conv_only("broad")
    try:
        assert np.isfinite(K.conv(x, w, None, *how)).all()
        x[1, 2, 0, 0] = np.inf
        y = K.conv(x, w, None, *how)
    finally:
        native.conv_only(None)
    assert np.isinf(y[1, :, 0, 0]).all()
    assert np.isinf(y).sum() == 24


def test_several_threads_compute_the_same() -> None:
    rng = np.random.default_rng(0)
    x, w = innermost(rng.standard_normal((8, 72, 40, 41))), rng.standard_normal((72, 1, 5, 5))
    how = (2, 2), (2, 2), (1, 1), 72
    few, steps = rng.standard_normal((40, 72, 3, 3)), ((2, 2), (1, 1), (1, 1), 1)
    before, found = K.get_num_threads(), []
    try:
        for threads in (1, 4):
            K.set_num_threads(threads)
            y = K.conv(x, w, None, *how)
            found.append((y, K.conv_input(y, w, x.shape, *how), K.conv_weight(x, y, w.shape, *how),
                K.conv(x, few, None, *steps)))
    finally:
        K.set_num_threads(before)
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(one, several)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_depthwise_images_that_are_not_finite(value: float) -> None:
    """What windows do not see, they do not meet: padding is no product with zero."""
    x, w = innermost(np.ones((1, 16, 6, 6))), np.full((16, 1, 3, 3), value)
    x[0, 3, 0, 0] = value
    how = (1, 1), (1, 1), (1, 1), 16
    plain = np.ones((16, 1, 3, 3))
    y = K.conv(x, plain, None, *how)
    assert np.isfinite(y).sum() == 16 * 36 - 4
    seen = K.conv_weight(x, np.ones((1, 16, 6, 6)), plain.shape, *how)
    assert np.isfinite(seen).sum() == 16 * 9 - 4
    assert not np.isnan(K.conv_weight(innermost(np.ones((1, 16, 6, 6))), innermost(np.full((1, 16, 6, 6), np.inf)),
        plain.shape, *how)).any()
    assert np.isfinite(K.conv(x, w, None, *how)).sum() == 0
