"""How convolutions are computed: which way is chosen for which shape, and that all ways give the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from wengert.arrays import kernels as K

pytestmark = pytest.mark.skipif(not K.available, reason="there is one way without the native kernels")

#: By instruction set (whose vectors a processor may compute in halves) and layer (as in ``benchmarks.convolutions``)
#: the ways of the results, of the gradient in the images and of that in the filters, where ``benchmarks.ways`` measured
#: them to be faster than all others by a tenth.
FASTEST: dict[str, dict[str, tuple[str | None, str | None, str | None]]] = {
    "avx512": {
        "3x3 64, 56": ("winograd", "winograd", "winograd"),
        "3x3/2 64-128, 56": (None, "winograd", "winograd"),
        "3x3 256, 14": ("winograd", "winograd", "winograd"),
        "3x3/2 256-512, 14": (None, "columns", None),
        "3x3 512, 7": ("winograd", "winograd", None),
        "1x1 512-2048, 7": (None, "columns", "columns"),
        "3x3 256, 4": (None, "winograd", "winograd"),
        "3x3 512, 2": ("packed", "columns", "columns"),
        "3x3 512, 1": (None, "packed", "tiles"),
        "3x3 3-64, 32": (None, "in place", "tiles"),
        "3x3 32, 16": ("winograd", "winograd", "winograd"),
        "3x3 64, 8": ("winograd", "winograd", "winograd"),
        "3x3 1-32, 28": ("in place", "in place", "tiles"),
        "3x3 32-64, 26": ("winograd", "winograd", "winograd"),
        "32 groups 3x3 128, 28": ("in place", "in place", "dots"),
        "3x3 64-32, 64": ("winograd", "winograd", "winograd"),
        "3x3x3 16-32, 8x32x32": ("winograd", "in place", "tiles"),
        "transposed 4x4/2 64-1, 14": ("packed", "in place", "tiles"),
        "transposed 2x2/2 64-32, 32": (None, None, "tiles"),
        "depthwise 3x3 512, 14": ("depthwise", "depthwise", "depthwise"),
    },
    "avx512 in halves": {
        "1x1 512-2048, 7": ("packed", None, None),
        "3x3 64, 56": ("winograd", "winograd", "winograd"),
        "3x3/2 64-128, 56": ("winograd", "winograd", "winograd"),
        "3x3 256, 14": ("winograd", "winograd", "winograd"),
        "3x3/2 256-512, 14": (None, None, "columns"),
        "3x3 512, 2": ("packed", None, "columns"),
        "3x3 256, 4": ("winograd", "winograd", "winograd"),
        "3x3 3-64, 32": ("in place", None, "tiles"),
        "3x3 16, 32": ("winograd", "winograd", None),
        "3x3 48, 9": ("winograd", "winograd", None),
        "32 groups 3x3 128, 28": ("in place", "in place", "dots"),
        "transposed 4x4/2 64-1, 14": (None, "folded", "tiles"),
        "transposed 2x2/2 64-32, 32": (None, "folded", "tiles"),
        "7x7/2 3-64, 224": ("winograd", "folded", None),
        "video: 3x7x7/1x2x2 3-64 8x56x56": ("winograd", "folded", "winograd"),
        "residual, 50 layers: 1 2048-512 7": (None, None, "columns"),
    },
    "avx2": {
        "1x1 256-64, 56": ("packed", "packed", None),
        "1x1 64-256, 56": ("packed", "packed", None),
        "1x1 512-2048, 7": ("packed", "columns", "columns"),
        "3x3 64, 56": ("winograd", "winograd", "winograd"),
        "3x3 128, 28": ("winograd", "winograd", "winograd"),
        "3x3/2 256-512, 14": (None, "columns", "columns"),
        "3x3 512, 2": ("packed", None, "columns"),
        "3x3 256, 4": (None, "winograd", "winograd"),
        "3x3 3-64, 32": ("in place", "folded", "tiles"),
        "3x3 1-32, 28": (None, "folded", "tiles"),
        "transposed 4x4/2 64-1, 14": ("in place", "folded", "tiles"),
        "transposed 2x2/2 64-32, 32": (None, "folded", None),
        "32 groups 3x3 128, 28": ("in place", "in place", "dots"),
        "video: 3/2 256-512 2x7x7": ("packed", "columns", "columns"),
    },
}
PROGRAM = """
import json, sys
from benchmarks.ways import calls
from wengert.arrays import _kernels as native
if native.instruction_set + " in halves" * native.halves_vectors == sys.argv[2]:
    found = {}
    for name in json.loads(sys.argv[1]):
        for what, call in calls(name).items():
            call()
            found[f"{name}: {what}"] = native.conv_chosen()
    print(json.dumps(found))
"""


@pytest.mark.parametrize("level", FASTEST)
def test_what_was_measured_to_be_fastest_is_chosen(level: str) -> None:
    fastest = FASTEST[level]
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(list(fastest)), level], check=True, timeout=300,
        capture_output=True, text=True, env={**os.environ, "WENGERT_ISA": level.split()[0]})
    if not done.stdout:
        pytest.skip(f"the processor has no {level}")
    found = json.loads(done.stdout)
    wanted = {f"{name}: {what}": way for name, row in fastest.items()
        for what, way in zip(("results", "images", "filters"), row, strict=True) if way is not None}
    assert {name: found[name][0] for name in wanted} == wanted
    for name, (way, weighed) in found.items():  # what is noted is what was decided
        for other, (cycles, others) in weighed.items():
            if other != "dots" or way in ("dots", "tiles"):  # these two are weighed in any case
                assert cycles < others if other == way else cycles >= others, name


WAYS = ("product", "depthwise", "winograd", "broad", "columns", "folded", "in place", "packed", "dots", "tiles")
SHAPES = {  # images, filters, stride, padding, groups
    "many channels": ((4, 64, 9, 9), (40, 64, 3, 3), 1, 1, 1),
    "few windows": ((4, 96, 4, 4), (64, 96, 3, 3), 2, 1, 1),
    "few filters": ((3, 5, 20, 21), (6, 5, 3, 3), 1, 1, 1),
    "vectors of channels that are no pairs": ((3, 48, 9, 9), (80, 48, 3, 3), 1, 1, 1),
    "one tap": ((4, 40, 6, 7), (72, 40, 1, 1), 1, 0, 1),
    "groups": ((2, 24, 11, 10), (16, 6, 3, 3), 1, 1, 4),
    "one tap, many filters": ((3, 32, 6, 7), (52, 32, 1, 1), 1, 0, 1),
    "steps, few channels": ((5, 1, 28, 27), (64, 1, 4, 4), 2, 1, 1),
    "steps of three": ((2, 3, 20, 23), (8, 3, 5, 5), 3, 2, 1),
    "taps that see only zeros": ((2, 40, 2, 1), (24, 40, 3, 3), 1, 1, 1),
    "depthwise": ((2, 8, 14, 14), (8, 1, 3, 3), 1, 1, 8),
    "few windows of one tap": ((40, 24, 3, 3), (30, 24, 1, 1), 1, 0, 1),
    "planes that push each other out": ((2, 20, 32, 32), (72, 20, 1, 1), 1, 0, 1),
    "one pixel": ((5, 40, 1, 1), (24, 40, 1, 1), 1, 0, 1),
    "a stem": ((3, 3, 37, 43), (40, 3, 7, 7), 2, 3, 1),
    "a stem, long rows": ((1, 2, 9, 200), (17, 2, 5, 5), 1, 2, 1),
    "a stem in steps of four": ((2, 3, 50, 47), (16, 3, 11, 11), 4, 2, 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_all_ways_give_the_same(name: str) -> None:
    from wengert.arrays import _kernels as native

    image, weight, stride, padding, groups = SHAPES[name]
    random = np.random.default_rng(0)
    x, w = random.standard_normal(image), random.standard_normal(weight)
    how = (stride,) * 2, (padding,) * 2, (1, 1), groups
    g = random.standard_normal(native.conv(x, w, None, *how).shape)
    calls: list[Any] = [lambda: native.conv(x, w, None, *how), lambda: native.conv_input(g, w, x.shape, *how),
        lambda: native.conv_weight(x, g, w.shape, *how)]
    seen = set()
    for call in calls:
        wanted = call()
        for way in WAYS:
            native.conv_only(way)
            try:
                found = call()
                seen.add(native.conv_chosen()[0])
            finally:
                native.conv_only(None)
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * abs(wanted).max())
    assert len(seen) > (3 if name not in ("depthwise", "one pixel") else 0)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("image", "weight", "stride", "padding"), [
    ((2, 3, 5, 21, 22), (35, 3, 3, 7, 7), (1, 2, 2), (1, 3, 3)),
    ((3, 5, 4, 9, 40), (16, 5, 3, 3, 3), (1, 1, 1), (1, 1, 1)),
    ((2, 1, 6, 12, 11), (20, 1, 2, 4, 4), (2, 1, 1), (0, 2, 1)),
    ((4, 4, 300), (16, 4, 9), (1,), (4,)),
    ((2, 7, 64, 3), (24, 7, 3, 1), (1, 1), (1, 0)),
])
def test_few_channels_by_winograd(image: tuple[int, ...], weight: tuple[int, ...], stride: tuple[int, ...],
        padding: tuple[int, ...], bias: bool) -> None:
    from wengert.arrays import _kernels as native

    random = np.random.default_rng(0)
    how = stride, padding, (1,) * len(stride), 1
    x, w, b = (random.standard_normal(shape) for shape in (image, weight, weight[:1]))
    g = random.standard_normal(native.conv(x, w, None, *how).shape)
    for dtype, bound in ((np.float64, 1e-12), (np.float32, 1e-5)):
        given = x.astype(dtype), w.astype(dtype), b.astype(dtype) if bias else None
        grad = g.astype(dtype)
        for other, call in (("packed", lambda: native.conv(*given, *how)),
                ("tiles", lambda: native.conv_weight(given[0], grad, weight, *how))):
            found = []
            for way in (other, "winograd"):
                native.conv_only(way)
                try:
                    found.append(call())
                    assert native.conv_chosen()[0] == way
                finally:
                    native.conv_only(None)
            np.testing.assert_allclose(*found, rtol=0, atol=bound * abs(found[0]).max())


def test_numbers_that_are_not_finite_go_by_windows_for_few_channels() -> None:
    from wengert.arrays import _kernels as native

    random, how = np.random.default_rng(0), ((2, 2), (3, 3), (1, 1), 1)
    x, w = random.standard_normal((2, 3, 40, 38)), random.standard_normal((32, 3, 7, 7))
    g = random.standard_normal(native.conv(x, w, None, *how).shape)
    x[1, 2, 11, 12] = np.inf
    wanted, wanted_weight = native.conv(x, w, None, *how), native.conv_weight(x, g, w.shape, *how)
    native.conv_only("winograd")
    try:
        np.testing.assert_allclose(native.conv(x, w, None, *how), wanted, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(native.conv_weight(x, g, w.shape, *how), wanted_weight, rtol=1e-10, atol=1e-10)
    finally:
        native.conv_only(None)
    assert np.isfinite(wanted[0]).all()
    assert 0 < np.isinf(wanted).sum() <= 32 * 16


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("image", "weight"), [((1, 7, 1, 1), (3, 7, 1, 1)), ((4, 9, 1, 1), (20, 9, 1, 1)),
    ((6, 2, 3, 2), (5, 2, 3, 2)), ((2, 3, 8), (4, 3, 8)), ((2, 2, 2, 3, 2), (3, 2, 2, 3, 2))])
def test_windows_that_are_images_are_products(image: tuple[int, ...], weight: tuple[int, ...], dtype: Any) -> None:
    from wengert.arrays import _kernels as native

    random, axes = np.random.default_rng(0), len(image) - 2
    x, w, b = (random.standard_normal(shape).astype(dtype) for shape in (image, weight, weight[:1]))
    g = random.standard_normal((image[0], weight[0], *(1,) * axes)).astype(dtype)
    how = (1,) * axes, (0,) * axes, (1,) * axes, 1
    rows, columns, grads = x.reshape(len(x), -1), w.reshape(len(w), -1), g[(..., *(0,) * axes)]
    bound: Any = dict(rtol=1e-5, atol=1e-5)
    for given, added in ((x, None), (x, b), (np.asfortranarray(x), b)):
        y = native.conv(given, w, added, *how)
        assert native.conv_chosen()[0] == "product" or given is not x
        assert y.flags.owndata
        np.testing.assert_allclose(y, (rows @ columns.T + (0 if added is None else added)).reshape(g.shape), **bound)
    turned = w[:, ::-1]
    found = native.conv_input(g, turned, x.shape, *how)
    np.testing.assert_allclose(found, (grads @ turned.reshape(len(w), -1)).reshape(x.shape), **bound)
    np.testing.assert_allclose(native.conv_weight(x, g, w.shape, *how), (grads.T @ rows).reshape(w.shape), **bound)
    x[0, 0], x[-1, 1] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        wanted = np.isnan(rows @ columns.T).reshape(g.shape)
        np.testing.assert_array_equal(np.isnan(native.conv(x, w, None, *how)), wanted)


def test_a_way_that_there_is_not() -> None:
    from wengert.arrays import _kernels as native

    with pytest.raises(ValueError, match="no way to compute convolutions: 'fast'"):
        native.conv_only("fast")
    with pytest.raises(ValueError, match="no way to compute convolutions: 3"):
        native.conv_only(3)
