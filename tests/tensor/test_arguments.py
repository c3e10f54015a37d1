"""Arguments as operators convert them: numbers given as tensors."""

from __future__ import annotations

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
