"""Every operator of the table on tensors of the device ``meta``: results look as those of the same call with numbers,
and so do gradients.
"""

from __future__ import annotations

import pytest

import wengert as torch
from tests.exceptions import excused
from wengert.tensor.functions import function

from .test_declared import SAMPLES, arguments

# What it gives, or whether it gives anything, depends on numbers; and what is made of no tensor.
NUMBERS = {"nonzero", "masked_select", "argwhere", "equal", "allclose", "repeat_interleave", "bincount", "unique_dim",
           "repeat_interleave_each", "histogram", "histogramdd", "cov", "gaussian_nll_loss", "tensor_split",
           "segment_reduce", "masked_scatter", "index_fill_tensor", "fft_fftfreq", "fft_rfftfreq"}
NAMES = sorted(n for n in SAMPLES if SAMPLES[n] and n not in NUMBERS)


def moved(v):
    if isinstance(v, torch.Tensor):
        return v.detach().to("meta").requires_grad_(v.requires_grad)
    return type(v)(map(moved, v)) if type(v) in (list, tuple) else v


def tensors(values):
    found = []
    for v in values:
        found += tensors(v) if isinstance(v, (list, tuple)) else [v] if isinstance(v, torch.Tensor) else []
    return found


def looks(t):
    return tuple(t.shape), t.dtype, [s for s, n in zip(t.stride(), t.shape) if n != 1], t.requires_grad


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_results_and_gradients_look_alike(name):
    for i in range(len(SAMPLES[name])):
        check(name, i)


@pytest.mark.parametrize("name", sorted(NUMBERS & set(SAMPLES)))
@pytest.mark.filterwarnings("ignore")
def test_what_depends_on_numbers_needs_them(name):
    with excused("NUMBERS", Exception):
        for i in range(len(SAMPLES[name])):
            check(name, i)


def check(name, i):
    args, options = arguments(name, i)
    if any(t.is_sparse or t.layout is not torch.strided for t in tensors([*args, *options.values()])):
        return
    ghosts, named = [moved(a) for a in args], {k: moved(v) for k, v in options.items()}
    expected, found = tensors([function(name)(*args, **options)]), tensors([function(name)(*ghosts, **named)])
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.is_meta, f"sample {i}"
        assert looks(a) == looks(b), f"sample {i}"
    leaves = [t for t in tensors([*args, *options.values()]) if t.requires_grad]
    shadows = [t for t in tensors([*ghosts, *named.values()]) if t.requires_grad]
    ends = [j for j, t in enumerate(expected) if t.grad_fn is not None]
    if not ends or not leaves:
        return
    real = torch.autograd.grad([expected[j] for j in ends], leaves, [torch.ones_like(expected[j]) for j in ends],
        allow_unused=True)
    ghostly = torch.autograd.grad([found[j] for j in ends], shadows, [torch.ones_like(found[j]) for j in ends],
        allow_unused=True)
    for a, b in zip(ghostly, real):
        assert (a is None) == (b is None), f"sample {i}"
        assert a is None or (a.is_meta and a.shape == b.shape and a.dtype == b.dtype), f"sample {i}"
