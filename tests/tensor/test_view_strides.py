"""The strides of views, those of dimensions of size one included."""

from __future__ import annotations

import itertools

import pytest


def sources(torch):
    x = torch.arange(24.0)
    return [
        x.view(2, 3, 4), x.view(2, 3, 4).transpose(0, 2), x.view(2, 12)[:, :1], x.view(6, 4)[1:2], x.view(4, 6)[..., 0],
        x.view(2, 1, 12).mT, x.as_strided((2, 1), (7, 3)), x.as_strided((1, 1), (7, 3)),
        x.as_strided((1, 3), (7, 2), 1), torch.tensor(1.0), torch.ones(1, 1), torch.ones(3, 1),
    ]


EXPECTED = {
    "unsqueeze first": (
        lambda x: x.unsqueeze(0),
        [(24, 12, 4, 1), (4, 1, 4, 12), (24, 12, 1), (4, 4, 1), (24, 6), (24, 12, 1, 12), (14, 7, 3), (7, 7, 3),
            (7, 7, 2), (1,), (1, 1, 1),
         (3, 1, 1)],
    ),
    "unsqueeze last": (
        lambda x: x.unsqueeze(-1),
        [(12, 4, 1, 1), (1, 4, 12, 1), (12, 1, 1), (4, 1, 1), (6, 1), (12, 1, 12, 1), (7, 3, 1), (7, 3, 1), (7, 2, 1),
            (1,), (1, 1, 1), (1,
         1, 1)],
    ),
    "None first": (
        lambda x: x[None],
        [(24, 12, 4, 1), (4, 1, 4, 12), (24, 12, 1), (4, 4, 1), (24, 6), (24, 12, 1, 12), (14, 7, 3), (7, 7, 3),
            (7, 7, 2), (1,), (1, 1, 1),
         (3, 1, 1)],
    ),
    "None between": (
        lambda x: x[:, None] if x.dim() else x[None],
        [(12, 12, 4, 1), (1, 12, 4, 12), (12, 1, 1), (4, 4, 1), (6, 1), (12, 12, 1, 12), (7, 3, 3), (7, 3, 3),
            (7, 6, 2), (1,), (1, 1, 1),
         (1, 1, 1)],
    ),
    "the same shape": (
        lambda x: x.view(x.shape),
        [(12, 4, 1), (1, 4, 12), (12, 1), (4, 1), (6,), (12, 1, 12), (7, 3), (3, 3), (6, 2), (), (1, 1), (1, 1)],
    ),
    "ones around": (
        lambda x: x.view(1, *x.shape, 1),
        [(24, 12, 4, 1, 1), (4, 1, 4, 12, 12), (24, 12, 1, 1), (4, 4, 1, 1), (24, 6, 6), (24, 12, 1, 12, 12),
            (14, 7, 3, 3), (3, 3, 3, 3),
         (6, 6, 2, 2), (1, 1), (1, 1, 1, 1), (3, 1, 1, 1)],
    ),
    "expanded in front": (
        lambda x: x.expand(1, 2, *x.shape),
        [(0, 0, 12, 4, 1), (0, 0, 1, 4, 12), (0, 0, 12, 1), (0, 0, 4, 1), (0, 0, 6), (0, 0, 12, 1, 12), (0, 0, 7, 3),
            (0, 0, 7, 3), (0, 0,
         7, 2), (0, 0), (0, 0, 1, 1), (0, 0, 1, 1)],
    ),
    "expanded by one": (
        lambda x: x.expand(1, *x.shape),
        [(24, 12, 4, 1), (4, 1, 4, 12), (24, 12, 1), (4, 4, 1), (24, 6), (24, 12, 1, 12), (14, 7, 3), (7, 7, 3),
            (7, 7, 2), (0,), (1, 1, 1),
         (3, 1, 1)],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_strides(torch, name):
    look, expected = EXPECTED[name]
    for x, strides in zip(sources(torch), expected, strict=True):
        seen = look(x)
        assert seen.stride() == strides, (x.shape, x.stride())
        assert seen.data_ptr() == x.data_ptr() and seen._base is (x if x._base is None else x._base)
        assert seen.flatten().tolist() == x.flatten().tolist() * (2 if name == "expanded in front" else 1)


def test_a_new_dimension_steps_over_what_is_not_yet_cut(torch):
    x = torch.arange(24.0).view(2, 3, 4)
    assert (x[None, 1].stride() == (24, 4, 1) and x[:, None, 0].stride() == (12, 12, 1)
        and x[None, :, None, 1:, ::2].stride() == (24, 12, 12, 4, 2))
    assert (x[1:, None, None].stride() == (12, 12, 12, 4, 1) and x[0, None].stride() == (12, 4, 1)
        and x[..., None, 0].stride() == (12, 4, 4))


def test_reshapes(torch):
    x = torch.arange(24.0).view(2, 3, 4).transpose(0, 1)
    assert x.reshape(3, 2, 1, 4).stride() == (4, 12, 4, 1) and x.reshape(3, 1, 2, 4)._base is x._base
    assert x.reshape(1, -1).stride() == (24, 1) and not x.reshape(1, -1)._is_view()
    assert x[:1].reshape(-1, 1, 4).stride() == (12, 4, 1)
    assert x.unflatten(0, (1, 3)).stride() == (12, 4, 12, 1) and x.contiguous().view(1, 24).stride() == (24, 1)


def test_in_place(torch):
    x = torch.arange(6.0).view(2, 3)
    y = x.t().unsqueeze_(-1)
    assert y.stride() == (1, 3, 1) and y.squeeze_().stride() == (1, 3)
    y = x[:, :1].unsqueeze_(0)
    assert y.stride() == (6, 3, 1)


def test_strides_do_not_touch_what_is_computed(torch):
    x = torch.arange(6.0, requires_grad=True)
    y = x.view(2, 3).t()[None, :, :, None]
    (y.expand(2, 3, 2, 4) * torch.arange(3.0).view(1, 3, 1, 1)).sum().backward()
    assert x.grad.tolist() == [0, 8, 16, 0, 8, 16]
    z = torch.zeros(3, 1)
    z.t()[None].add_(torch.arange(3.0))
    assert z.flatten().tolist() == [0, 1, 2] and z._version == 1


def test_what_index_arrays_take(torch):
    x = torch.arange(24.0).view(2, 3, 4)
    assert x[:, [0, 1]].stride() == (8, 4, 1) and x[:, [0]][:, None].stride() == (4, 4, 4, 1)
    y = x.transpose(0, 2)
    assert y[:, [0, 1]].stride() == (1, 4, 8) and y[[0, 1]].stride() == (6, 1, 3)
    assert y[:, [0, 1], [0, 1]].stride() == (2, 1) and x.transpose(1, 2)[:, :, [0, 1]].stride() == (8, 2, 1)
    assert x[:, torch.tensor([[0, 1], [1, 0]]).t()].stride() == (16, 4, 8, 1)
    for key in (([0, 1],), (slice(None), [2, 0]), ([3, 1], slice(None), [1, 0])):
        assert y[key].tolist() == y.contiguous()[key].tolist()


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_results_of_another_size_stay_in_the_memory_that_is_there(torch):
    x = torch.zeros(6)
    part = x[1:3]
    torch.mul(torch.ones(4), 3, out=part)
    assert x.tolist() == [0, 3, 3, 3, 3, 0] and part.shape == (4,) and part.storage_offset() == 1
    rows = x[::2]
    torch.mul(torch.ones(2, 2), 5, out=rows)
    assert x.tolist() == [5, 5, 5, 5, 3, 0] and rows.stride() == (2, 1)


def test_the_order_of_dimensions_may_be_ambiguous(torch):
    one, plain = torch.empty(1, 2, 3, 4), torch.empty(2, 3, 4, 5)
    assert one.dim_order() == plain.dim_order(ambiguity_check=True) == (0, 1, 2, 3)
    assert one.dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 1, 2, 3)
    for check in (True, [torch.channels_last]):
        with pytest.raises(RuntimeError, match="does not have unique dim order"):
            one.dim_order(ambiguity_check=check)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        one.dim_order(ambiguity_check="yes")


@pytest.mark.parametrize("shape", [(3, 5), (16, 20, 24), (3, 8, 17, 40)])
def test_results_lie_as_the_first_operand_does(torch, shape):
    """Of any order of its axes, however many numbers there are; the other operand may lie in another, or broadcast."""
    for order in itertools.permutations(range(len(shape))):
        x = torch.randn([shape[i] for i in order]).permute(sorted(range(len(shape)), key=order.__getitem__))
        y = torch.randn(shape)
        for z, want in ((x + y, y + x), (x * y[0], y[0] * x.contiguous())):
            assert z.stride() == x.stride() and torch.equal(z, want)
