"""Arguments as operators convert them: numbers given as tensors, flags."""

from __future__ import annotations

import pytest

from tests.makers import cases, refuses, scalar_leaf


@cases([
    ("alpha", lambda torch: torch.add(torch.ones(2), torch.ones(2), alpha=scalar_leaf(torch)), TypeError,
        "must be Number, not Tensor"),
    ("full", lambda torch: torch.full((2,), scalar_leaf(torch)), TypeError,
        "full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("full_like", lambda torch: torch.full_like(torch.ones(2), scalar_leaf(torch)), TypeError,
     "full_like(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("new_full", lambda torch: torch.ones(2).new_full((2,), scalar_leaf(torch)), TypeError,
     "new_full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("a row", lambda torch: torch.full((2,), torch.ones(1)), TypeError,
        "full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("arange", lambda torch: torch.arange(scalar_leaf(torch)), TypeError, "must be Number, not Tensor"),
])
def test_a_recorded_tensor_is_no_number(torch, run, error, message):
    """Its history would be lost without a word."""
    refuses(torch, run, error, message)


def test_an_unrecorded_tensor_is_a_number(torch):
    number = torch.tensor(3.0)
    assert torch.full((2,), number).tolist() == [3.0, 3.0]
    assert torch.add(torch.ones(2), torch.ones(2), alpha=number).tolist() == [4.0, 4.0]
    assert torch.arange(number).tolist() == [0.0, 1.0, 2.0]


FLAGS = (
    "torch.sum(x, dim=0, keepdim={})", "torch.sum(x, 0, {})", "x.amax(0, keepdim={})", "torch.sort(x, descending={})",
    "torch.gather(x, 0, i, sparse_grad={})", "torch.var(x, 0, keepdim={})", "F.max_pool1d(y, 2, ceil_mode={})",
    "F.avg_pool1d(y, 2, count_include_pad={})", "torch.quantile(x, 0.5, 0, keepdim={})",
)


@pytest.mark.parametrize("call", FLAGS)
@pytest.mark.parametrize("value", ["'yes'", "3", "1.5", "[True]", "None"])
def test_flags_are_bools(torch, call, value):
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.rand(2, 3), "y": torch.rand(1, 2, 6),
        "i": torch.zeros(1, 3, dtype=torch.int64)}
    eval(call.format(True), names)
    with pytest.raises(TypeError, match=r"argument '\w+'( \(position \d\))? must be bool, not \w+|invalid combination"):
        eval(call.format(value), names)
