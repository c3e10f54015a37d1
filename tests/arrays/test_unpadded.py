"""The gradient of padding by a kernel, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.arrays import kernels
from wengert.arrays.plain import layout

native = getattr(getattr(kernels, "_native", None), "_kernels", None)


@pytest.mark.parametrize("mode", [1, 2, 3])
@pytest.mark.parametrize("before,after", [(0, 0), (0, 2), (3, 0), (2, 1)])
def test_adds_up_what_was_padded(mode, before, after):
    n = 5
    for axis in range(3):
        shape = [2, 3, 4]
        shape[axis] = n + before + after
        for type_ in (np.float32, np.float64):
            g = np.random.default_rng(0).standard_normal(shape).astype(type_)
            want = layout.unpadded(g, axis, n, before, mode)
            x = np.arange(n)
            places = np.pad(x, (before, after), mode={1: "reflect", 2: "edge", 3: "wrap"}[mode])
            np.testing.assert_allclose(want.sum(), g.sum(), rtol=1e-4)
            for i in range(n):
                np.testing.assert_allclose(want.take(i, axis), g.compress(places == i, axis).sum(axis), rtol=1e-4,
                    atol=1e-6)
            assert np.array_equal(kernels.unpadded(g, axis, n, before, mode), want)
            if hasattr(native, "unpadded"):
                assert np.array_equal(native.unpadded(g, axis, n, before, mode), want)


@pytest.mark.skipif(not hasattr(native, "unpadded"), reason="the extension was not built")
def test_leaves_the_rest_to_the_definition():
    g = np.ones((4, 7), np.float32)
    assert native.unpadded(g.T, 0, 5, 1, 1) is NotImplemented
    assert native.unpadded(g.astype(np.int64), 1, 5, 1, 1) is NotImplemented
    assert native.unpadded(g, 1, 8, 1, 1) is NotImplemented
