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
    "searchsorted": lambda torch, x: torch.searchsorted(torch.sort(x)[0][:5], torch.tensor([0.7, float("nan"), 9.0]).to(x.dtype)),
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
