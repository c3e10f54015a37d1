"""Places of small arrays: where a mask is true, the numbers there, and sums at places."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from wengert.ops.operator import TABLE

SHAPES = [(0,), (1,), (7,), (8, 8), (3, 1, 5), (2, 0, 3), (1, 1), (64, 64), (65, 64), (2, 3, 4, 5)]


KINDS = [torch.float32, torch.float64, torch.int64, torch.int32, torch.bfloat16, torch.complex64]


@pytest.mark.parametrize("dtype", [torch.bool, *KINDS])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nonzero(shape, dtype):
    x = (torch.randint(-1, 2, shape)).to(dtype)
    for a in (x, x.transpose(0, -1), x[::2]):
        expected = np.argwhere(a.to(torch.complex64).numpy())
        found = torch.nonzero(a)
        assert found.dtype == torch.int64 and np.array_equal(found.numpy(), expected)


def test_nonzero_of_nan_and_negative_zero():
    assert torch.tensor([0.0, -0.0, float("nan"), float("inf")]).nonzero().tolist() == [[2], [3]]
    assert torch.zeros(4, 4).nonzero().shape == (0, 2)
    assert torch.ones(()).nonzero().shape == (1, 0)


@pytest.mark.parametrize("dtype", [torch.bool, *KINDS])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_masks(shape, dtype):
    x = torch.randint(-4, 5, shape).to(dtype)
    for depth in range(1, len(shape) + 1):
        mask = torch.rand(shape[:depth]) > 0.5
        found = x[mask]
        assert np.array_equal(found.to(torch.complex128).numpy(), x.to(torch.complex128).numpy()[mask.numpy()])
        assert found.is_contiguous()


def test_gradient_of_a_mask():
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(4, 5) > 0.4
    x[mask].sum().backward()
    assert torch.equal(x.grad, mask.double())


@pytest.mark.parametrize("rows", [[0, 2, 2, -1], [-3, 1], [0], []])
def test_rows(rows):
    index = torch.tensor(rows, dtype=torch.int64)
    for x in (torch.randn(3, 4), torch.randn(4, 3).t(), torch.randn(3, 1, 4), torch.randn(3), torch.randn(3, 4, 2)):
        found, expected = x[index], TABLE["index"].forward(x.numpy(), [index.numpy()])
        assert np.array_equal(found.numpy(), expected)
        assert not rows or found.stride() == tuple(s // 4 for s in expected.strides)
    x = torch.arange(12).reshape(3, 4)
    assert np.array_equal(x[index, index].numpy(), x.numpy()[rows, rows] if rows else np.empty(0, np.int64))


def test_places_out_of_range():
    x = torch.randn(3, 4)
    for bad in (3, -4):
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for dimension 0 with size 3"):
            x[torch.tensor([0, bad])]
        with pytest.raises(IndexError):
            x[torch.tensor([0, bad]), torch.tensor([0, 0])]
    with pytest.raises(IndexError, match="mask"):
        x[torch.ones(2, 4, dtype=torch.bool)]


@pytest.mark.parametrize("dtype", KINDS)
def test_sums_at_places(dtype):
    x = torch.randint(-9, 9, (5, 6)).to(dtype)
    for dim in (0, 1, -1):
        index = torch.randint(0, 4, (4, 5))
        src = torch.randint(-9, 9, (4, 6)).to(dtype)[:, :5]
        for given in (src, src.clone()):
            expected = x.clone()
            for i in range(4):
                for k in range(5):
                    at = (int(index[i, k]), k) if dim == 0 else (i, int(index[i, k]))
                    expected[at] += given[i, k]
            assert torch.equal(x.scatter_add(dim, index, given), expected)
    with pytest.raises(RuntimeError):
        x.scatter_add(0, torch.tensor([[5]]), x)
