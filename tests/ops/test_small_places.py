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


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_of_other_orders(shape):
    """Of transposed and strided tensors, with dimensions added and of one: as NumPy, and in PyTorch's order."""
    x = torch.randn(*shape)
    views = [x, x.transpose(0, -1), x[..., None], x[:, None], x[None]] + ([x[..., ::2]] if len(shape) > 1 else [])
    for a in views:
        n = a.shape[0]
        index = torch.tensor([0, n - 1, -1, 0][: 4 if n else 0], dtype=torch.int64)
        for rows in (index, torch.stack([index, index], 1)[:, 0]):
            found, expected = a[rows], TABLE["index"].forward(a.numpy(), [rows.numpy()])
            assert np.array_equal(found.numpy(), expected)
            if found.numel():
                assert found.stride() == tuple(s // 4 for s in expected.strides)


@pytest.mark.parametrize("key", ["i, None", "None, i", "i, :, None", "i, None, 1", "1, None, i", "None, i, 1:",
    "i, None, ..., 0", "None, None, i, i", "i, None, [0, 1, 1]"])
def test_keys_with_new_dimensions(key):
    x, i = torch.arange(60.0).reshape(3, 4, 5), torch.tensor([0, 2, 1])
    given = eval(f"np.s_[{key}]", {"np": np, "i": i})
    # PyTorch takes integers and slices first
    plain = np.arange(60.0).reshape(3, 4, 5)
    basic = tuple(slice(None) if isinstance(k, (torch.Tensor, list)) else k for k in given)
    places = [k for k in given if not isinstance(k, int) and k is not Ellipsis]
    advanced = tuple(k.numpy() if isinstance(k, torch.Tensor) else k if isinstance(k, list) else slice(None)
        for k in places)
    expected = plain[basic][advanced]
    assert x[given].tolist() == expected.tolist()
    y = x.clone()
    y[given] = -1.0
    plain[basic][advanced] = -1.0
    assert y.tolist() == plain.tolist()
    z = x.double().requires_grad_()
    z[given].sum().backward()
    count = np.zeros((3, 4, 5))
    np.add.at(count[basic], advanced, 1.0)
    assert z.grad.tolist() == count.tolist()


def test_too_many_keys_with_new_dimensions():
    x = torch.zeros(2, 2)
    with pytest.raises(IndexError, match="too many indices"):
        x[torch.tensor([0]), None, 0, 0]
    with pytest.raises(IndexError):
        x[torch.tensor([2]), None]


def test_numbers_are_written_at_lists_and_masks():
    x = torch.arange(6.0).reshape(3, 2)
    version = x._version
    x[[0, 2]] = 7.0
    assert x.tolist() == [[7, 7], [2, 3], [7, 7]] and x._version == version + 1
    x[x > 5] = torch.tensor(1.5)
    assert x.tolist() == [[1.5, 1.5], [2, 3], [1.5, 1.5]] and x._version == version + 2
    with pytest.raises(IndexError):
        x[[3]] = 1.0
    leaf = torch.zeros(3, requires_grad=True)
    y = leaf * 1
    y[[1]] = 5.0
    y.sum().backward()
    assert leaf.grad.tolist() == [1, 0, 1]


@pytest.mark.parametrize("size", [(5, 4), (70, 130), (200, 150)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.bfloat16])
def test_scatters_in_place(size, dtype):
    """As the forms that are not in place, of few numbers and many; a wrong place changes nothing."""
    x, src = (torch.randint(0, 2 if dtype is torch.bool else 50, size).to(dtype) for _ in range(2))
    for dim in (0, 1):
        index = torch.randint(0, size[dim], size)
        for name, given in (("scatter", src), ("scatter", 1), ("scatter_add", src)):
            if name == "scatter_add" and dtype in (torch.bool, torch.bfloat16):
                continue
            y, version = x.clone(), x.clone()._version
            assert getattr(y, name + "_")(dim, index, given) is y
            assert torch.equal(y, getattr(x, name)(dim, index, given)) and y._version == version + 1
        part = index[:3, :2]
        assert torch.equal(x.clone().scatter_(dim, part, src), x.scatter(dim, part, src))
        wrong = index.clone()
        wrong[-1, -1] = size[dim]
        y = x.clone()
        with pytest.raises(RuntimeError, match="out of bounds"):
            y.scatter_(dim, wrong, src)
        assert torch.equal(y, x)


def test_recorded_scatters_in_place():
    leaf, src = torch.ones(3, 4, requires_grad=True), torch.full((3, 4), 2.0, requires_grad=True)
    index = torch.tensor([[0, 1, 1, 0]])
    y = leaf * 2
    y.scatter_(0, index, src)
    y.scatter_add_(0, index, src)
    (y * y).sum().backward()
    assert leaf.grad.tolist() == [[0, 8, 8, 0], [8, 0, 0, 8], [8, 8, 8, 8]]
    assert src.grad.tolist() == [[16, 16, 16, 16], [0] * 4, [0] * 4]
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.scatter_(0, torch.tensor([3, 2, 1, 0]), x)


@pytest.mark.parametrize("size", [(7,), (5, 4), (70, 130)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool, torch.bfloat16])
def test_masked_writes(size, dtype):
    x, mask = torch.randint(0, 2, size).to(dtype), torch.rand(size) > 0.5
    source = torch.randint(0, 2, (mask.numel() + 3,)).to(dtype)
    n = int(mask.sum())
    expected = x.clone()
    expected[mask] = source[:n]
    y = x.clone()
    assert torch.equal(x.masked_scatter(mask, source), expected)
    assert y.masked_scatter_(mask, source) is y and torch.equal(y, expected) and y._version == 1
    assert torch.equal(x.clone().masked_scatter_(mask, source[:n]), expected)
    y = x.clone()
    with pytest.raises(RuntimeError, match="Number of elements of source < number of ones in mask"):
        y.masked_scatter_(torch.ones_like(mask), source[: mask.numel() - 1])
    assert torch.equal(y, x)
    if dtype.is_floating_point:
        filled = torch.where(mask, torch.tensor(0.25, dtype=dtype), x)
        assert torch.equal(x.masked_fill(mask, 0.25), filled)
        assert torch.equal(x.clone().masked_fill_(mask, 0.25), filled)
        with pytest.raises(RuntimeError, match="without overflow"):
            x.float().masked_fill(mask, 1e300)
        assert x.masked_fill(mask, float("inf"))[mask].isinf().all()


def test_places_in_wide_ranges():
    """The check of places, at its limits."""
    from wengert.arrays import kernels as K

    for low, high in ((0, 4), (-5, 4), (3, 3), (4, 3), (-9, -2), (-(2**62), 2**62)):
        for places in ([0, 4], [-5, 4], [5], [-6], [2**63 - 1], [-(2**63)], [low], [high], []):
            wanted = all(low <= p <= high for p in places)
            assert bool(K.within(np.array(places, np.int64), low, high)) == wanted, (low, high, places)


@pytest.mark.parametrize("shape", [(3, 4), (3, 1), (70, 90), (3, 4, 5), (2, 3, 1, 4), (2, 3, 4, 5), (1, 6)])
def test_places_behind_whole_dimensions(shape):
    """As NumPy, in PyTorch's order; also of what lies otherwise, and with a wrong place."""
    x = torch.randn(*shape)
    for a in (x, x.transpose(0, -1), x.transpose(0, 1), x[..., None], x.flip(0)[::2], x.expand(2, *shape)):
        for d in range(a.ndim):
            n = a.shape[d]
            index = torch.tensor([0, n - 1, -1, 0])
            for rows in (index, torch.stack([index, index], 1)[:, 0]):
                key = (slice(None),) * d + (rows,)
                expected = TABLE["index"].forward(a.numpy(), [*[None] * d, rows.numpy()])
                found = a[key]
                assert np.array_equal(found.numpy(), expected)
                assert found.stride() == tuple(s // 4 for s in expected.strides), (a.stride(), d)
            places = torch.tensor([0, n - 1, 0])
            selected = torch.index_select(a, d, places)
            assert torch.equal(selected, a[(slice(None),) * d + (places,)]) and selected.is_contiguous()
            with pytest.raises(IndexError):
                a[(slice(None),) * d + (torch.tensor([n]),)]
            with pytest.raises((IndexError, RuntimeError)):
                torch.index_select(a, d, torch.tensor([n]))
        places = torch.tensor([[0, -1], [a.numel() - 1, -a.numel()]])
        assert torch.equal(torch.take(a, places), a.contiguous().reshape(-1)[places])
        with pytest.raises(IndexError):
            torch.take(a, torch.tensor([a.numel()]))
