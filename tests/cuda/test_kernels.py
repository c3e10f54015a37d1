"""The functions of CuPy that take the place of plain definitions, computed by SciPy's of the same names."""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wengert.arrays import kernels


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The kernels of CUDA's arrays, with NumPy and SciPy in CuPy's place."""
    special = pytest.importorskip("scipy.special")
    for name, module in (("cupy", np), ("cupyx", SimpleNamespace(scatter_add=np.add.at)),
            ("cupyx.scipy.special", special)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "wengert.cuda.arrays", raising=False)
    yield import_module("wengert.cuda.arrays").CudaArray.kernels
    sys.modules.pop("wengert.cuda.arrays", None)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_they_are_the_plain_definitions(table: Any, dtype: str) -> None:
    x = np.array([-0.9, -0.3, 0.0, 0.2, 0.7], dtype)
    for name in sorted(table.keys() - {"add_at"}):
        given = np.abs(x) + dtype_step(dtype) if name in ("digamma", "lgamma", "ndtri") else x
        arguments = (given + 1, given) if name.endswith("_grad") else (given,)
        found, wanted = table[name](*arguments), kernels.plain(name)(*arguments)
        assert found.dtype == wanted.dtype, name
        np.testing.assert_allclose(found, wanted, rtol=30 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps, err_msg=name)


def dtype_step(dtype: str) -> Any:
    return np.dtype(dtype).type(0.05)


def test_other_types_and_results_go_by_the_plain_definition(table: Any) -> None:
    x = np.ones(3)
    assert table["gelu"](x.astype(np.float16)) is NotImplemented
    assert table["erf"](x, out=np.empty(3)) is NotImplemented
    assert table["gelu_grad"](x, x.astype(np.int64)) is NotImplemented
