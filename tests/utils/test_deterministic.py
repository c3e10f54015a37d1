"""``torch.utils.deterministic`` and ``use_deterministic_algorithms``."""

from __future__ import annotations

import importlib
import math

import pytest


@pytest.fixture
def deterministic(torch):
    settings = importlib.import_module(f"{torch.__name__}.utils.deterministic")
    torch.use_deterministic_algorithms(True)
    try:
        yield settings
    finally:
        settings.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)


def test_fresh_memory_is_filled_in_deterministic_mode(torch, deterministic):
    a = torch.ones(3)
    for fresh in (torch.empty(2), torch.empty_like(a), a.new_empty(2), torch.empty_strided((2,), (1,)),
            torch.ones(1).resize_(3)[1:]):
        assert all(math.isnan(v) for v in fresh.tolist())
    assert torch.empty(2, dtype=torch.int64).tolist() == [2**63 - 1] * 2
    assert torch.empty(2, dtype=torch.bool).tolist() == [True, True]
    deterministic.fill_uninitialized_memory = False
    assert not deterministic.fill_uninitialized_memory
    if torch.__name__ == "wengert":  # what memory holds that nobody fills cannot be told from outside
        assert not importlib.import_module("wengert.arrays.uninitialized").fills


@pytest.mark.parametrize(("mode", "warn", "told"), [(False, False, 0), (True, True, 1), (True, False, 2)])
def test_deterministic_settings_are_kept(torch, mode, warn, told):
    try:
        torch.use_deterministic_algorithms(mode, warn_only=warn)
        assert torch.get_deterministic_debug_mode() == told
        assert torch.is_deterministic_algorithms_warn_only_enabled() == warn
    finally:
        torch.use_deterministic_algorithms(False)
