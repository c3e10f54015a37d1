"""Pictures of bytes are resized with fixed-point weights: every byte is PyTorch's."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import wengert

torch = pytest.importorskip("torch")

KINDS = [("bilinear", align, antialias) for align in (False, True) for antialias in (False, True)]
KINDS += [("bicubic", align, antialias) for _, align, antialias in KINDS] + [("lanczos", None, True)]


def picture(shape, seed):
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize("mode, align, antialias", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_every_byte(mode, align, antialias, seed):
    draw = random.Random(f"{mode}{align}{antialias}{seed}")
    for _ in range(12):
        shape = draw.choice((1, 2)), draw.choice((1, 2, 3, 4, 5, 8)), draw.randint(1, 20), draw.randint(2, 20)
        if draw.random() < 0.5:
            wanted = {"size": (draw.randint(1, 30), draw.randint(2, 30))}
        else:
            wanted = {"scale_factor": [draw.choice((0.5, 1.0, 1.01, 1.7, 2.0, 3.3)) for _ in range(2)]}
            if any(math.floor(n * f) < least for n, f, least in zip(shape[2:], wanted["scale_factor"], (1, 2))):
                continue
            wanted["recompute_scale_factor"] = draw.choice((None, True))
        x = picture(shape, seed)
        options = {**wanted, "mode": mode, "align_corners": align, "antialias": antialias}
        theirs = torch.nn.functional.interpolate(torch.from_numpy(x), **options)
        mine = wengert.nn.functional.interpolate(wengert.from_numpy(x), **options)
        assert mine.dtype == wengert.uint8
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), err_msg=f"{shape} {options}")
        innermost = wengert.from_numpy(x).to(memory_format=wengert.channels_last)
        np.testing.assert_array_equal(wengert.nn.functional.interpolate(innermost, **options).numpy(), mine.numpy())


def test_one_column():
    """One column of more than four channels: PyTorch takes another picture's bytes, and contradicts itself."""
    x = picture((1, 8, 12, 6), 0)
    options = {"size": (5, 1), "mode": "bicubic", "antialias": True}
    resize = torch.nn.functional.interpolate
    channels = [resize(torch.from_numpy(x[:, c : c + 1].copy()), **options).numpy() for c in range(8)]
    mine = wengert.nn.functional.interpolate(wengert.from_numpy(x), **options).numpy()
    np.testing.assert_array_equal(mine, np.concatenate(channels, 1))
    assert (resize(torch.from_numpy(x), **options).numpy() != mine).any(), "PyTorch agrees by now: test it above"


@pytest.mark.parametrize("shape, mode", [((2, 3, 7), "linear"), ((2, 3, 4, 5, 6), "trilinear")])
def test_other_dimensions_are_refused(shape, mode):
    for library in (wengert, torch):
        with pytest.raises(NotImplementedError, match="\"compute_indices_weights_linear\" not implemented for 'Byte'"):
            library.nn.functional.interpolate(library.zeros(shape, dtype=library.uint8), scale_factor=2.0, mode=mode)


def test_mapped():
    x = wengert.from_numpy(picture((3, 2, 4, 7, 9), 1))
    resize = lambda x: wengert.nn.functional.interpolate(x, size=(5, 12), mode="bilinear", antialias=True)  # noqa: E731
    assert wengert.func.vmap(resize)(x).equal(wengert.stack([resize(part) for part in x]))
