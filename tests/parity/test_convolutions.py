"""Convolutions of any shape, and all their gradients, on both libraries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.arrays.test_convolutions import calls, squares
from tests.arrays.test_pixel_convolutions import innermost
from wengert.arrays import kernels as K

torch = pytest.importorskip("torch")


def results(library: Any, arrays: Any, how: Any, transposed: bool) -> list[np.ndarray]:
    """What comes out, and the gradients of images and filters."""
    *_, axes = how
    f = getattr(library.nn.functional, f"conv{'_transpose' if transposed else ''}{axes}d")
    x, w, g = (library.from_numpy(a) for a in arrays)
    x.requires_grad_()
    w.requires_grad_()
    stride, padding, dilation, groups, extra, _ = how
    options = dict(output_padding=extra) if transposed else {}
    y = f(x, w, None, stride=stride, padding=padding, dilation=dilation, groups=groups, **options)
    gradients = library.autograd.grad(y, (x, w), g.reshape(y.shape))
    return [t.detach().contiguous().numpy() for t in (y, *gradients)]


def drawn(call: Any, dtype: Any, lines: bool) -> tuple[Any, Any]:
    """Arrays of images (channels last if ``lines``), filters and gradients, and how they meet."""
    x_shape, w_shape, stride, padding, dilation, groups = call
    rng = np.random.default_rng(7)
    x = rng.standard_normal(x_shape)
    if lines:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    size = [(n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x_shape[2:], w_shape[2:], stride, padding, dilation, strict=True)]
    y_shape = (x_shape[0], w_shape[0], *size)
    extra = tuple((n + 2 * p - d * (k - 1) - 1) % s
        for n, k, s, p, d in zip(x_shape[2:], w_shape[2:], stride, padding, dilation, strict=True))
    w, g = rng.standard_normal(w_shape), rng.standard_normal(y_shape)
    return [a.astype(dtype, order="K") for a in (x, w, g)], (stride, padding, dilation, groups, extra, len(stride))


@settings(max_examples=150, deadline=None)
@given(st.one_of(calls(), calls(), squares()), st.booleans(), st.booleans())
def test_double_precision(call: Any, transposed: bool, lines: bool) -> None:
    (x, w, g), how = drawn(call, np.float64, lines)
    arrays = (g, w, x) if transposed else (x, w, g)
    both = (results(library, arrays, how, transposed) for library in (wengert, torch))
    for mine, theirs in zip(*both, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * max(1.0, np.abs(theirs).max()))


@settings(max_examples=60, deadline=None)
@given(calls(), st.sampled_from([0, 0, 1, 100]), st.sampled_from([0, 0, 1, 100]))
def test_errors_of_single_precision(call: Any, mean: int, of_filters: int) -> None:
    """No larger than twice PyTorch's, over all results of a call; or in the last place."""
    (x, w, g), how = drawn(call, np.float32, False)
    if K.available:  # else BLAS adds up, as it does
        x, w, g = x + np.float32(mean), w + np.float32(of_filters), g + np.float32(mean)
    arrays = [x, w, g]
    powers = results(torch, [a.astype(np.float64) ** 2 for a in arrays], how, False)  # of sums that may cancel
    for (ours, other), power in zip(errors(arrays, how), powers, strict=True):
        assert ours <= 2 * other + 4e-7 * np.sqrt(power.max())


def errors(arrays: Any, how: Any) -> Any:
    """Errors of both libraries, for results and both gradients."""
    exact = results(torch, [a.astype(np.float64) for a in arrays], how, False)
    both = (results(library, arrays, how, False) for library in (wengert, torch))
    for mine, theirs, true in zip(*both, exact, strict=True):
        yield tuple(np.sqrt(np.mean((a - true) ** 2)) for a in (mine, theirs))


#: What changes normal numbers into such as layers see: results of ReLU, and what has not been centred.
KINDS: dict[str, Any] = {"normal": lambda a: a, "positive": lambda a: np.maximum(a, 0), "large mean": lambda a: a + 100}
#: Layers of 3 × 3 filters whose windows are neighbours, with so many of them that the products of Winograd pay.
SQUARES = [(16, 32, 8, 8, 64), (24, 64, 4, 4, 64), (2, 128, 14, 14, 40), (4, 33, 13, 15, 70), (6, 256, 7, 7, 96),
    (2, 48, 34, 9, 33), (16, 512, 4, 4, 64), (1, 64, 40, 38, 64)]


@pytest.mark.parametrize("filters", KINDS)
@pytest.mark.parametrize("images", KINDS)
@pytest.mark.parametrize("layer", SQUARES, ids=str)
def test_errors_of_filters_whose_windows_are_neighbours(layer: Any, images: str, filters: str) -> None:
    n, channels, *size, count = layer
    call = (n, channels, *size), (count, channels, 3, 3), (1, 1), (1, 1), (1, 1), 1
    (x, w, g), how = drawn(call, np.float32, False)
    for ours, other in errors([KINDS[images](x), KINDS[filters](w), KINDS[images](g)], how):
        assert ours <= 2 * other


#: A layer for every way to compute a convolution, the longest sums of each: shapes, stride, padding, dilation, groups.
WAYS = {
    "windows packed, one tap": ((2, 256, 14, 14), (32, 256, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "windows packed, many taps": ((2, 32, 16, 15), (64, 32, 3, 3), (1, 1), (2, 2), (2, 2), 1),
    "windows in place": ((2, 24, 28, 40), (12, 24, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "one filter": ((4, 128, 28, 29), (1, 128, 1, 2), (3, 3), (0, 0), (1, 1), 1),
    "two filters": ((2, 64, 30, 30), (2, 64, 2, 2), (1, 1), (0, 0), (1, 1), 1),
    "vectors of filters": ((2, 3, 60, 60), (64, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    "vectors of filters, steps": ((4, 64, 30, 30), (64, 64, 2, 2), (2, 2), (0, 0), (1, 1), 1),
    "steps, one tap": ((2, 200, 7, 61), (64, 200, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    "columns": ((2, 128, 6, 6), (256, 128, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "columns, many windows": ((1, 280, 15, 14), (64, 280, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "Winograd": ((2, 64, 28, 28), (64, 64, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "Winograd, pieces": ((2, 64, 28, 28), (64, 64, 5, 5), (2, 2), (2, 2), (1, 1), 1),
    "depthwise": ((2, 64, 28, 28), (64, 1, 3, 3), (1, 1), (1, 1), (1, 1), 64),
    "depthwise, steps": ((2, 64, 29, 28), (64, 1, 7, 7), (2, 2), (3, 3), (1, 1), 64),
    "groups": ((8, 96, 14, 14), (64, 24, 2, 2), (2, 2), (0, 0), (1, 1), 4),
    "one axis": ((4, 48, 130), (64, 48, 3), (1,), (0,), (1,), 1),
    "one axis, steps": ((8, 24, 140), (24, 24, 7), (2,), (0,), (2,), 1),
    "volumes": ((1, 33, 13, 15, 8), (24, 33, 3, 3, 3), (1, 1, 1), (1, 0, 1), (1, 1, 1), 1),
    "volumes, steps": ((2, 16, 6, 18, 20), (64, 16, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1),
}
#: What single sums, or sums of few lanes, were too long for once: few windows, filters whose taps see mostly padding.
SHORT = {
    "few windows of few filters": ((2, 33, 4, 13, 7), (3, 33, 2, 3, 3), (2, 1, 3), (0, 1, 0), (3, 2, 1), 1),
    "two windows in a row": ((2, 100, 6, 6), (7, 100, 1, 5), (1, 3), (1, 2), (2, 1), 1),
    "66 terms": ((33, 33, 2), (3, 33, 5), (2,), (2,), (1,), 1),
    "68 terms": ((9, 16, 6, 6), (17, 16, 2, 2), (1, 1), (1, 4), (2, 1), 1),
    "42 terms": ((2, 100, 11, 11, 5), (7, 100, 1, 3, 2), (1, 1, 1), (1, 4, 4), (1, 2, 1), 1),
    "taps that see padding": ((33, 64, 6), (128, 64, 3), (1,), (0,), (2,), 1),
    "more taps than windows": ((33, 40, 18), (64, 40, 7), (1,), (1,), (3,), 1),
}
#: Images, and gradients of results, and filters.
MEANS = [("large mean", "normal"), ("normal", "large mean"), ("large mean", "large mean"), ("positive", "positive")]


@pytest.mark.skipif(not K.available, reason="BLAS adds up as it does")
@pytest.mark.parametrize("kinds", MEANS, ids=" and ".join)
@pytest.mark.parametrize("way", WAYS)
def test_errors_of_long_sums_with_a_mean(way: str, kinds: tuple[str, str]) -> None:
    """No larger than twice PyTorch's, and a rounding of the results."""
    (x, w, g), how = drawn(WAYS[way], np.float32, False)
    images, filters = (KINDS[kind] for kind in kinds)
    arrays = [images(x), filters(w), images(g)]
    exact = results(torch, [a.astype(np.float64) for a in arrays], how, False)
    for (ours, other), true in zip(errors(arrays, how), exact, strict=True):
        assert ours <= 2 * other + 2.0**-25 * np.sqrt(np.mean(true**2))


#: Layers that images whose channels lie innermost go another way for, products of pixels among them.
PIXELS = {
    "few filters": ((4, 16, 32, 32), (16, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "few filters, steps": ((4, 16, 31, 32), (32, 16, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "few channels": ((4, 3, 33, 32), (24, 3, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "one tap": ((4, 96, 14, 14), (40, 96, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "patches": ((2, 24, 16, 16), (40, 24, 4, 4), (4, 4), (0, 0), (1, 1), 1),
}


@pytest.mark.skipif(not K.available, reason="BLAS adds up as it does")
@pytest.mark.parametrize("kinds", [("normal", "normal"), *MEANS], ids=" and ".join)
@pytest.mark.parametrize("way", [*PIXELS, *[name for name, call in WAYS.items() if len(call[2]) > 1
    and name != "one filter"]])  # which PyTorch has no gradient for, of such images
def test_errors_of_channels_last(way: str, kinds: tuple[str, str]) -> None:
    """No larger than twice PyTorch's of the same images, and a rounding of the results."""
    (x, w, g), how = drawn((PIXELS | WAYS)[way], np.float32, False)
    images, filters = (KINDS[kind] for kind in kinds)
    arrays = [innermost(a) for a in (images(x), filters(w), images(g))]
    exact = results(torch, [a.astype(np.float64) for a in arrays], how, False)
    for (ours, other), true in zip(errors(arrays, how), exact, strict=True):
        assert ours <= 2 * other + 2.0**-25 * np.sqrt(np.mean(true**2))


def squared_errors(call: Any, kinds: Any, seed: int) -> np.ndarray:
    """Of results and both gradients: the mean squares of our errors, of PyTorch's, and of the numbers."""
    (x, w, g), how = drawn(call, np.float32, False)
    rng = np.random.default_rng(seed)
    x, w, g = (rng.standard_normal(a.shape).astype(np.float32) for a in (x, w, g))
    images, filters = (KINDS[kind] for kind in kinds)
    arrays = [images(x), filters(w), images(g)]
    exact = results(torch, [a.astype(np.float64) for a in arrays], how, False)
    ours, other = (results(library, arrays, how, False) for library in (wengert, torch))
    return np.array([[np.mean((a - c) ** 2), np.mean((b - c) ** 2), np.mean(c**2)]
        for a, b, c in zip(ours, other, exact, strict=True)])


def no_larger_than_twice(call: Any, kinds: Any) -> None:
    """The errors of many draws together: those of a few numbers say little."""
    found: Any = 0.0
    for seed in range(8):
        found = found + squared_errors(call, kinds, seed)
        if seed in (0, 2) and all(a <= 2 * b for a, b, _ in np.sqrt(found)):
            return
    for ours, other, true in np.sqrt(found):
        assert ours <= 2 * other + 2.0**-25 * true


@pytest.mark.skipif(not K.available, reason="BLAS adds up as it does")
@pytest.mark.parametrize("kinds", MEANS, ids=" and ".join)
@pytest.mark.parametrize("shape", SHORT)
def test_errors_of_sums_that_were_too_long(shape: str, kinds: tuple[str, str]) -> None:
    no_larger_than_twice(SHORT[shape], kinds)


@st.composite
def many_terms(draw: Any) -> tuple[Any, ...]:
    """Shapes with long sums: over channels, over filters, or over windows; steps and gaps on small images."""
    call = draw(calls())
    groups, channels, filters = draw(st.sampled_from([(1, 100, 100), (1, 64, 128), (1, 128, 20), (1, 100, 7),
        (2, 50, 60), (1, 3, 40), (1, 33, 3), (1, 16, 17), (24, 1, 1)]))
    (images, _, *size), (_, _, *kernel), *how, _ = call
    if images * math.prod(size) * math.prod(kernel) > 30000:
        images, size = 1, [min(n, d * (k - 1) + 3) for n, d, k in zip(size, how[2], kernel, strict=True)]
    return (images, groups * channels, *size), (groups * filters, channels, *kernel), *how, groups


@pytest.mark.skipif(not K.available, reason="BLAS adds up as it does")
@settings(max_examples=60, deadline=None)
@given(many_terms(), st.sampled_from([("normal", "normal"), *MEANS]))
def test_errors_of_many_terms(call: Any, kinds: tuple[str, str]) -> None:
    no_larger_than_twice(call, kinds)
