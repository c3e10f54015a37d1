"""Views share memory, a version counter and history; in-place writes rewrite the history."""

from __future__ import annotations

import pytest


def test_views_share_memory_and_version(torch):
    x = torch.zeros(2, 3)
    v = x[0]
    v.add_(1)
    assert x[0].tolist() == [1.0] * 3
    assert x._version == v._version == 1
    assert v._base is x and v._is_view() and not x._is_view()
    assert x.view(6)[1:3]._base is x


def test_writing_through_a_view_rewrites_the_base(torch):
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    base = torch.zeros(4)
    view = base[1:3]
    view.copy_(w * w)
    assert base.requires_grad and type(base.grad_fn).__name__ == "CopySlices"
    (base * torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert w.grad.tolist() == [2 * 2 * 10.0, 2 * 3 * 100.0]


def test_writing_to_the_base_shows_in_the_view(torch):
    w = torch.tensor(3.0, requires_grad=True)
    base = torch.ones(4)
    view = base[:2]
    base.mul_(w)
    assert view.requires_grad
    view.sum().backward()
    assert w.grad.item() == 2.0


def test_another_view_sees_the_write(torch):
    w = torch.tensor(3.0, requires_grad=True)
    base = torch.ones(4)
    left, all_of_it = base[:2], base.view(2, 2)
    left.mul_(w)
    all_of_it.sum().backward()
    assert w.grad.item() == 2.0


def test_chains_of_views(torch):
    x = torch.arange(12.0, dtype=torch.float64).requires_grad_()
    base = x * 1
    v = base.view(3, 4).t()[1:3]
    v.mul_(10.0)
    base.sum().backward()
    expected = [10.0 if i % 4 in (1, 2) else 1.0 for i in range(12)]
    assert x.grad.tolist() == expected


def test_in_place_on_a_result(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.mul_(3)
    y += 1
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_set_items(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.zeros(2, 3)
    y[0] = x
    y[1, 1] = x[2] * 2
    y[:, 0] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 3.0]


def test_set_items_by_mask_and_by_index(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(4)
    y[torch.tensor([True, False, False, True])] = x
    y[torch.tensor([1, 2])] = x * 10
    y.sum().backward()
    assert y.tolist() == [1.0, 10.0, 20.0, 2.0]
    assert x.grad.tolist() == [11.0, 11.0]


def test_leaves_are_protected(torch):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x[0].add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x[0] = 1.0
    assert x.tolist() == [1.0] * 3 and x._version == 0
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0] * 3 and x._version == 1


def test_in_place_damage_is_noticed(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified by an inplace operation"):
        y.sum().backward()


def test_damage_through_a_view_and_under_no_grad_is_noticed(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    with torch.no_grad():
        y[0].fill_(7.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_data_is_not_watched(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    y.data.mul_(2)
    assert y._version == 0
    z.backward()


def test_detach_shares_memory_and_is_watched(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    y.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_several_views_at_once_are_read_only(torch):
    x = torch.ones(4, requires_grad=True) * 1
    a, _ = x.split(2)
    with pytest.raises(RuntimeError, match="view and is being modified inplace"):
        a.add_(1)


def test_expanded_tensors_are_read_only(torch):
    x = torch.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        x.add_(1)


def test_views_made_without_recording_are_ambiguous(torch):
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        v = x[:2]
    with pytest.raises(RuntimeError, match="was created in no_grad mode"):
        v.mul_(2)


def test_failed_writes_change_nothing(torch):
    x = torch.ones(3)
    for attempt in (lambda: x.add_(torch.ones(2)), lambda: x.add_(torch.ones(2, 3)), lambda: torch.ones(3, dtype=torch.int64).add_(x)):
        with pytest.raises(RuntimeError):
            attempt()
    with pytest.raises((RuntimeError, IndexError)):
        x[5] = 1.0
    with pytest.raises(RuntimeError):
        x[:2] = torch.ones(3)
    assert x.tolist() == [1.0] * 3 and x._version == 0


def test_out_is_refused_while_recording(torch):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.mul(x, 2, out=torch.empty(3))
    out = torch.empty(3)
    assert torch.mul(torch.ones(3), 2, out=out) is out
    assert out.tolist() == [2.0] * 3


def test_view_refuses_strides_that_do_not_fit(torch):
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        torch.ones(2, 3).t().view(6)
    assert torch.ones(2, 3).t().reshape(6).shape == (6,)


def test_is_leaf_follows_in_place_writes(torch):
    w = torch.ones(1, requires_grad=True)
    x = torch.zeros(1)
    assert x.is_leaf and not x.requires_grad
    x.add_(w)
    assert not x.is_leaf and x.requires_grad


@pytest.mark.parametrize(
    ("name", "args", "shape"), [("t_", (), (3, 1)), ("squeeze_", (), (3,)), ("unsqueeze_", (0,), (1, 1, 3)), ("transpose_", (0, 1), (3, 1))]
)
def test_a_tensor_becomes_a_view_of_itself(torch, name, args, shape):
    plain = torch.arange(3.0).view(1, 3).clone()
    pointer = plain.data_ptr()
    assert getattr(plain, name)(*args) is plain and plain.shape == shape and plain.data_ptr() == pointer
    w = torch.ones(1, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(w, name)(*args)
    weights = torch.arange(1.0, 4.0).view(shape)
    history = w * 2
    other = history[0]
    getattr(history, name)(*args)
    assert history.shape == shape and other.tolist() == [2.0] * 3
    ((history * weights).sum() + other.sum()).backward()
    assert w.grad.tolist() == [[4.0, 6.0, 8.0]]


def test_a_view_becomes_another_view(torch):
    w = torch.ones(3, 1, requires_grad=True)
    base = w * 2
    part = base[:2]
    part.unsqueeze_(0)
    assert part.shape == (1, 2, 1) and part._base is base
    part.mul_(3)
    base.sum().backward()
    assert base.tolist() == [[6.0], [6.0], [2.0]] and w.grad.tolist() == [[6.0], [6.0], [2.0]]


def test_a_leaf_is_reshaped_where_nothing_is_recorded(torch):
    w = torch.ones(1, 3, requires_grad=True)
    (w * 1).sum().backward()
    w.grad = None
    with torch.no_grad():
        w.t_()
    (w * torch.ones(3, 1)).sum().backward()
    assert w.is_leaf and w.grad.shape == w.shape == (3, 1)


def test_the_diagonal_is_filled(torch):
    w = torch.ones(3, 3, requires_grad=True)
    y = w * 2
    y.fill_diagonal_(7)
    y.sum().backward()
    assert w.grad.tolist() == [[0.0, 2.0, 2.0], [2.0, 0.0, 2.0], [2.0, 2.0, 0.0]]
    tall = torch.zeros(7, 2).fill_diagonal_(1, wrap=True)
    assert tall.nonzero().tolist() == [[0, 0], [1, 1], [3, 0], [4, 1], [6, 0]]
    assert torch.zeros(2, 3).t().fill_diagonal_(1).tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        torch.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        torch.zeros(2, 2, 3).fill_diagonal_(1)
