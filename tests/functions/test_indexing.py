"""Subscripts: what is recorded of them, what they write, masks of bytes, and what is refused."""

from __future__ import annotations

import warnings

import pytest

from tests.makers import ramp_leaf


def test_slices_of_a_whole_dimension_are_no_step(torch):
    x = ramp_leaf(torch, 2, 3)
    for y, name in (
        (x[None, 0:2], "Unsqueeze"), (x[0, 0:3], "Select"), (x[..., 0:9], "Alias"), (x[:, 0:3], "Alias"),
        (x[0:2, 0:3], "Alias"), (x[0:2], "Slice"), (x[0:9], "Slice"), (x[None, -2:], "Slice"), (x[None, 0:1], "Slice"),
        (x[0:2, 0], "Select"),
    ):
        assert y.grad_fn.name() == name + "Backward0"
        (g,) = torch.autograd.grad(y.sum(), x)
        assert g.sum() == y.numel()
    y = x.clone()
    y[:, 0:3] = 5.0
    y[0:2, None] = y[:, None] * 2
    assert y.tolist() == [[10.0] * 3] * 2


def test_a_subscript_that_is_false_writes_nothing(torch):
    x = ramp_leaf(torch, 2)
    x[False] = 3.0
    x.view(2)[False] = torch.ones(9)
    assert x._version == 0 and x.tolist() == [-1, -0.75]


@pytest.mark.parametrize("key", [[0, 1], [[0, 0]], ([0, 1], slice(None)), "tensor", "pair"])
@pytest.mark.parametrize("value", [2.0, [2.0], 2])
def test_what_is_put_at_places_must_be_of_the_type(torch, key, value):
    x = torch.zeros(2, 3, dtype=torch.float64)
    key = torch.tensor([0, 1]) if key == "tensor" else (torch.tensor([0]), torch.tensor([1])) if key == "pair" else key
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError,
                match="Index put requires the source and destination dtypes match, got Double for the destination"):
            x[key] = torch.tensor(value)
        assert x.sum() == 0 and x._version == 0
        x[key] = 2  # a number takes the type
    assert x.max() == 2


def test_a_mask_is_filled_by_a_value_of_any_type(torch):
    x = torch.zeros(2, 3, dtype=torch.float64)
    x[torch.tensor([True, False])] = torch.tensor([2])
    x[0] = torch.tensor([3, 4, 5])
    assert x.tolist() == [[3, 4, 5], [0, 0, 0]]


def test_bytes_without_dimensions_are_masks(torch):
    one, zero = (torch.tensor(n, dtype=torch.uint8) for n in (1, 0))
    for x in (torch.rand(2, 3), torch.tensor(3.0)):
        assert torch.equal(x[one], x[None])
        assert x[zero].shape == (0, *x.shape)
        assert x[None, one].shape == (1, 1, *x.shape)
        y = x.clone()
        y[zero] = torch.full_like(x, 5.0)
        assert torch.equal(y, x)
        y[one] = torch.full_like(x, 5.0)
        assert torch.equal(y, torch.full_like(x, 5.0))
    assert torch.equal(torch.arange(3)[torch.tensor(1, dtype=torch.int8)], torch.tensor(1))


def test_bytes_are_masks_where_values_are_put(torch):
    mask = torch.tensor([1, 0, 1], dtype=torch.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.zeros(3, 2)
        assert x.index_put((mask,), torch.ones(2, 2), accumulate=True).tolist() == [[1, 1], [0, 0], [1, 1]]
        assert x.index_put((mask, torch.tensor([0, 1])), torch.ones(2)).tolist() == [[1, 0], [0, 0], [0, 1]]
        values = torch.ones(2, 2, requires_grad=True)
        (x.index_put((mask,), values) * torch.arange(6.0).view(3, 2)).sum().backward()
        assert values.grad.tolist() == [[0, 1], [4, 5]]
        assert torch.ops.aten.index.Tensor(x, [None, mask[:2]]).shape == (3, 1)


@pytest.mark.parametrize("bound", ["0", 1.0, (), object()])
def test_bounds_of_slices(torch, bound):
    x = torch.rand(3, 3)
    for key in (slice(bound, None), (0, slice(None, bound))):
        with pytest.raises(TypeError, match="slice indices must be integers or None or have an __index__ method"):
            x[key]
        with pytest.raises(TypeError, match="slice indices must be integers"):
            x[key] = 1.0
    assert x[torch.tensor(0) : torch.tensor(2)].shape == (2, 3)


def test_indices_along_a_dimension_are_long(torch):
    x = torch.rand(2, 3)
    i = torch.argsort(x, 0)
    assert torch.equal(torch.take_along_dim(x, i, 0), torch.sort(x, 0).values)
    for d, name in ((torch.bool, "Bool"), (torch.float32, "Float"), (torch.int32, "Int"), (torch.uint8, "Byte")):
        with pytest.raises(RuntimeError, match=f"dtype of indices should be Long but got {name}"):
            torch.take_along_dim(x, i.to(d), 0)
    assert torch.take_along_dim(x, i.int()).shape == (6,)


@pytest.mark.parametrize("key", [1, -1, (slice(None), 2), (..., slice(0, 4, 2)), (None, 0), (1, 2), slice(1, 3)],
    ids=str)
@pytest.mark.parametrize("given", ["number", "leaf", "constant", "mixed"])
def test_a_recorded_write_to_a_part_is_one_to_a_view(torch, key, given):
    """The short way of ``x[key] = value`` beside a write to the view that ``x[key]`` is."""
    seen = []
    for through_view in (False, True):
        torch.manual_seed(0)
        x = torch.rand(3, 5, requires_grad=True)
        y = x * 2 if given != "mixed" else torch.zeros(3, 5)
        value = torch.rand(y[key].shape, requires_grad=given != "constant") if given != "number" else 2.5
        with pytest.raises(RuntimeError, match="a (view of a )?leaf Variable that requires grad"):
            x[key] = value
        saved = y.exp()  # whose gradient needs it, but not y
        kept = y.square()
        if through_view:
            y[key].copy_(value) if given != "number" else y[key].fill_(value)
        else:
            y[key] = value
        assert y._version == 1 and "CopySlices" in y.grad_fn.name()
        first = y[0].square().sum()
        (first + (y * torch.arange(15.0).reshape(3, 5)).sum() + saved.sum()).backward(retain_graph=True)
        seen.append([None if t is None else t.tolist() for t in (y, x.grad, getattr(value, "grad", None))])
        if given != "mixed":
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                kept.sum().backward()
    assert seen[0] == seen[1]


@pytest.mark.parametrize("make", [
    lambda i, j: (slice(None), i), lambda i, j: (slice(None), slice(None), j), lambda i, j: (slice(None), i, j),
    lambda i, j: (i, slice(None), j), lambda i, j: (1, slice(None), j), lambda i, j: (i, i.flip(0)),
    lambda i, j: (slice(None), i.reshape(2, 2)), lambda i, j: (slice(None), i[:0])])
def test_arrays_of_indices_after_whole_dimensions(torch, make):
    """Reading, its gradient and writing, each beside the same with one row of indices of all dimensions."""
    key = make(torch.tensor([0, 2, -1, 2]), torch.tensor([3, 0, 3, -2]))
    x = torch.randn(4, 3, 5, requires_grad=True)
    places = torch.arange(60).reshape(4, 3, 5)[key]
    assert torch.equal(x[key], x.flatten()[places])
    g = torch.randn(places.shape)
    (got,) = torch.autograd.grad(x[key], x, g)
    want = torch.zeros(60).index_put((places.flatten(),), g.flatten(), accumulate=True).reshape(x.shape)
    torch.testing.assert_close(got, want)
    y, z = torch.zeros(4, 3, 5), torch.zeros(60)
    y[key] = values = places * 2.0
    z[places.flatten()] = values.flatten()
    assert y.flatten().tolist() == z.tolist() and y._version == 1
    y[key] = 7.0
    assert y.sum() == 7 * len(places.unique()) and y._version == 2
    if places.numel():
        with pytest.raises((RuntimeError, IndexError)):
            y[key] = torch.ones(7, *values.shape)
        assert y._version == 2


def test_an_operation_in_place_on_a_part(torch):
    x = torch.arange(6.0)
    x[2:] += 1
    x[1] *= 5
    mask = x > 3
    mask[2:] &= torch.tensor([True, False, True, False])
    assert x.tolist() == [0, 5, 3, 4, 5, 6] and mask.tolist() == [False, True, False, False, True, False]
    assert x._version == 4  # the operation, and the write of its result


@pytest.mark.parametrize("wrong", [3, -4])
def test_an_index_beyond_a_later_dimension(torch, wrong):
    x = torch.zeros(4, 3, 5)
    key = (slice(None), torch.tensor([0, wrong]))
    for call in (lambda: x[key], lambda: x.__setitem__(key, 1)):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension"):
            call()


def test_gradient_of_selected_slices_of_nothing(torch):
    x = torch.zeros(0, 2, 0, requires_grad=True)
    x.index_select(1, torch.tensor([0, 1, 1])).sum().backward()
    assert x.grad.shape == (0, 2, 0)
    assert torch.zeros(0, 3).index_add(1, torch.tensor([2, 2]), torch.zeros(0, 2)).shape == (0, 3)


def test_results_lie_as_indices_that_lie_apart(torch):
    t = torch.arange(72.0).view(6, 4, 3)
    base = torch.arange(120).view(5, 4, 3, 2) % 3
    for index, want in ((base[..., 0], (144, 36, 12)), (base[:, :, 1], (96, 24, 12)), (base[0, ..., 1].t(), (12, 36)),
            (base[:, :1, :, 0], (36, 36, 12)), (base[..., 0].transpose(0, 1), (36, 144, 12))):
        assert t[index].stride()[: index.ndim] == want
        assert torch.equal(t[index], t[index.contiguous()])
        assert torch.equal(t[:, index], t[:, index.contiguous()])


@pytest.mark.parametrize("key", [
    (slice(None, 2), "ids"), ("ids", slice(1, 3)), ("ids", slice(1, None)), (0, "ids", slice(2)),
    ("ids", slice(None), slice(1, 4, 2)), ("ids", 1, slice(0, 99)), (slice(1, 3), "ids", "ids"),
], ids=str)
def test_slices_beside_indices(torch, key):
    x = torch.arange(4 * 5 * 6.0).reshape(4, 5, 6).requires_grad_()
    ids = torch.tensor([3, 0, 3, 1])
    found = x[tuple(ids if k == "ids" else k for k in key)]
    want = x.detach().numpy()[tuple(slice(None) if k == "ids" else k for k in key)] if key.count("ids") == 1 else None
    if want is None:
        want = x.detach().numpy()[1:3][:, ids.numpy(), ids.numpy()]
    else:
        want = want.take(ids.numpy(), sum(1 for k in key[: key.index("ids")] if k == "ids" or isinstance(k, slice)))
    assert found.tolist() == want.tolist() and found.is_contiguous()
    found.sum().backward()
    assert x.grad.sum() == found.numel()
