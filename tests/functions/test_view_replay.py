"""Views taken once more of another base, and back; the operators that only torch.ops.aten has."""

from __future__ import annotations

import pytest

VIEWS = {
    "strided": lambda b: b.as_strided((4,), (2,), 1),
    "chunk": lambda b: b.chunk(2, -1)[1],
    "diagonal": lambda b: b.diagonal(),
    "expand": lambda b: b.unsqueeze(0).expand(2, 2, 3, 4),
    "narrow": lambda b: b.narrow(2, 1, 2),
    "permute": lambda b: b.permute(2, 0, 1),
    "transpose": lambda b: b.mT,
    "select": lambda b: b.select(2, -1),
    "slice": lambda b: b[:, 1:],
    "row": lambda b: b[1],
    "several": lambda b: b[0, ..., 1:3].t(),
    "split": lambda b: b.split(2, 1)[1],
    "sizes": lambda b: b.split_with_sizes([1, 3], -1)[1],
    "unbind": lambda b: b.unbind(1)[1],
    "unfold": lambda b: b.unfold(2, 2, 1),
    "unsqueeze": lambda b: b.unsqueeze(1),
    "squeeze": lambda b: b[:, :1].squeeze(1),
    "view": lambda b: b.view(-1, 2),
    "flatten": lambda b: b.flatten(),
}


def same(a, b):
    return (a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()
        and a.dtype == b.dtype)


@pytest.fixture(autouse=True)
def views_are_tracked(torch):
    with torch.autograd._force_original_view_tracking(True):
        yield


@pytest.mark.parametrize("take", VIEWS.values(), ids=VIEWS)
def test_a_view_of_another_base_and_back(torch, take):
    base = torch.rand(2, 3, 4)
    view, other = take(base), torch.rand(2, 3, 4)
    again = view._view_func(other)
    assert same(again, view)
    assert torch.equal(again, take(other))
    assert again._base is other
    back = view._rev_view_func_unsafe(view.detach())
    assert same(back, base)
    assert torch.equal(back, base)
    assert back._is_view()


def test_complex_views_too(torch):
    base = torch.rand(3, 2)
    view = torch.view_as_complex(base)
    other = torch.rand(3, 2)
    assert torch.equal(view._view_func(other), torch.view_as_complex(other))
    assert same(view._rev_view_func_unsafe(view.detach()), base)


def test_the_memory_of_the_new_base_has_to_be_alike(torch):
    base = torch.rand(2, 3)
    view = base[1]
    assert view._view_func(torch.rand(3, 2).t()) is None
    assert view._view_func(torch.rand(4, 3)) is None
    assert torch.equal(view._view_func_unsafe(torch.ones(4, 3)), torch.ones(3))
    for plain in (base, torch.rand(2)):
        assert plain._view_func(base) is None
        assert plain._view_func_unsafe(base) is None
        assert plain._rev_view_func_unsafe(base) is None


SEEN = {
    "strided": [4, 2, 1], "chunk": [2], "diagonal": [], "expand": [2, 2, 3, 4], "narrow": [1, 3, 1], "permute": [],
    "select": [-1], "split": [2], "slice": [1, 2**63 - 1, 1], "row": [1], "sizes": [1, 3], "unbind": [],
    "view": [-1, 2],
}


@pytest.mark.parametrize("name", SEEN)
def test_numbers_of_a_view_are_shown(torch, name):
    base, seen = torch.rand(2, 3, 4), []

    def look(n):
        seen.append(n)
        return n

    view = VIEWS[name](base)
    assert torch.equal(view._view_func(base.clone(), look), view)
    assert seen == SEEN[name]


def test_and_may_be_changed(torch):
    base = torch.rand(3, 4, 5)
    view, other = base.select(1, 2), torch.rand(3, 4, 5)
    assert torch.equal(view._view_func(other, symint_visitor_fn=lambda n: n + 1), other.select(1, 3))
    assert torch.equal(view._view_func(other), other.select(1, 2))
    view = base[0][1:3]
    assert torch.equal(view._view_func(other, symint_visitor_fn=lambda n: n + 1 if n < 3 else n), other[1][2:3:2])


def test_a_slice_undone_keeps_the_tensor_whose_layout_it_has(torch):
    base = torch.rand(3, 4, 5)
    sliced = base[:, 2:3].detach()
    view = torch.ops.aten.slice_inverse(sliced, base, 1, 2, 3, 1)
    assert torch.equal(view, base)
    other = torch.ones_like(base)[:, 2:3].detach()
    again = view._view_func(other, tensor_visitor_fn=lambda t: torch.rand(1, 2, 3))
    assert again.shape == (1, 2, 3)
    assert torch.equal(view._view_func(sliced), base)


def test_operators_by_their_names_below_the_tape(torch):
    aten = torch.ops.aten
    b = torch.arange(24.0).view(2, 3, 4)
    assert torch.equal(aten.slice.Tensor(b, 1, 1, 2), b[:, 1:2])
    assert torch.equal(aten.slice.Tensor(b), b)
    assert torch.equal(aten.slice.Tensor(b, dim=-2, start=-2, end=2**63 - 1, step=2), b[:, -2::2])
    assert aten.slice.Tensor(b, 1, 1, 2)._base is b._base
    assert torch.equal(aten.where.self(b > 3, b, -b), torch.where(b > 3, b, -b))
    assert torch.equal(aten.embedding.default(b[0], torch.tensor([2, 0])), b[0][[2, 0]])
    assert torch.equal(aten._unsafe_view.default(b, [4, 6]), b.view(4, 6))
    assert torch.equal(aten._reshape_alias.default(b, [24], [1]), b.view(24))
    assert torch.equal(aten.select_backward.default(b[0], [2, 3, 4], 0, 1), torch.stack([torch.zeros(3, 4), b[0]]))
    assert aten.slice_backward.default(torch.ones(2, 1), [2, 3], 1, 1, 2, 1).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert torch.equal(aten.tanh_backward.default(b[0], b[1]), b[0] * (1 - b[1] * b[1]))
    assert torch.equal(aten.threshold_backward.default(b, b - 3, 0), torch.where(b > 3, b, 0 * b))
    assert aten._local_scalar_dense.default(torch.tensor(2.5)) == 2.5
    assert aten.lift_fresh.default(b) is b
    assert (aten.sym_size.int(b, 1), aten.sym_numel.default(b), aten.sym_stride.int(b, 0)) == (3, 24, 12)
    left, kept = aten.native_dropout.default(torch.ones(1000), 0.5, True)
    assert torch.equal(left, kept * 2.0)
    assert 300 < int(kept.sum()) < 700


def test_blocks_are_square_where_one_size_is_given(torch):
    x = torch.rand(4, 4)
    for name in ("to_sparse_bsr", "to_sparse_bsc"):
        assert getattr(x, name)(2).values().shape == (4, 2, 2)
        assert torch.equal(getattr(x, name)(blocksize=2).to_dense(), x)
        with pytest.raises(RuntimeError, match="blocksize needs to be a tuple of size 2, but got 1"):
            getattr(x, name)([2])
        with pytest.raises(TypeError, match="must be tuple of ints, not float"):
            getattr(x, name)(2.0)
