"""Calls that PyTorch warns of, and calls that it does not warn of."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy
import pytest

CALLS = {
    "torch.zeros(3).index_reduce(0, torch.tensor([0]), torch.ones(1), 'prod')": "index_reduce() is in beta and the API "
    "may change at any time.",
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
    "F.upsample(i, scale_factor=2)": "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
    "F.upsample_nearest(i, scale_factor=2)": "`nn.functional.upsample_nearest` is deprecated.",
    "F.upsample_bilinear(i, scale_factor=2)": "`nn.functional.upsample_bilinear` is deprecated.",
    "F.grid_sample(i, torch.zeros(1, 2, 2, 2))": "Default grid_sample and affine_grid behavior has changed to "
    "align_corners=False since 1.3.0.",
    "F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 2))": "Default grid_sample and affine_grid behavior has changed",
    "x.new_tensor(x)": "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone()",
    "torch.tensor(x)": "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone()",
    "torch.ones(1, 2, 3).T": "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
    "deprecated",
    "torch.meshgrid(x, x)": "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
    "argument.",
    "torch.stft(torch.ones(20), 8, return_complex=True)": "A window was not provided. A rectangular window will be "
    "applied,which is known",
    "torch.cov(torch.ones(1, 1))": "cov(): degrees of freedom is <= 0. Correction should be strictly less than the "
    "number of observations.",
    "torch.ones(1).std()": "std(): degrees of freedom is <= 0.",
    "torch.add(x, 1, out=torch.ones(2))": "An output with one or more elements was resized since it had shape [2], "
    "which does not match the required output shape [3].",
    "torch.from_numpy(numpy.broadcast_to(1.0, (3,)))": "The given NumPy array is not writable, and PyTorch does not "
    "support non-writable tensors.",
    "torch.frombuffer(b'12345678', dtype=torch.uint8)": "The given buffer is not writable, and PyTorch does not "
    "support non-writable tensors.",
    "torch.tensor([numpy.ones(2)])": "Creating a tensor from a list of numpy.ndarrays is extremely slow.",
    "m[[[0, 1], [1, 2]]]": "Using a non-tuple sequence for multidimensional indexing is deprecated",
    "F.conv2d(i, i, padding='same')": "Using padding='same' with even kernel lengths and odd dilation may require a "
    "zero-padded copy",
    "m.scatter(0, torch.zeros(1, 2, dtype=torch.int64), m, reduce='add')": "The reduce argument of torch.scatter with "
    "Tensor src is deprecated",
    "F.gumbel_softmax(x, eps=1e-5)": "`eps` parameter is deprecated and has no effect.",
    "F.mse_loss(m, x)": "Using a target size (torch.Size([3])) that is different to the input size (torch.Size([3, "
    "3])).",
    "F.l1_loss(x, x, size_average=False)": "size_average and reduce args will be deprecated, please use "
    "reduction='sum' instead.",
    "torch.range(0, 3)": "torch.range is deprecated and will be removed in a future release",
    "F.softmax(x)": "Implicit dimension choice for softmax has been deprecated.",
    "torch.ones(2, dtype=torch.complex64).float()": "Casting complex values to real discards the imaginary part",
    "x[u]": "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
}
SILENT = ("m.T", "torch.meshgrid(x, x, indexing='ij')", "torch.add(x, 1, out=torch.empty(0))", "m[[0, 1]]",
    "m[([0, 1], [1, 2])]",
          "F.mse_loss(x, x)", "F.grid_sample(i, torch.zeros(1, 2, 2, 2), align_corners=False)",
          "m.scatter(0, torch.zeros(1, 2, dtype=torch.int64), 1.0, reduce='add')",
          "torch.cross(x, x, dim=0)", "torch.linalg.cholesky(m)", "torch.linalg.qr(m)",
          "F.kl_div(x, x, reduction='batchmean')", "F.dropout2d(torch.ones(1, 3, 3, 3))",
          "F.dropout1d(torch.ones(3, 3))", "F.dropout3d(torch.ones(1, 3, 3, 3))", "x[u.bool()]",
          "torch.where(u.bool(), x, x)", "torch.linalg.multi_dot([m, m])")


def _heard(torch, code):
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(3), "m": torch.eye(3),
        "u": torch.tensor([1, 0, 1], dtype=torch.uint8),
             "i": torch.ones(1, 1, 2, 2), "numpy": numpy}
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # those of once in a process too
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", RuntimeWarning)
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


def test_a_warning_names_the_users_line(torch):
    said = (
        _heard(torch, "F.kl_div(x, x)\n") + _heard(torch, "m[[[0, 1], [1, 2]]]") + _heard(torch, "torch.ones(1).std()"))
    assert {w.filename for w in said} == {"<string>"}
