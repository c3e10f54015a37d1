"""The native convolutions against their plain definitions, over shapes that take every way through them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.arrays import kernels as K

pytestmark = pytest.mark.skipif(not K.available, reason="there are no native kernels")

#: Groups, and channels and filters of each: depthwise, thin, few and many.
WIDTHS = [(1, 1, 1), (1, 3, 40), (1, 33, 3), (1, 16, 17), (1, 5, 8), (1, 40, 64), (2, 4, 12), (3, 2, 5), (8, 1, 1),
    (5, 1, 2), (24, 1, 1)]


@st.composite
def calls(draw: Any) -> tuple[Any, ...]:
    """Shapes of images and filters, and how: one to three axes, few pixels or many."""
    axes = draw(st.integers(1, 3))
    groups, channels, filters = draw(st.sampled_from(WIDTHS))

    def each(*values: int) -> tuple[int, ...]:
        return tuple(draw(st.sampled_from(values)) for _ in range(axes))

    kernel, stride, padding, dilation = each(1, 2, 3, 5), each(1, 1, 2, 3), each(0, 1, 2, 4), each(1, 1, 2, 3)
    more = each(0, 1, 5, 17, 35) if axes < 3 else each(0, 1, 4, 18)
    size = tuple(max(1, d * (k - 1) + 1 - 2 * p) + m
        for k, p, d, m in zip(kernel, padding, dilation, more, strict=True))
    images = draw(st.sampled_from([1, 2, 9, 33] if math.prod(size) < 300 else [1, 2]))
    weight = (groups * filters, channels, *kernel)
    return (images, groups * channels, *size), weight, stride, padding, dilation, groups


@st.composite
def squares(draw: Any) -> tuple[Any, ...]:
    """Shapes of 3 × 3 filters whose windows are neighbours, with so many channels that there are faster ways."""
    channels, filters = draw(st.sampled_from([(32, 32), (33, 70), (40, 64), (64, 33), (130, 32), (257, 40)]))
    padding = tuple(draw(st.integers(0, 3)) for _ in range(2))
    size = tuple(draw(st.sampled_from([3, 4, 5, 7, 8, 13, 34])) + 2 * (p == 0) for p in padding)
    images = draw(st.integers(1, 24 if math.prod(size) < 70 else 2))
    return (images, channels, *size), (filters, channels, 3, 3), (1, 1), padding, (1, 1), 1


@st.composite
def pieces(draw: Any) -> tuple[Any, ...]:
    """Shapes of filters that are cut into pieces along axes with steps, with so many channels that this pays."""
    axes = draw(st.sampled_from([1, 2, 2, 3]))
    channels, filters = draw(st.sampled_from([(32, 32), (33, 70), (40, 64), (5, 64), (130, 32)]))

    def each(*values: int) -> tuple[int, ...]:
        return tuple(draw(st.sampled_from(values)) for _ in range(axes))

    kernel, stride = (each(2, 3), each(1, 2)) if axes == 3 else (each(2, 3, 4, 5, 7, 8), each(1, 2, 2, 3, 4))
    padding, more = each(0, 1, 2), each(3, 4, 9) if axes == 3 else each(3, 8, 17, 30)
    size = tuple(max(1, k - 2 * p) + s * m // 2 for k, p, s, m in zip(kernel, padding, stride, more, strict=True))
    images = draw(st.integers(1, 12 if math.prod(size) < 200 else 2))
    return (images, channels, *size), (filters, channels, *kernel), stride, padding, (1,) * axes, 1


@st.composite
def few_windows(draw: Any) -> tuple[Any, ...]:
    """Shapes of many filters that few windows see, so that filters are read as they lie."""
    axes = draw(st.integers(1, 3))
    channels, filters = draw(st.sampled_from([(32, 64), (70, 33), (45, 130), (5, 300)]))

    def each(*values: int) -> tuple[int, ...]:
        return tuple(draw(st.sampled_from(values)) for _ in range(axes))

    kernel, stride, padding, dilation = each(1, 2, 3), each(1, 2, 2, 3), each(0, 1, 2), each(1, 1, 2)
    size = tuple(max(1, d * (k - 1) + 1 - 2 * p) + m
        for k, p, d, m in zip(kernel, padding, dilation, each(0, 1, 4), strict=True))
    return (draw(st.integers(1, 4)), channels, *size), (filters, channels, *kernel), stride, padding, dilation, 1


@st.composite
def depthwise(draw: Any) -> tuple[Any, ...]:
    """Shapes of images that meet filters of their own."""
    kernel, step = draw(st.sampled_from([3, 5, 7, 9])), draw(st.integers(1, 2))
    padding = tuple(draw(st.sampled_from([kernel // 2, kernel // 2, 0, kernel - 1])) for _ in range(2))
    size = tuple(max(1, kernel - 2 * p) + draw(st.sampled_from([0, 1, 4, 7, 13, 20, 33])) for p in padding)
    groups, filters, images = draw(st.integers(1, 19)), draw(st.sampled_from([1, 1, 1, 2, 5])), draw(st.integers(1, 3))
    return (images, groups, *size), (groups * filters, 1, kernel, kernel), (step, step), padding, (1, 1), groups


def check(x_shape: Any, w_shape: Any, how: Any, dtype: Any, bias: bool) -> None:
    rng = np.random.default_rng(len(x_shape))
    x, w = (rng.standard_normal(shape).astype(dtype) for shape in (x_shape, w_shape))
    b = rng.standard_normal(w_shape[0]).astype(dtype) if bias else None
    want = K.plain("conv")(x, w, b, *how)
    g = rng.standard_normal(want.shape).astype(dtype)
    for name, arguments in (("conv", (x, w, b)), ("conv_input", (g, w, x.shape)), ("conv_weight", (x, g, w.shape))):
        want = K.plain(name)(*arguments, *how)
        got = getattr(K, name)(*arguments, *how)
        assert got.shape == want.shape
        assert got.dtype == dtype
        bound = np.abs(want).max() * (3e-5 if dtype == np.float32 else 1e-13) + 1e-12
        np.testing.assert_allclose(got, want, rtol=0, atol=bound, err_msg=name)


@settings(max_examples=200, deadline=None)
@given(st.one_of(calls(), calls(), squares(), pieces(), few_windows(), depthwise()),
    st.sampled_from([np.float32, np.float64]), st.booleans())
def test_of_any_shape(call: Any, dtype: Any, bias: bool) -> None:
    x_shape, w_shape, *how = call
    check(x_shape, w_shape, how, dtype, bias)


LARGE = {  # what several threads share out: images, filters, channels, groups
    "many images": ((24, 16, 14, 14), (40, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "one image, many filters": ((1, 64, 20, 20), (96, 64, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "many weights": ((2, 256, 3, 3), (256, 256, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "many tiles": ((6, 40, 14, 15), (72, 40, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "wide rows": ((1, 33, 5, 301), (40, 33, 3, 3), (1, 1), (2, 0), (1, 1), 1),
    "many weights, steps": ((2, 128, 6, 7), (260, 128, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "steps": ((4, 48, 29, 31), (64, 48, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "groups": ((8, 96, 20, 20), (96, 1, 3, 3), (1, 1), (1, 1), (1, 1), 96),
    "groups, steps": ((3, 51, 15, 29), (102, 1, 5, 5), (2, 2), (2, 2), (1, 1), 51),
    "groups, short rows": ((5, 67, 7, 6), (67, 1, 7, 7), (1, 1), (3, 3), (1, 1), 67),
    "volumes": ((2, 16, 6, 18, 20), (24, 16, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "pieces": ((6, 40, 29, 31), (72, 40, 4, 4), (2, 2), (1, 1), (1, 1), 1),
    "pieces of volumes": ((2, 32, 6, 17, 18), (40, 32, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1),
    "steps, few channels": ((5, 3, 41, 43), (72, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    "one tap, steps": ((3, 40, 3, 15, 22), (24, 40, 1, 1, 1), (2, 2, 3), (0, 0, 0), (1, 1, 1), 1),
    "one tap, steps, groups": ((4, 24, 13, 22), (40, 12, 1, 1), (3, 2), (0, 0), (1, 1), 2),
    "few windows of volumes": ((2, 70, 3, 5, 5), (130, 70, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1),
    "few windows, steps": ((3, 66, 9, 7), (200, 66, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "few windows, one tap": ((4, 70, 7, 9), (130, 70, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    "two filters of one tap": ((2, 32, 48, 64), (2, 32, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "groups of one tap": ((3, 64, 9, 11), (96, 32, 1, 1), (1, 1), (0, 0), (1, 1), 2),
    "steps, no padding": ((9, 4, 22, 24), (40, 4, 8, 8), (4, 4), (0, 0), (1, 1), 1),
    "steps, groups": ((3, 8, 21, 23), (80, 4, 5, 5), (3, 2), (0, 0), (1, 1), 2),
    "few filters, long rows": ((2, 2, 3, 2100), (14, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "few filters, many rows": ((3, 5, 90, 21), (11, 5, 3, 3), (1, 1), (0, 2), (1, 1), 1),
    "short rows, few filters": ((33, 6, 14, 14), (16, 6, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    "steps, half a panel more": ((9, 4, 22, 24), (45, 4, 8, 8), (4, 4), (0, 0), (1, 1), 1),
    "only zeros around": ((3, 4, 1, 1), (5, 4, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "long steps": ((3, 4, 5, 7), (5, 4, 3, 3), (900, 800), (1, 1), (1, 1), 1),
}


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("case", LARGE)
def test_on_several_threads(case: str, threads: int) -> None:
    before = K.get_num_threads()
    K.set_num_threads(threads)
    try:
        x_shape, w_shape, *how = LARGE[case]
        check(x_shape, w_shape, how, np.float32, True)
    finally:
        K.set_num_threads(before)


GUARDED = """
import ctypes, mmap, sys
import numpy as np
from wengert.arrays import kernels as K

libc = ctypes.CDLL(None, use_errno=True)

def at_the_end(a):
    pages = -(-a.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
    start = np.frombuffer(memory, np.uint8).ctypes.data
    assert libc.mprotect(ctypes.c_void_p(start + pages), mmap.PAGESIZE, 0) == 0
    found = np.frombuffer(memory, a.dtype, a.size, pages - a.nbytes).reshape(a.shape)
    found[...] = a
    return found

for images, channels, size, filters, groups, stride, *padding in (
        (2, 3, 3, 5, 1, 1), (1, 1, 2, 1, 1, 1), (3, 8, 3, 1, 1, 1), (16, 33, 4, 40, 1, 1), (4, 64, 9, 33, 1, 1),
        (2, 256, 3, 256, 1, 1), (2, 128, 6, 260, 1, 2), (4, 64, 25, 65, 1, 2), (4, 4, 3, 4, 4, 1), (2, 5, 7, 6, 1, 3),
        (1, 70, 5, 130, 1, 2), (2, 70, 3, 66, 1, 1, 0), (3, 9, 21, 33, 1, 2, 0), (3, 9, 21, 7, 1, 1, 0),
        (3, 9, 18, 12, 1, 2, 0), (2, 3, 40, 12, 1, 1)):
    padding = (padding or [1]) * 2
    how = (stride, stride), tuple(padding), (1, 1), groups
    x, w = (at_the_end(np.ones(shape, np.float32)) for shape in ((images, channels, size, size),
        (filters, channels // groups, 3, 3)))
    g = at_the_end(K.conv(x, w, None, *how))
    K.conv_input(g, w, x.shape, *how)
    K.conv_weight(x, g, w.shape, *how)

for shape, filters in (((2, 5, 7, 9), 2), ((2, 5, 7, 9), 40), ((1, 8, 8, 16), 1), ((3, 4, 6, 16), 2),
        ((2, 3, 1, 1100), 2)):
    how = (1, 1), (0, 0), (1, 1), 1
    x, w = at_the_end(np.ones(shape, np.float32)), at_the_end(np.ones((filters, shape[1], 1, 1), np.float32))
    g = at_the_end(K.conv(x, w, None, *how))
    K.conv_input(g, w, x.shape, *how)
    K.conv_weight(x, g, w.shape, *how)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by Linux's library")
@pytest.mark.parametrize("instructions", ["avx512", "avx2", "baseline"])
def test_nothing_behind_the_arrays_is_read(instructions: str) -> None:
    """With each instruction set that the processor has."""
    environment = {**os.environ, "WENGERT_ISA": instructions}
    assert subprocess.run([sys.executable, "-c", GUARDED], check=False, timeout=100, env=environment).returncode == 0


def test_filters_that_are_not_finite() -> None:
    """What lies outside of an image adds nothing, not NaN."""
    weight = np.array([[[[np.inf, 1.0], [2.0, np.nan]]]], np.float32)
    g = np.ones((1, 1, 2, 2), np.float32)
    how = ((2, 2), (0, 0), (1, 1), 1)
    np.testing.assert_array_equal(K.conv_input(g, weight, (1, 1, 4, 4), *how),
        K.plain("conv_input")(g, weight, (1, 1, 4, 4), *how))


def test_more_filters_than_images_that_are_not_finite() -> None:
    """The same where what comes out is looked at, not the filters."""
    rng = np.random.default_rng(3)
    weight, g = rng.standard_normal((8, 8, 3, 3), np.float32), rng.standard_normal((1, 8, 2, 2), np.float32)
    weight[1, 2, 0, 0], weight[3, 4, 1, 1], weight[5, 6, 2, 0] = np.inf, np.nan, 3e38
    how = ((2, 2), (1, 1), (1, 1), 1)
    with np.errstate(all="ignore"):
        want = K.plain("conv_input")(g, weight, (1, 8, 3, 4), *how)
        np.testing.assert_allclose(K.conv_input(g, weight, (1, 8, 3, 4), *how), want, rtol=1e-5, atol=1e-5)
    assert 0 < np.isnan(want).sum() < want.size


@pytest.mark.parametrize(("kernel", "step"), [(3, 1), (3, 2), (4, 2)])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e38])
@pytest.mark.parametrize("into", ["x", "w", "g"])
def test_images_that_are_not_finite(into: str, value: float, kernel: int, step: int) -> None:
    """A number that is not finite, or overflows, concerns those results whose windows see it, and no others."""
    rng = np.random.default_rng(5)
    how = ((step, step), (1, 1), (1, 1), 1)
    x = rng.standard_normal((2, 40, 9 * step * step, 10 * step * step), np.float32)
    w = rng.standard_normal((48, 40, kernel, kernel), np.float32)
    g = rng.standard_normal(K.conv(x, w, None, *how).shape).astype(np.float32)
    {"x": x, "w": w, "g": g}[into][1, 3, 1, 2] = value
    with np.errstate(all="ignore"):
        for name, arguments in (("conv", (x, w, None)), ("conv_input", (g, w, x.shape)),
                ("conv_weight", (x, g, w.shape))):
            want, got = K.plain(name)(*arguments, *how), getattr(K, name)(*arguments, *how)
            far = np.isfinite(want) & (np.abs(want) > 1e20)
            np.testing.assert_allclose(got[~far], want[~far], rtol=1e-5, atol=1e-3, err_msg=name)
            np.testing.assert_allclose(got[far], want[far], rtol=1e-5, atol=1e32, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [1.0, np.inf, np.nan])
@pytest.mark.parametrize(("kernel", "step"), [(3, 1), (1, 2)])
def test_zeros(kernel: int, step: int, value: float, dtype: Any) -> None:
    """Zeros come of zeros, of either sign, as gradients of gradients of ReLUs are; but NaN where they meet what is not
    finite.
    """
    rng = np.random.default_rng(5)
    how = ((step, step), (kernel // 2, kernel // 2), (1, 1), 1)
    x, w = (rng.standard_normal(shape).astype(dtype) for shape in ((2, 20, 9, 9), (24, 20, kernel, kernel)))
    x[1, 3, 4, 4] = w[2, 5, 0, 0] = value
    g = np.zeros_like(K.conv(x, w, None, *how))
    g[1] = -g[1]
    nothing = np.zeros_like(x)
    for name, arguments in (("conv", (nothing, w, None)), ("conv_input", (g, w, x.shape)),
            ("conv_weight", (x, g, w.shape))):
        got = getattr(K, name)(*arguments, *how)
        assert np.isfinite(got).all() == np.isfinite(value), name
        assert not got[np.isfinite(got)].any(), name
    bias = rng.standard_normal(24).astype(dtype)
    g = np.broadcast_to(bias[:, None, None], g.shape)
    if np.isfinite(value):
        np.testing.assert_array_equal(K.conv(nothing, w, bias, *how), g)
        g = g.copy()
        g[1, -1, -1, -1] += 1  # the last number is no zero
        assert K.conv_input(g - np.broadcast_to(bias[:, None, None], g.shape), w, x.shape, *how).any()


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_taps_that_see_nothing_have_no_gradient(value: float) -> None:
    """Whatever the gradients are, be they not finite."""
    rng = np.random.default_rng(5)
    x, g = rng.standard_normal((3, 20, 1, 2), np.float32), rng.standard_normal((3, 90, 1, 2), np.float32)
    g[1, 7, 0, 1] = value
    got = K.conv_weight(x, g, (90, 20, 3, 3), (1, 1), (1, 1), (1, 1), 1)
    assert not got[:, :, [0, 2]].any()
    assert not np.isfinite(got[7, :, 1]).any()
    assert np.isfinite(np.delete(got, 7, 0)).all()


@pytest.mark.parametrize("filters", [1, 2, 5])
def test_long_rows(filters: int) -> None:
    """Of a million numbers, a part at a time."""
    check((1, 2, 1_000_000), (filters, 2, 3), ((1,), (1,), (1,), 1), np.float32, True)


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("filters", [2, 7, 16])
@pytest.mark.parametrize("width", [14, 20])
def test_few_filters_that_some_taps_do_not_see(width: int, filters: int, value: float) -> None:
    """Zeros that fill up rows of gradients meet numbers that no window sees there, which adds nothing to a filter."""
    rng = np.random.default_rng(8)
    x, how = rng.standard_normal((3, 4, 9, width), np.float32), ((1, 1), (0, 0), (1, 1), 1)
    g = rng.standard_normal((3, filters, 7, width - 2), np.float32)
    x[1, 2, 0, 0] = x[2, 1, 3, -1] = value
    want, got = K.plain("conv_weight")(x, g, (filters, 4, 3, 3), *how), K.conv_weight(x, g, (filters, 4, 3, 3), *how)
    assert 0 < np.isfinite(want).sum() < want.size
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_images_with_numbers_that_stand_out() -> None:
    """A mask of -1e9 costs those results nothing whose windows do not see it: no tile mixes it into its neighbours."""
    rng = np.random.default_rng(6)
    x, w = rng.standard_normal((4, 64, 16, 16), np.float32), rng.standard_normal((64, 64, 3, 3), np.float32)
    g = rng.standard_normal((4, 64, 16, 16), np.float32)
    x[:, :, 4, 5] = g[:, :, 4, 5] = -1e9
    how = ((1, 1), (1, 1), (1, 1), 1)
    seen = np.zeros((16, 16), bool)
    seen[3:6, 4:7] = True
    for got, want in ((K.conv(x, w, None, *how), K.plain("conv")(x, w, None, *how)),
            (K.conv_input(g, w, x.shape, *how), K.plain("conv_input")(g, w, x.shape, *how))):
        np.testing.assert_allclose(got[..., ~seen], want[..., ~seen], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(got[..., seen], want[..., seen], rtol=1e-4, atol=1e4)


def test_filters_with_numbers_that_stand_out() -> None:
    """Results at the edges, whose windows lie beside the image there, are as exact as without them."""
    rng = np.random.default_rng(6)
    x, w = rng.standard_normal((4, 64, 16, 16), np.float32), rng.standard_normal((64, 64, 3, 3), np.float32)
    g = rng.standard_normal((4, 64, 16, 16), np.float32)
    w[7, 9, 0, 1] = w[9, 7, 2, 1] = 1e9
    how = ((1, 1), (1, 1), (1, 1), 1)
    for got, want in ((K.conv(x, w, None, *how), K.plain("conv")(x, w, None, *how)),
            (K.conv_input(g, w, x.shape, *how), K.plain("conv_input")(g, w, x.shape, *how))):
        unseen = np.abs(want) < 1e6
        assert unseen.sum() < unseen.size
        np.testing.assert_allclose(got[unseen], want[unseen], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("corner", [0, -1])
@pytest.mark.parametrize("into", ["x", "g"])
def test_gradients_of_filters_beside_numbers_that_stand_out(into: str, corner: int) -> None:
    """A number in the corner of an image meets some taps of a filter, and the sums of the others lose nothing to it."""
    rng = np.random.default_rng(6)
    x, g = rng.standard_normal((4, 64, 16, 16), np.float32), rng.standard_normal((4, 64, 16, 16), np.float32)
    {"x": x, "g": g}[into][0, 5, corner, corner] = 1e9
    arguments = x, g, (64, 64, 3, 3), (1, 1), (1, 1), (1, 1), 1
    got, want = K.conv_weight(*arguments), K.plain("conv_weight")(*arguments)
    unseen = np.abs(want) < 1e6
    assert 0 < unseen.sum() < unseen.size
    np.testing.assert_allclose(got[unseen], want[unseen], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel, step", [(3, 1), (5, 1), (7, 1), (9, 1), (3, 2), (5, 2), (7, 2)])
def test_depthwise_of_all_heights_and_widths(kernel: int, step: int, dtype: Any) -> None:
    """Rows and vectors that do not fill blocks, of results and of gradients in images."""
    rng, bound = np.random.default_rng(8), 1e-6 if dtype == np.float32 else 1e-14
    w = rng.standard_normal((2, 1, kernel, kernel)).astype(dtype)
    for count in range(4, 31):
        for pad in (kernel // 2, 0, kernel - 1):
            size = tuple((n - 1) * step + kernel - 2 * pad for n in (count, 34 - count))
            if min(size) < 1:
                continue
            x, how = rng.standard_normal((2, 2, *size)).astype(dtype), ((step, step), (pad, pad), (1, 1), 2)
            want, got = K.plain("conv")(x, w, None, *how), K.conv(x, w, None, *how)
            np.testing.assert_allclose(got, want, rtol=0, atol=bound * np.abs(want).max())
            want, got = (f(want, w, x.shape, *how) for f in (K.plain("conv_input"), K.conv_input))
            np.testing.assert_allclose(got, want, rtol=0, atol=bound * np.abs(want).max())


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("size", [(9, 7), (8, 31), (19, 26)])
@pytest.mark.parametrize("step", [1, 2])
def test_depthwise_images_that_are_not_finite(step: int, size: tuple[int, int], value: float) -> None:
    """What vectors read beyond a row is not seen, be it NaN; nor are numbers that no window sees."""
    rng = np.random.default_rng(6)
    how = ((step, step), (1, 0), (1, 1), 3)
    x, w = rng.standard_normal((3, 3, *size), np.float32), rng.standard_normal((3, 1, 3, 3), np.float32)
    x[1, 1, 0, 0] = x[2, 2, -1, -1] = x[0, 1, 3, 2] = value
    g = rng.standard_normal(K.plain("conv")(x, w, None, *how).shape).astype(np.float32)
    with np.errstate(all="ignore"):
        for name, arguments in (("conv", (x, w, None)), ("conv_weight", (x, g, w.shape))):
            want, got = K.plain(name)(*arguments, *how), getattr(K, name)(*arguments, *how)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=name)
        g[1, 1, 0, 0] = g[2, 2, -1, -1] = value
        want, got = (f(g, w, x.shape, *how) for f in (K.plain("conv_input"), K.conv_input))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("windows", [1, 255, 256, 257, 288, 289, 300, 576, 577, 785])
@pytest.mark.parametrize("kernel", [1, 3])
def test_gradients_of_filters_by_parts_of_windows(kernel: int, windows: int) -> None:
    rng = np.random.default_rng(windows)
    x = rng.standard_normal((2, 34, windows + kernel - 1), np.float32)
    g = rng.standard_normal((2, 51, windows), np.float32)
    how = (51, 34, kernel), (1,), (0,), (1,), 1
    got, want = K.conv_weight(x, g, *how), K.plain("conv_weight")(x.astype(np.float64), g.astype(np.float64), *how)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.sqrt(windows) * 8)
