"""Windows of signals, on both libraries."""

from __future__ import annotations

import numpy as np
import pytest

import wengert

torch = pytest.importorskip("torch")

NAMES = ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 5, 64])
def test_values(name, periodic, length):
    for dtype, close in (("float32", 2e-6), ("float64", 1e-14)):
        mine = getattr(wengert, name)(length, periodic, dtype=getattr(wengert, dtype))
        theirs = getattr(torch, name)(length, periodic, dtype=getattr(torch, dtype))
        assert str(mine.dtype) == str(theirs.dtype) and tuple(mine.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=0, atol=close)


@pytest.mark.parametrize("name", NAMES)
def test_refusals(name):
    for library in (wengert, torch):
        window = getattr(library, name)
        with pytest.raises(RuntimeError, match=f"{name} requires non-negative window_length, got window_length=-1"):
            window(-1)
        with pytest.raises(RuntimeError, match=f"{name} expects floating point dtypes"):
            window(3, dtype=library.int64)
        with pytest.raises(TypeError):
            window(3, no_such_option=1)


def test_parameters():
    for library in (wengert, torch):
        assert library.hann_window(3, requires_grad=True).requires_grad
    np.testing.assert_allclose(wengert.hamming_window(5, True, 0.5, 0.3).numpy(),
        torch.hamming_window(5, True, 0.5, 0.3).numpy(), atol=1e-6)
    np.testing.assert_allclose(wengert.kaiser_window(5, False, beta=8.0).numpy(),
        torch.kaiser_window(5, False, beta=8.0).numpy(), atol=1e-6)
