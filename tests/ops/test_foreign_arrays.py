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
    adaptive_max_windows cholesky_solve cofactor fractional_windows igamma igammac lgamma
    linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor linalg_lu_factor_ex
    linalg_lu_solve linalg_solve_triangular lu_unpack mode polygamma repeat_places
    segment_reduce segment_shares
"""


#: Of results that are determined up to signs; of numbers that go by way of float32.
LOOSE_ON_CUDA = {"linalg_svd", "poisson_nll_loss"}


@cache
def sweep(*device: str) -> Any:
    program = Path(__file__).with_name("foreign_sweep.py")
    return json.loads(subprocess.run([sys.executable, program, *device], check=True, capture_output=True,
        text=True).stdout)


def cuda_devices() -> int:
    """The number of CUDA devices that CuPy sees."""
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:
        return 0


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_agrees_with_numpy(name: str) -> None:
    assert sweep()[name]["failures"] == []


@pytest.mark.cuda
@pytest.mark.skipif(not cuda_devices(), reason="needs CuPy and a CUDA device")
def test_agrees_with_numpy_on_cuda() -> None:
    failures = {name: found["failures"] for name, found in sweep("cuda").items() if found["failures"]}
    assert set(failures) <= LOOSE_ON_CUDA, failures


def test_operators_that_leave_the_device() -> None:
    assert {name for found in sweep().values() for name in found["left"]} == set(LEAVE.split())
