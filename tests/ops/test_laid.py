"""Results of arrays that do not lie row by row: what they are, and in which order they lie."""

from __future__ import annotations

import pytest

VIEWS = {
    "transposed": lambda x: x.transpose(0, 2),
    "channels last": lambda x: x.permute(0, 2, 1),
    "columns": lambda x: x[:, :, 1:4],
    "every other": lambda x: x[:, ::2, ::2],
    "one": lambda x: x[:, :1].transpose(0, 2),
    "expanded": lambda x: x[:, :1].expand(4, 5, 6),
    "tall": lambda x: x.reshape(12, 10).t(),
    "many": lambda x: x.repeat(10, 4, 4).permute(2, 0, 1),
    "many columns": lambda x: x.repeat(10, 4, 4)[:, :, 3:20],
    "column": lambda x: x[:, :, 1:2],
    "of one": lambda x: x.reshape(12, 10, 1, 1),
}
STRIDES = {
    "transposed": (1, 6, 30), "channels last": (30, 1, 6), "columns": (15, 3, 1), "every other": (9, 3, 1),
    "expanded": (30, 6, 1), "tall": (1, 10), "many": (1, 480, 24), "many columns": (340, 17, 1),
    "column": (5, 1, 1), "of one": (10, 1, 1, 1),
}
LIKE = {
    "clone": lambda x: x.clone(),
    "double": lambda x: x.double(), "half": lambda x: x.half(), "long": lambda x: x.long(),
    "int": lambda x: x.int(), "bool": lambda x: x.bool(), "zeros_like": lambda x: x * 0 + 0, "neg": lambda x: x.neg(),
}


def numbers(torch):
    return (torch.arange(120.0) - 60).reshape(4, 5, 6)


@pytest.mark.parametrize("view", VIEWS)
def test_copies_and_casts(torch, view):
    x = VIEWS[view](numbers(torch))
    for name, f in LIKE.items():
        y = f(x)
        assert y.tolist() == f(x.contiguous()).tolist(), name
        assert y.stride() == STRIDES.get(view, y.stride()), name
    for name in ("zeros_like", "ones_like", "empty_like"):
        assert getattr(torch, name)(x).stride() == STRIDES.get(view, x.clone().stride())
    for value in (0, 2, 2.5, True, -1):
        y = torch.full_like(x, value)
        assert y.stride() == STRIDES.get(view, x.clone().stride()) and bool((y == value).all())
        assert y.dtype == torch.float32
    with pytest.raises(TypeError):
        torch.full_like(x, None)


@pytest.mark.parametrize("view", VIEWS)
def test_flips(torch, view):
    x = VIEWS[view](numbers(torch))
    for dims in ((0,), (-1,), tuple(range(x.ndim)), ()):
        y = torch.flip(x, dims)
        key = x.contiguous()
        for d in dims:
            key = key.index_select(d, torch.arange(x.shape[d] - 1, -1, -1))
        assert y.tolist() == key.tolist()
        assert y.stride() == STRIDES.get(view, y.stride())
    with pytest.raises(RuntimeError):
        torch.flip(x, (0, 0))
    with pytest.raises(IndexError):
        torch.flip(x, (7,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("view", VIEWS)
def test_reductions(torch, view, dtype):
    x = VIEWS[view](numbers(torch).to(getattr(torch, dtype)))
    rows = x.contiguous()
    kinds = ("sum", "mean") if dtype == "complex64" else ("sum", "mean", "amax", "amin")
    for name in kinds:
        f = getattr(torch, name)
        for dim in (0, -1, 1, (0, 1), (1, 0), (-1, 0), tuple(range(x.ndim)), ()):
            for keepdim in (False, True):
                y, wanted = f(x, dim, keepdim), f(rows, dim, keepdim)
                assert y.shape == wanted.shape and y.dtype == wanted.dtype
                torch.testing.assert_close(y, wanted)
                assert y.stride() == wanted.stride() or x.ndim > 2
        if name[0] != "a":
            torch.testing.assert_close(f(x), f(rows))
            with pytest.raises((RuntimeError, IndexError)):
                f(x, (0, 0))
            with pytest.raises(IndexError):
                f(x, 5)
    if dtype != "complex64":
        assert x.max().item() == rows.max().item() and x.min().item() == rows.min().item()
        y = x.clone()
        y[(0,) * x.ndim] = float("nan")
        assert y.max().isnan() and y.amin(0).isnan().sum() == 1


@pytest.mark.parametrize("view", VIEWS)
def test_triangles(torch, view):
    x = VIEWS[view](numbers(torch))
    for k in (-1, 0, 2):
        for f in (torch.tril, torch.triu):
            y = f(x, k)
            assert y.tolist() == f(x.contiguous(), k).tolist() and y.is_contiguous()


def test_casts_of_what_is_no_whole_number(torch):
    x = torch.tensor([1.9, -1.9, 0.5, -0.5, 2.0**31 - 128, -(2.0**31), 7.0] * 300)
    assert x.int().tolist() == [int(v) for v in x.tolist()]
    assert x.double().long().tolist() == [int(v) for v in x.tolist()]
    assert x.reshape(7, 300).t().long().tolist() == [[int(v) for v in r] for r in x.reshape(7, 300).t().tolist()]


def test_dimensions_that_no_integer_of_64_bits_holds(torch):
    for x in (torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(2, 6)[:, ::2]):
        for f in (x.flip, x.sum, x.amax):
            for n in (2**63, -(2**63) - 1, 2**64 - 1, 2**63 - 1):
                with pytest.raises((RuntimeError, IndexError, OverflowError, TypeError)):
                    f((n,))


def images(torch, *size):
    x = torch.arange(float(2 * 3 * 4 * 5)).reshape(2, 4, 5, 3).permute(0, 3, 1, 2) + sum(size)
    return x[size] if size else x


JOINED = {0: (60, 1, 15, 3), 1: (120, 1, 30, 6), 2: (120, 1, 15, 3), 3: (120, 1, 30, 3)}
STACKED = {0: (120, 60, 1, 15, 3), 1: (120, 3, 1, 30, 6), 2: (120, 1, 60, 15, 3), 3: (120, 1, 30, 15, 3),
    4: (120, 40, 10, 2, 1)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16", "bool"])
def test_images_with_innermost_channels_are_joined_as_such(torch, dtype):
    x, y = (a.to(getattr(torch, dtype)) for a in (images(torch), images(torch) * 2))
    for dim in range(-4, 4):
        found = torch.cat([x, y], dim)
        assert found.tolist() == torch.cat([x.contiguous(), y.contiguous()], dim).tolist()
        assert found.stride() == JOINED[dim % 4]
    for dim in range(-5, 5):
        found = torch.stack([x, y], dim)
        assert found.tolist() == torch.stack([x.contiguous(), y.contiguous()], dim).tolist()
        assert found.stride() == STACKED[dim % 5]


def test_images_of_several_orders_are_joined_row_by_row(torch):
    x, y = images(torch), images(torch).contiguous()
    for row in ([x, y], [y, x], [x[:, :, ::2], x[:, :, ::2].contiguous()]):
        for f in (torch.cat, torch.stack):
            assert f(row, 1).is_contiguous()
            assert f(row, 1).tolist() == f([a.contiguous() for a in row], 1).tolist()
    parts = [x[:, :2], x[:, 2:]]  # with gaps
    assert torch.cat(parts, 1).tolist() == x.tolist() and torch.cat(parts, 1).stride() == x.stride()
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        torch.cat([x, x[:, :2]], 0)
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.stack([x, x[:, :2]], 1)
    with pytest.raises(IndexError):
        torch.stack([x, x], 6)


def test_gradients_of_joined_images(torch):
    x, y = (images(torch).requires_grad_() for _ in range(2))
    weight = torch.arange(240.0)
    (torch.cat([x, y], 1).reshape(-1) * weight).sum().backward()
    first = torch.cat([x.grad, y.grad], 1)
    assert first.reshape(-1).tolist() == weight.tolist()
    x.grad = y.grad = None
    (torch.stack([x, y], 2).reshape(-1) * weight).sum().backward()
    assert torch.stack([x.grad, y.grad], 2).reshape(-1).tolist() == weight.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16", "bool"])
@pytest.mark.parametrize("size", [(16, 16), (17, 40), (16, 15), (130, 67), (3, 20, 50), (2, 3, 33, 18), (1, 64, 1, 40)])
def test_transposed_matrices_are_turned(torch, size, dtype):
    """Copies, other shapes, and gradients in the order of a transposed leaf, of matrices large enough for squares."""
    n = 1
    for m in size:
        n *= m
    x = (torch.arange(n) % 101).reshape(size).to(getattr(torch, dtype))
    t = x.transpose(-1, -2)
    rows = t.contiguous()
    assert rows.is_contiguous() and rows.shape == t.shape
    flat = x.flatten().tolist()
    r, c = size[-2:]
    wanted = [flat[b + i * c + j] for b in range(0, n, r * c) for j in range(c) for i in range(r)]
    assert rows.flatten().tolist() == wanted
    assert t.reshape(-1).tolist() == wanted and t.flatten().is_contiguous()
    assert t.reshape(*t.shape[:-2], -1).flatten().tolist() == wanted
    if dtype != "bool":
        assert (t + rows).flatten().tolist() == (rows + rows).flatten().tolist()
    if dtype.startswith("float"):
        leaf = t.detach().requires_grad_()
        (leaf * 1).reshape(-1).backward(rows.reshape(-1))
        assert leaf.grad.flatten().tolist() == wanted
        assert 1 in size or leaf.grad.stride() == leaf.stride()
        leaf.grad = None
        leaf.flip(0).backward(rows)
        assert torch.equal(leaf.grad, rows.flip(0))
        assert 1 in size or leaf.grad.stride() == leaf.stride()
        assert t.softmax(-1).is_contiguous() and torch.allclose(t.softmax(-1), rows.softmax(-1))
        assert torch.allclose(t.logsumexp(-1), rows.logsumexp(-1))


@pytest.mark.parametrize("view", VIEWS)
def test_flips_are_laid_out_alike_in_gradients(torch, view):
    x = VIEWS[view](numbers(torch))
    y = x.detach().clone().requires_grad_()
    w = torch.arange(float(x.numel())).reshape(x.shape)
    y.flip(0, -1).backward(w)
    assert y.grad.tolist() == w.flip(0, -1).tolist()
    assert 1 in x.shape or y.grad.stride() == y.stride()


@pytest.mark.parametrize("view", VIEWS)
def test_spreads_of_few_numbers(torch, view):
    x = VIEWS[view](numbers(torch))[:3, :4]
    for f in (torch.var, torch.std):
        for dim in (0, -1):
            for keep in (False, True):
                a, b = f(x, dim, keepdim=keep), f(x.contiguous(), dim, keepdim=keep)
                assert torch.allclose(a, b, 0, 0, equal_nan=True)  # of one number: NaN
        assert f(x).item() == f(x.contiguous()).item()
    for a, b in zip(torch.var_mean(x, 0), torch.var_mean(x.contiguous(), 0)):
        assert torch.equal(a, b)
