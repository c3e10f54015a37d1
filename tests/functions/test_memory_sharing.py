"""Memory that tensors share, leave behind, or show before anything is written."""

from __future__ import annotations

import importlib
import math

import pytest


def test_dlpack_shares_memory_both_ways(torch):
    dlpack = importlib.import_module(f"{torch.__name__}.utils.dlpack")
    t = torch.arange(4)
    torch.from_dlpack(t)[:2] = -1
    torch.from_dlpack(dlpack.to_dlpack(t))[2] = -9
    assert t.tolist() == [-1, -1, -9, 3]


def test_asarray_and_history(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + 2
    assert torch.asarray(y).grad_fn is not None
    assert torch.asarray(y, requires_grad=True).grad_fn is not None
    assert not torch.asarray(y, requires_grad=False).requires_grad
    assert not torch.asarray(x, requires_grad=False).requires_grad
    plain = torch.ones(2)
    assert torch.asarray(plain, requires_grad=True) is plain
    assert plain.requires_grad


@pytest.fixture
def deterministic(torch):
    settings = importlib.import_module(f"{torch.__name__}.utils.deterministic")
    torch.use_deterministic_algorithms(True)
    try:
        yield settings
    finally:
        settings.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)


def test_fresh_memory_stands_out_where_results_shall_not_vary(torch, deterministic):
    a = torch.ones(3)
    for fresh in (torch.empty(2), torch.empty_like(a), a.new_empty(2), torch.empty_strided((2,), (1,)),
            torch.ones(1).resize_(3)[1:]):
        assert all(math.isnan(v) for v in fresh.tolist())
    assert torch.empty(2, dtype=torch.int64).tolist() == [2**63 - 1] * 2
    assert torch.empty(2, dtype=torch.bool).tolist() == [True, True]
    deterministic.fill_uninitialized_memory = False
    assert not deterministic.fill_uninitialized_memory
    if torch.__name__ == "wengert":  # what memory holds that nobody fills cannot be told from outside
        assert not importlib.import_module("wengert.arrays.fresh").fills


@pytest.mark.parametrize(("mode", "warn", "told"), [(False, False, 0), (True, True, 1), (True, False, 2)])
def test_what_was_told_of_determinism(torch, mode, warn, told):
    try:
        torch.use_deterministic_algorithms(mode, warn_only=warn)
        assert torch.get_deterministic_debug_mode() == told
        assert torch.is_deterministic_algorithms_warn_only_enabled() == warn
    finally:
        torch.use_deterministic_algorithms(False)


def test_the_order_of_dimensions_may_be_ambiguous(torch):
    one, plain = torch.empty(1, 2, 3, 4), torch.empty(2, 3, 4, 5)
    assert one.dim_order() == plain.dim_order(ambiguity_check=True) == (0, 1, 2, 3)
    assert one.dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 1, 2, 3)
    for check in (True, [torch.channels_last]):
        with pytest.raises(RuntimeError, match="does not have unique dim order"):
            one.dim_order(ambiguity_check=check)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        one.dim_order(ambiguity_check="yes")


def test_a_tensor_on_a_file(torch, tmp_path):
    path, numbers = tmp_path / "numbers", torch.arange(4, dtype=torch.float64)
    numbers.numpy().tofile(path)
    own = torch.from_file(str(path), size=4, dtype=torch.float64)
    own[0] = 7
    assert torch.from_file(str(path), size=2, dtype=torch.float64).tolist() == [0, 1]
    theirs = torch.from_file(str(path), shared=True, size=6, dtype=torch.float64)
    theirs[1] = 9
    assert torch.from_file(str(path), size=6, dtype=torch.float64).tolist() == [0, 9, 2, 3, 0, 0]
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
        torch.from_file(str(path), size=100)
    with pytest.raises(RuntimeError, match="unable to open file .* No such file"):
        torch.from_file(str(tmp_path / "nothing"), size=1)


def test_saved_without_data(torch, tmp_path):
    serialization = importlib.import_module(f"{torch.__name__}.serialization")
    with serialization.skip_data():
        torch.save({"a": torch.ones(3), "b": torch.arange(2)}, tmp_path / "empty.pt")
    found = torch.load(tmp_path / "empty.pt")
    assert found["a"].tolist() == [0, 0, 0]
    assert found["b"].tolist() == [0, 0]
