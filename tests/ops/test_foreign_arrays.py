"""Operators on foreign arrays: the same numbers as on NumPy's, and no silent copies."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .samples import SAMPLES

#: Operators that run on copies in NumPy: the only ones.
LEAVE = """
    adaptive_max_windows avg_pool_windows block_diag cholesky_solve clone cofactor complex diagonal_scatter digamma
    erf erfc erfinv fractional_windows gelu gelu_grad i0 igamma igammac index_add index_copy index_fill
    index_fill_tensor index_pick index_select index_total lerp_tensor lgamma linalg_cross linalg_ldl_factor
    linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_solve_triangular
    lu_unpack masked_fill masked_fill_tensor masked_scatter max_pool_windows mode mvlgamma nll_spread pad_circular1
    pad_circular2 pad_circular3 pad_reflect1 pad_reflect2 pad_reflect3 pad_replicate1 pad_replicate2 pad_replicate3
    polar polygamma put repeat_places rot90 scatter scatter_add scatter_pick scatter_total scatter_value
    segment_reduce select_scatter slice_scatter special_erfcx special_i0e special_i1 special_i1e special_log_ndtr
    special_ndtri
"""


@cache
def sweep() -> Any:
    program = Path(__file__).with_name("foreign_sweep.py")
    return json.loads(subprocess.run([sys.executable, program], check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_agrees_with_numpy(name: str) -> None:
    assert sweep()[name]["failures"] == []


def test_operators_that_leave_the_device() -> None:
    assert {name for found in sweep().values() for name in found["left"]} == set(LEAVE.split())
