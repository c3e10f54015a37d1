"""Every operator gives under a profile what it gives without one, forward and backward, and is seen."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from tests.ops.test_declared import SAMPLES, arguments, call, leaves
from wengert.autograd.profiler import profile


def outcome(name, number):
    torch.manual_seed(0)
    args, options = arguments(name, number)
    outs = call(name, args, options)
    flat = [t for t in (outs if isinstance(outs, (list, tuple)) else [outs]) if isinstance(t, torch.Tensor)]
    total = sum((t.abs() if t.is_complex() else t).sum() for t in flat
        if (t.requires_grad and t.dtype.is_floating_point) or t.is_complex())
    if isinstance(total, torch.Tensor) and total.requires_grad:
        total.backward()
    return (
        [np.asarray(t.detach().numpy()) for t in flat] + [
            np.asarray(t.grad) for t in leaves(args, options) if t.grad is not None])


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_under_a_profile(name):
    for number in range(len(SAMPLES[name])):
        plain = outcome(name, number)
        with profile(record_shapes=True) as prof:
            profiled = outcome(name, number)
        assert len(plain) == len(profiled)
        for a, b in zip(plain, profiled):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        assert any(e.name.startswith("aten::") for e in prof.function_events)
