"""Every line of ``docs/subgradients.md`` on both libraries, in a plain backward and under ``create_graph``."""

from __future__ import annotations

import importlib
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "subgradients.md"
LINE = re.compile(r"^\| `(?P<expression>[^`]+)` \| `(?P<at>[^`]+)` \| `(?P<gradient>[^`]+)` \|", re.MULTILINE)
ROWS = [m.groups() for m in LINE.finditer(PAGE.read_text(encoding="utf-8"))]
NUMBERS = {"inf": math.inf, "nan": math.nan}


def test_the_page_is_read():
    text = PAGE.read_text(encoding="utf-8")
    assert len(ROWS) == sum(line.startswith(("| `x", "| `torch", "| `F", "| `(")) for line in text.splitlines()) > 100


@pytest.mark.parametrize("create_graph", [False, True], ids=["plain", "create_graph"])
@pytest.mark.parametrize(("expression", "at", "gradient"), ROWS, ids=[f"{e} at {at}" for e, at, _ in ROWS])
@pytest.mark.parametrize("library", ["wengert", "torch"])
def test_line(library, expression, at, gradient, create_graph):
    torch = pytest.importorskip(library)
    x = torch.tensor(eval(at, NUMBERS), dtype=torch.float64, requires_grad=True)
    scope = NUMBERS | {
        "torch": torch, "x": x, "F": importlib.import_module(f"{library}.nn.functional"),
        "t": lambda values: torch.tensor(values, dtype=torch.float64),
        "eye": lambda n: torch.eye(n, dtype=torch.float64),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = eval(expression, scope)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=create_graph)
    np.testing.assert_allclose((g + 0.0).detach().numpy(), np.array(eval(gradient, NUMBERS)), 1e-9, 1e-12)
