"""What PyTorch warns of."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

CALLS = {
    "torch.zeros(3).index_reduce(0, torch.tensor([0]), torch.ones(1), 'prod')": "index_reduce() is in beta and the API may change at any time.",
    "torch.cross(x, x)": "Using torch.cross without specifying the dim arg is deprecated.",
    "torch.cholesky(m)": "torch.cholesky is deprecated in favor of torch.linalg.cholesky",
    "m.cholesky()": "torch.cholesky is deprecated in favor of torch.linalg.cholesky",
    "torch.qr(m)": "torch.qr is deprecated in favor of torch.linalg.qr",
    "torch.triangular_solve(m, m)": "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular",
    "torch.lu(m)": "torch.lu is deprecated in favor of torch.linalg.lu_factor",
    "torch.chain_matmul(m, m)": "torch.chain_matmul is deprecated",
    "F.kl_div(x, x)": "reduction: 'mean' divides the total loss by both the batch size and the support size.",
    "F.dropout2d(torch.ones(3, 3, 3))": "dropout2d: Received a 3D input to dropout2d",
    "F.dropout2d(m)": "dropout2d: Received a 2-D input to dropout2d",
    "F.dropout3d(torch.ones(3, 3, 3))": "dropout3d: Received a 3-D input to dropout3d",
    "torch.where(u, x, x)": "where received a uint8 condition tensor.",
    "x[u]": "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
}
SILENT = ("torch.cross(x, x, dim=0)", "torch.linalg.cholesky(m)", "torch.linalg.qr(m)", "F.kl_div(x, x, reduction='batchmean')",
          "F.dropout2d(torch.ones(1, 3, 3, 3))", "F.dropout1d(torch.ones(3, 3))", "F.dropout3d(torch.ones(1, 3, 3, 3))", "x[u.bool()]",
          "torch.where(u.bool(), x, x)", "torch.linalg.multi_dot([m, m])")  # fmt: skip


def _heard(torch, code):
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(3), "m": torch.eye(3), "u": torch.tensor([1, 0, 1], dtype=torch.uint8)}
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # those of once in a process too
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            eval(code, names)
    finally:
        torch.set_warn_always(before)
    return heard


@pytest.mark.parametrize("code", CALLS)
def test_warns(torch, code):
    (said,) = _heard(torch, code)
    assert said.category is UserWarning and str(said.message).startswith(CALLS[code])


@pytest.mark.parametrize("code", SILENT)
def test_does_not_warn(torch, code):
    assert not _heard(torch, code)


@pytest.mark.parametrize("convert", ["float", "complex"])
def test_a_number_of_a_tensor_that_requires_grad(torch, convert):
    """Once in a process, and never where no graph is recorded."""
    code = f"""
import {torch.__name__} as torch, warnings
y = torch.ones(1, requires_grad=True) * 2
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with torch.no_grad():
        {convert}(y)
    {convert}(y.detach()), int(y), y.item()
    print([str(w.message) for w in seen])
    {convert}(y), {convert}(y)
    print(len(seen), str(seen[0].message).split(chr(10))[0])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0] == "[]"
    assert said[1] == "1 Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior."
