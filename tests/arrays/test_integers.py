"""Whole numbers and truth values: sums, extremes and searches are kernels, and broadcasting loops are our own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as torch
from wengert.arrays import kernels as K

native = pytest.importorskip("wengert.arrays._kernels") if K.available else None
needs_native = pytest.mark.skipif(native is None, reason="there is no extension")
KINDS = ["bool", "uint8", "int8", "int16", "int32", "int64"]
SHAPES = [(5,), (1,), (3, 17), (4, 5, 6), (7, 1, 3), (3000,), (5, 2100), (300, 40)]


def numbers(kind, shape, seed=0):
    low, high = (0, 2) if kind == "bool" else (0, 250) if kind == "uint8" else (-100, 100)
    return np.random.default_rng(seed).integers(low, high, shape).astype(kind)


def ways(shape):
    """Every dimension, all of them, and some pairs."""
    return [None, *range(len(shape)), *itertools.combinations(range(len(shape)), 2)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_extremes_are_numpys(kind, shape):
    x = numbers(kind, shape)
    for a, dim in itertools.product((x, np.ascontiguousarray(x.T).T, x[..., ::2]), ways(shape)):
        t = torch.from_numpy(a)
        wanted = a.sum(dim, dtype=np.int64)
        found = t.sum() if dim is None else t.sum(dim)
        assert found.dtype is torch.int64 and (found.numpy() == wanted).all()
        for name in ("amax", "amin"):
            found = getattr(t, name)() if dim is None else getattr(t, name)(dim, keepdim=True)
            wanted = getattr(np, name)(a, dim, keepdims=dim is not None)
            assert found.numpy().dtype == a.dtype and (found.numpy() == wanted).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_places_of_extremes_are_the_first(kind, shape):
    x = numbers(kind, shape)
    for a, dim in itertools.product((x, np.ascontiguousarray(x.T).T), range(len(shape))):
        t = torch.from_numpy(a)
        for name in ("max", "min"):
            values, places = getattr(t, name)(dim)
            assert (values.numpy() == getattr(np, name)(a, dim)).all()
            assert (places.numpy() == getattr(np, f"arg{name}")(a, dim)).all()
        if kind != "bool":
            assert (t.argmax(dim).numpy() == a.argmax(dim)).all()


def test_sums_wrap_around_as_pytorchs():
    assert torch.tensor([[2**63 - 1, 1], [5, 6]]).sum(1).tolist() == [-(2**63), 11]


@needs_native
@pytest.mark.parametrize("kind", KINDS)
def test_integers_are_kernels(kind):
    x = numbers(kind, (4, 5, 6))
    for dim in (0, 1, 2, (0, 2), None):
        assert native.sum(x, dim, False) is not NotImplemented
    assert native.extreme(x, 1, False, False) is not NotImplemented


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
@pytest.mark.parametrize("right", [False, True])
def test_searches_are_numpys(kind, right):
    rng = np.random.default_rng(1)
    side = "right" if right else "left"
    for n, m in itertools.product((1, 2, 3, 7, 8, 24, 33, 100), (1, 3, 50)):
        edges, values = np.sort(rng.integers(0, 20, n)).astype(kind), rng.integers(-2, 22, (2, m)).astype(kind)
        e, v = torch.from_numpy(edges), torch.from_numpy(values)
        wanted = np.searchsorted(edges, values, side)
        assert (torch.searchsorted(e, v, right=right).numpy() == wanted).all()
        assert (torch.bucketize(v, e, right=right).numpy() == wanted).all()
        rows = torch.stack([e, e + 1])
        wanted = np.stack([np.searchsorted(edges + i, row, side) for i, row in enumerate(values)])
        assert (torch.searchsorted(rows, v, right=right).numpy() == wanted).all()


def test_searches_among_nan_and_out_of_order():
    """PyTorch's places: its search compares with the middle of what is left, and nothing is left of NaN."""
    nan = float("nan")
    edges, values = torch.tensor([1.0, nan, 2.0, 3.0]), torch.tensor([1.5, nan, 9.0, 0.0] * 8)
    assert torch.searchsorted(edges, values)[:4].tolist() == [2, 4, 4, 2]
    edges = torch.tensor([3, 1, 2, 5, 4])
    assert torch.searchsorted(edges, torch.arange(7).repeat(4))[:7].tolist() == [0, 0, 2, 3, 3, 5, 5]


@pytest.mark.parametrize("name", ["mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "bitwise_and",
    "bitwise_xor"])
@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_broadcast_integers(name, kind):
    a, b = numbers(kind, (50, 8, 3)), numbers(kind, (3,), 1)
    names = {"mul": "multiply", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
        "ge": "greater_equal"}
    ufunc = getattr(np, names.get(name, name))
    for x, y in ((a, b), (a[..., 0], a[..., 1]), (a.T, b[:, None, None])):
        found = getattr(torch, name)(torch.from_numpy(x), torch.from_numpy(y))
        assert (found.numpy() == ufunc(x, y)).all() and found.numpy().dtype == ufunc(x, y).dtype


def test_integers_with_a_number():
    x = torch.arange(5)
    assert (x - 1).tolist() == [-1, 0, 1, 2, 3]
    assert (x - 1).dtype is torch.int64
    assert (x - 1.5).dtype is torch.float32
    assert torch.where(x > 2, x, 0).tolist() == [0, 0, 0, 3, 4]
    assert torch.nn.functional.pad(x, (1, 1), value=7).tolist() == [7, 0, 1, 2, 3, 4, 7]


@needs_native
def test_python_integers_meet_int64_in_the_kernel():
    x = np.arange(6)
    assert native.where(x > 2, x, 0) is not NotImplemented
    assert native.where(x > 2, x, 0.5) is NotImplemented
    assert native.where(x > 2, x, 2**64) is NotImplemented


def test_classes_that_are_a_part_of_others():
    """As of a sequence whose next steps are foretold: rows with gaps between them."""
    rng = np.random.default_rng(2)
    scores = torch.from_numpy(rng.standard_normal((3, 5, 8))).requires_grad_()
    longer = torch.from_numpy(rng.integers(0, 5, (3, 9)))
    for reduction in ("mean", "sum", "none"):
        grads = []
        for target in (longer[:, 1:], longer[:, 1:].contiguous()):
            loss = torch.nn.functional.cross_entropy(scores, target, reduction=reduction)
            grads.append([loss.detach(), *torch.autograd.grad(loss.sum(), scores)])
        assert all(bool((a == b).all()) for a, b in zip(*grads))
    if native is not None:
        given = (scores.detach().numpy(), longer.numpy()[:, 1:], None, -100, "mean", True)
        assert native.class_losses(*given) is not NotImplemented
    wrong = torch.from_numpy(np.full((3, 9), 7))[:, 1:]
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        torch.nn.functional.cross_entropy(scores, wrong)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_small_triangles(dtype):
    for n, upper, unit, turned in itertools.product((1, 2, 4, 8, 9), (False, True), (False, True), (False, True)):
        a = torch.randn(2, n, n, dtype=dtype) + 4 * torch.eye(n, dtype=dtype)
        a = a.mT.contiguous().mT if turned else a
        b = torch.randn(2, n, 30, dtype=dtype)
        x = torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)
        part = a.triu() if upper else a.tril()
        if unit:
            part = part - torch.diag_embed(part.diagonal(dim1=1, dim2=2)) + torch.eye(n, dtype=dtype)
        torch.testing.assert_close(part @ x, b, rtol=1e-3, atol=1e-3 if dtype is torch.float32 else 1e-9)


@pytest.mark.parametrize("width", [(), (1,), (3,), (8,), (9,), (40,)])
def test_rows_of_any_width_are_added(width):
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        x, index, v = rng.standard_normal((30, *width)), rng.integers(0, 30, 100), rng.standard_normal((100, *width))
        wanted, x, v = x.astype(dtype), x.astype(dtype), v.astype(dtype)
        np.add.at(wanted, index, v)
        found = torch.from_numpy(x).index_add(0, torch.from_numpy(index), torch.from_numpy(v))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_products_whose_last_columns_fill_half_a_tile():
    rng = np.random.default_rng(4)
    for rows, columns, depth in itertools.product((1, 2, 3, 5, 6, 8, 13, 17), (1, 4, 8, 9, 16, 17, 36, 48), (3, 70)):
        a, b, bias = (rng.standard_normal(s) for s in ((rows, depth), (columns, depth), (columns,)))
        for dtype, rtol in ((np.float32, 1e-4), (np.float64, 1e-10)):
            found = torch.nn.functional.linear(*(torch.from_numpy(x.astype(dtype)) for x in (a, b, bias)))
            np.testing.assert_allclose(found.numpy(), a @ b.T + bias, rtol=rtol, atol=rtol)


def test_sparse_tables_are_looked_up_plainly_without_gradients():
    weight, places = torch.arange(8.0).reshape(4, 2).requires_grad_(), torch.tensor([[1, 3], [0, 1]])[:, 1]
    assert torch.nn.functional.embedding(places, weight, sparse=True).grad_fn is not None
    with torch.no_grad():
        found = torch.nn.functional.embedding(places, weight, sparse=True)
    assert found.tolist() == [[6.0, 7.0], [2.0, 3.0]] and found.grad_fn is None


def test_diagonals_are_filled():
    for shape in ((3, 3), (2, 5), (5, 2), (0, 3)):
        x = torch.zeros(shape)
        assert x.fill_diagonal_(7) is x
        assert x.tolist() == (7 * torch.eye(*shape)).tolist() and x._version == 1
    x = torch.zeros(3, 3, requires_grad=True)
    y = (x + 1).fill_diagonal_(2)
    y.sum().backward()
    assert x.grad.tolist() == (1 - torch.eye(3)).tolist()
