"""Orders on both libraries where half precision meets NaN, which counts as the largest number."""

from __future__ import annotations

import numpy as np
import pytest

import wengert

reference = pytest.importorskip("torch")

NUMBERS = [2.0, float("nan"), 1.0, float("nan"), 0.5, 1.0, -3.0]
FUNCTIONS = {
    "sort": lambda torch, x: torch.sort(x),
    "descending": lambda torch, x: torch.sort(x, descending=True, stable=True),
    "topk": lambda torch, x: torch.topk(x, 3)[0],
    "smallest": lambda torch, x: torch.topk(x, 3, largest=False)[0],
    "kthvalue": lambda torch, x: torch.kthvalue(x, 2)[0],
    "median": lambda torch, x: torch.median(x),
    "nanmedian": lambda torch, x: torch.nanmedian(x),
    "nanmedian along": lambda torch, x: torch.nanmedian(x, 0),
    "mode": lambda torch, x: torch.mode(x[4:])[0],
    "unique": lambda torch, x: torch.unique(x),
    "argmax": lambda torch, x: torch.argmax(x),
    "max": lambda torch, x: torch.max(x),
    "searchsorted": lambda torch, x: torch.searchsorted(torch.sort(x)[0][:5],
        torch.tensor([0.7, float("nan"), 9.0]).to(x.dtype)),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_is_the_largest(name, dtype):
    answers = []
    for torch in (wengert, reference):
        found = FUNCTIONS[name](torch, torch.tensor(NUMBERS, dtype=getattr(torch, dtype)))
        found = list(found) if isinstance(found, tuple) else [found]
        answers.append([(str(t.dtype), t.double().numpy()) for t in found])
    for (kind, values), (wanted_kind, wanted) in zip(*answers, strict=True):
        assert kind == wanted_kind
        np.testing.assert_array_equal(values, wanted)


def test_bfloat16_carries_gradients():
    """A cast to half precision is a step of the tape in either half type."""
    for torch in (wengert, reference):
        for kind in (torch.bfloat16, torch.float16):
            x = torch.ones(3, dtype=torch.float64, requires_grad=True)
            y = x.to(kind) * 2
            assert y.requires_grad
            assert y.dtype == kind
            y.sum().backward()
            assert x.grad.tolist() == [2.0] * 3
            assert x.grad.dtype == torch.float64


def test_second_derivative_of_a_norm_at_zero():
    for torch in (wengert, reference):
        x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(torch.linalg.norm(x, 3), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        assert h.tolist() == [0.0] * 3
