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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_means_of_whole_slices(dim, include_self, dtype):
    """An index expanded from one line names slices: the same as when it is a whole array."""
    x = torch.randint(-9, 9, (5, 4, 6)).to(dtype)
    line = torch.tensor([2, 0, 2, 3, 2, 0, 3])
    shape = [7 if i == dim else n for i, n in enumerate(x.shape)]
    one_line = [7 if i == dim else 1 for i in range(3)]
    index = line.reshape(one_line).expand(shape)
    src = torch.randint(-9, 9, shape).to(dtype)
    given = (dim, index.clone(), src, "mean")
    expected = x.scatter_reduce(*given, include_self=include_self)
    assert torch.equal(x.scatter_reduce(dim, index, src, "mean", include_self=include_self), expected)
    for shift in (-1, 4):
        outside = (line + shift).reshape(one_line).expand(shape)
        with pytest.raises(RuntimeError, match="out of bounds"):
            x.scatter_reduce(dim, outside, src, "mean")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int8, torch.bool, torch.complex64])
def test_places_with_gaps(dtype):
    x = torch.randint(0, 9, (6, 7, 5)).to(dtype)
    y = torch.randint(-5, 5, (8, 12))
    first, second, third = y.clamp(-5, 4)[:, 3], y[:, 5], y[:, 1]
    a, i, j, k = (t.numpy() for t in (x, first, second, third))
    for found, expected in (
        (x[first, second], a[i, j]), (x[first, second, third], a[i, j, k]), (x[first, 2, third], a[i, 2, k]),
        (x.permute(2, 0, 1)[third, first], a.transpose(2, 0, 1)[k, i]),
        (x.permute(2, 0, 1)[third, first, second], a.transpose(2, 0, 1)[k, i, j]),
        (x[1:, ::2][second.clamp(-3, 2), third.clamp(-2, 3)], a[1:, ::2][j.clip(-3, 2), k.clip(-2, 3)]),
        (x[0].expand(3, 7, 5)[first.clamp(-3, 2), second, third],
            np.broadcast_to(a[0], (3, 7, 5))[i.clip(-3, 2), j, k]),
    ):
        assert found.dtype == dtype
        assert found.is_contiguous()
        assert np.array_equal(found.numpy(), expected)
    with pytest.raises(IndexError, match="out of bounds"):
        x[first, second, third + 6]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignored", [-100, 1, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_classes_that_do_not_count(reduction, ignored, dtype):
    x = torch.randn(9, 4, dtype=dtype, requires_grad=True)
    target = torch.randint(0, 4, (9, 3))
    target[::2, 1] = ignored
    found = torch.nn.functional.cross_entropy(x, target[:, 1], ignore_index=ignored, reduction=reduction)
    expected = torch.nn.functional.nll_loss(x.log_softmax(1), target[:, 1].clone(), ignore_index=ignored,
        reduction=reduction)
    torch.testing.assert_close(found, expected)
    weights = torch.randn(found.shape, dtype=dtype)
    first = [torch.autograd.grad((loss * weights).sum(), x, create_graph=True)[0] for loss in (found, expected)]
    torch.testing.assert_close(*first)
    torch.testing.assert_close(*[torch.autograd.grad(g.square().sum(), x)[0] for g in first])


def test_rows_that_do_not_count_and_are_not_finite():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[1.0, 2.0], [inf, 0.0], [nan, 1.0], [0.0, -inf], [-inf, -inf]], requires_grad=True)
    loss = torch.nn.functional.cross_entropy(x, torch.tensor([1, -100, -100, -100, -100]))
    loss.backward()
    assert loss.item() == pytest.approx(np.log1p(np.exp(-1)), rel=1e-6)
    assert x.grad[3].tolist() == [0, 0]
    assert x.grad[[1, 2, 4]].isnan().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_pictures_of_classes_are_rounded_once(dtype):
    x = torch.randn(2, 5, 3, 4).to(dtype)
    target = torch.randint(0, 5, (2, 3, 4))
    for reduction in ("mean", "sum"):
        found, expected = (torch.autograd.grad(
            torch.nn.functional.cross_entropy(leaf, target, reduction=reduction), leaf)[0]
            for leaf in (x.clone().requires_grad_(), x.float().requires_grad_()))
        assert found.dtype == dtype
        assert torch.allclose(found.float(), expected, rtol=2 * torch.finfo(dtype).eps, atol=2e-4)
