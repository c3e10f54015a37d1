"""Every differentiable operator of PyTorch's own table, as far as its second derivative; and how many there are."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.parity import operators
from tests.parity.operators import LEFT_OUT, NO_VALUES, OTHER, Agreement, agreement, entries
from tests.parity.twins import label, ours, torch

SAMPLES = int(os.environ.get("WENGERT_EXAMPLES", "2"))
COUNTS = {"float64": 527, "complex128": 322}
ENTRIES = {name: entries(getattr(torch, name)) for name in COUNTS}

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(("dtype", "name"), [(dtype, name) for dtype, found in ENTRIES.items() for name in found])
def test_agrees(dtype: str, name: str) -> None:
    found = agreement(ENTRIES[dtype][name], getattr(torch, dtype), SAMPLES)
    assert found.steps > 0, "PyTorch takes none of the calls"
    expected = OTHER[name][0] if name in OTHER else found.steps
    assert found.reached == expected, found.why or "further than it is said of it: take it out of OTHER"


@pytest.mark.parametrize("dtype", COUNTS)
def test_as_many_as_ever(dtype: str) -> None:
    assert len(ENTRIES[dtype]) >= COUNTS[dtype]


def test_lists_of_exceptions_are_needed() -> None:
    by_name = {label(op): op for op in operators.op_db}
    for name in LEFT_OUT:
        assert ours(by_name[name]) is None or not agreement(by_name[name], torch.float64, SAMPLES).steps, name
    assert {*NO_VALUES, *OTHER} <= {*by_name}


@pytest.mark.parametrize(
    ("name", "wrong", "reached"),
    [
        ("sin", lambda x: x.cos(), 0),
        ("sin", lambda x: x.detach().sin() + 0 * x, 1),
        ("sin", lambda x: x.sin().detach() + x * x.cos().detach() - (x * x.cos()).detach(), 2),
        ("sin", lambda x: x.sin()[None], 0),
        ("sin", lambda x: x.sin().float(), 0),
    ],
)
def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any, reached: int) -> None:
    monkeypatch.setattr(operators, "ours", lambda op: wrong)
    found: Agreement = agreement(ENTRIES["float64"][name], torch.float64, SAMPLES)
    assert found.reached == reached and found.steps == 3 and found.why
