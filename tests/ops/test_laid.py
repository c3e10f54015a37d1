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
}
STRIDES = {
    "transposed": (1, 6, 30), "channels last": (30, 1, 6), "columns": (15, 3, 1), "every other": (9, 3, 1),
    "expanded": (30, 6, 1), "tall": (1, 10), "many": (1, 480, 24), "many columns": (340, 17, 1),
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
