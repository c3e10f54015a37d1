"""Views share memory, a version counter and history; in-place writes rewrite the history."""

from __future__ import annotations

import warnings

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
    with pytest.raises(RuntimeError,
            match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x[0].add_(1)
    with pytest.raises(RuntimeError,
            match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x[0] = 1.0
    assert x.tolist() == [1.0] * 3 and x._version == 0
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0] * 3 and x._version == 1


def test_in_place_damage_is_noticed(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError,
            match="one of the variables needed for gradient computation has been modified by an inplace operation"):
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
    with pytest.raises(RuntimeError,
            match="more than one element of the written-to tensor refers to a single memory location"):
        x.add_(1)


def test_views_made_without_recording_are_ambiguous(torch):
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        v = x[:2]
    with pytest.raises(RuntimeError, match="was created in no_grad mode"):
        v.mul_(2)


def test_failed_writes_change_nothing(torch):
    x = torch.ones(3)
    for attempt in (lambda: x.add_(torch.ones(2)), lambda: x.add_(torch.ones(2, 3)),
            lambda: torch.ones(3, dtype=torch.int64).add_(x)):
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
    ("name", "args", "shape"),
    [("t_", (), (3, 1)), ("squeeze_", (), (3,)), ("unsqueeze_", (0,), (1, 1, 3)), ("transpose_", (0, 1), (3, 1))]
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


MULTIPLE = ("This view is the output of a function that returns multiple views. Such functions do not allow the output "
    "views to be modified inplace")


@pytest.mark.parametrize(
    ("cut", "name"),
    [(lambda x: x.unbind(), "Unbind"), (lambda x: x.split(2), "Split"), (lambda x: x.chunk(2), "Split"),
                      (lambda x: x.split([1, 3]), "SplitWithSizes"), (lambda x: tuple(x), "Unbind")],
)
def test_one_of_several_views(torch, cut, name):
    x = torch.ones(4, 4, requires_grad=True) * 1
    parts = cut(x)
    assert all(p._is_view() and p._base is x for p in parts)
    with pytest.raises(RuntimeError, match=f"Output 1 of {name} is a view and is being modified inplace. {MULTIPLE}"):
        parts[1].mul_(2)
    x.mul_(2)
    with pytest.raises(RuntimeError,
            match=f"Output 0 of {name} is a view and its base or another view of its base has been modified inplace"):
        parts[0].sum()
    plain = torch.zeros(4, 4)
    parts = cut(plain)
    parts[0].add_(1)
    with pytest.raises(RuntimeError,
            match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        parts[1].mul_(torch.ones(1, requires_grad=True))
    assert plain[0].tolist() == [1.0] * 4


def test_unsafe_cuts_are_free(torch):
    x = torch.ones(4, requires_grad=True)
    for parts in (torch.unsafe_split(x * 1, 2), torch.unsafe_chunk(x * 1, 2), (x * 1).unsafe_split_with_sizes([2, 2])):
        x.grad = None
        assert not parts[0]._is_view()
        parts[0].mul_(3)
        sum(p.sum() for p in parts).backward()
        assert x.grad.tolist() == [3.0, 3.0, 1.0, 1.0]


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("make", [lambda x: x.view_as(x), lambda x: x.unbind()[0]])
def test_views_made_under_no_grad(torch, requires_grad, make):
    x = torch.ones(2, 2, requires_grad=requires_grad).clone()
    with torch.no_grad():
        view = make(x)
    assert view._is_view() and view._base is x
    if not requires_grad:
        view.add_(1)
        return
    with pytest.raises(RuntimeError,
            match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        view.add_(1)
    with pytest.raises(RuntimeError,
            match="is a view of a view which was created in no_grad mode and is being modified inplace"):
        view.view(-1).add_(1)
    with torch.no_grad():
        view.add_(1)
    with pytest.raises(RuntimeError,
            match="was created in no_grad mode and its base or another view of its base has been modified"):
        view.grad_fn


def test_views_are_recorded_anew(torch):
    x = torch.arange(16.0).view(4, 4).clone().requires_grad_() * 1
    views = {
        "Slice": x[1:3], "Select": x[0], "T": x.t(), "Transpose": x.transpose(0, 1), "View": x.view(16),
        "Diagonal": x.diagonal(), "Unsqueeze": x[None], "Permute": x.permute(1, 0), "Expand": x[:1].expand(3, 4),
        "Unfold": x.unfold(0, 2, 1), "Alias": x[...], "AsStrided": x.as_strided((2, 2), (1, 1)),
    }
    for name, v in views.items():
        assert type(v.grad_fn).__name__ == f"{name}Backward0" and v._base is x
    x.mul_(2)
    for v in views.values():
        assert type(v.grad_fn).__name__ == "AsStridedBackward0" and v.grad_fn.next_functions[0][0] is x.grad_fn
    views["Slice"].mul_(3)
    assert type(x.grad_fn).__name__ == "CopySlices" and type(views["View"].grad_fn).__name__ == "AsStridedBackward0"


def test_recorded_by_their_own_steps_on_request(torch):
    def write(x):
        out = x.clone().view(-1)
        out.add_(1)
        return type(out.grad_fn).__name__

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autograd._force_original_view_tracking(True):
        assert write(x) == "ViewBackward0" and torch.autograd.is_view_replay_enabled()
    assert write(x) == "AsStridedBackward0" and not torch.autograd.is_view_replay_enabled()
    torch.autograd._force_original_view_tracking(True)
    try:
        assert write(x) == "ViewBackward0"
    finally:
        torch.autograd._force_original_view_tracking(False)
    assert not torch.autograd.is_view_replay_enabled()


def test_complex_and_real_views(torch):
    w = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    base = w * 1
    parts = torch.view_as_real(base)
    parts[..., 0].mul_(3)
    (base.real.sum() + 5 * base.imag.sum()).backward()
    assert w.grad.tolist() == [3 + 5j, 3 + 5j]


def test_views_of_another_type_forget_what_was_done_to_them_in_place(torch):
    def gradient(shape, *steps, write=True):
        leaf = torch.zeros(shape, dtype=torch.complex64, requires_grad=True)
        view = torch.view_as_real(leaf.clone())
        for step in steps:
            view = step(view)
        if write:
            view += 1
        view.backward(torch.arange(float(view.numel())).view(view.shape))
        return leaf.grad

    def out_of_place(view):
        return view.transpose(0, 1)

    def in_place(view):
        return view.transpose_(0, 1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ours tells of it
        right = gradient((3, 3), out_of_place)
        assert torch.equal(gradient((3, 3), in_place, write=False), right)
        assert torch.equal(gradient((3, 3), in_place), right.T)  # PyTorch's own tests pin this and call it a bug
        assert torch.equal(gradient((2, 3), in_place, write=False), gradient((2, 3), out_of_place))
        with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
            gradient((2, 3), in_place)


def test_the_forgotten_transposition_is_told():
    import wengert

    view = wengert.view_as_real(wengert.zeros(2, 2, dtype=wengert.complex64, requires_grad=True).clone())
    view.transpose_(0, 1)
    with pytest.warns(UserWarning, match="transposed .* in place.*out-of-place form"):
        view += 1


def test_steps_between_changes_of_type_are_one(torch):
    leaf = torch.zeros(3, 2, dtype=torch.complex64, requires_grad=True)
    base = leaf.clone()
    imaginary, other = base.imag, torch.view_as_real(base[1:])
    base.mul_(2)
    assert ([f.name() for f in (imaginary.grad_fn, imaginary.grad_fn.next_functions[0][0])] == ["AsStridedBackward0",
        "ViewAsRealBackward0"])
    assert ([f.name() for f in (other.grad_fn, other.grad_fn.next_functions[0][0])] == ["ViewAsRealBackward0",
        "AsStridedBackward0"])
    (imaginary.sum() + 3 * other.sum()).backward()
    assert leaf.grad.tolist() == [[2j, 2j], [6 + 8j, 6 + 8j], [6 + 8j, 6 + 8j]]


@pytest.mark.parametrize(
    "layout", [lambda x: x * 1, lambda x: (x * 1).t(), lambda x: (x * 1).repeat(2, 1)[::2]]
)
@pytest.mark.parametrize("cut",
    [lambda t: t[1:, ::2], lambda t: t.t()[0], lambda t: t.diagonal(), lambda t: t.unsqueeze(1)[:, :, 1:]])
def test_second_derivatives_through_written_views(torch, layout, cut):
    def f(x, y):
        base = layout(x)
        cut(base).mul_(y)
        other = base[:2]
        base.sin_()
        return base * 1, other

    x = torch.linspace(0.1, 1.2, 12, dtype=torch.float64).view(3, 4).requires_grad_()
    y = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(f, (x, y))
    assert torch.autograd.gradgradcheck(f, (x, y))


@pytest.mark.parametrize(
    ("name", "args"),
    [("t_", ()), ("transpose_", (0, 1)), ("squeeze_", ()), ("unsqueeze_", (0,)), ("as_strided_", ((3, 2), (1, 3)))]
)
@pytest.mark.parametrize("first", ["base", "view"])
def test_another_shape_after_a_view_was_taken(torch, name, args, first):
    w = torch.arange(1.0, 7.0, dtype=torch.float64).view(2, 3).requires_grad_()

    def f(w):
        base = w * 1
        other = base[0]
        getattr(base, name)(*args)
        (base if first == "base" else other).mul_(3)
        (other if first == "base" else base).mul_(2)
        return base, other

    base, other = f(w)
    assert base._version == 3 and other._version == 3
    assert torch.autograd.gradcheck(f, (w,))
    assert torch.autograd.gradgradcheck(f, (w,))


def test_overwritten_values_have_zero_gradients(torch):
    w = torch.ones(2, requires_grad=True)
    for write in (lambda y: y.zero_(), lambda y: y.fill_(3), lambda y: y.copy_(torch.ones(2)), lambda y: y.normal_()):
        w.grad = None
        y = w * 2
        write(y)
        y.sum().backward()
        assert w.grad.tolist() == [0.0, 0.0]


def test_integers_take_values_alone(torch):
    w = torch.tensor([1.5, 2.5], requires_grad=True)
    x = torch.zeros(2, dtype=torch.int64)
    x.copy_(w)
    x[0] = w[1]
    assert x.tolist() == [2, 2] and not x.requires_grad
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        x.add_(w)
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
        x.index_put_((torch.tensor([0]),), w[:1])


def test_writes_to_expanded_tensors(torch):
    def fresh():
        return torch.zeros(1, 3).expand(2, 3)

    overlap = "more than one element of the written-to tensor refers to a single memory location"
    for write in (lambda y: y.add_(1), lambda y: y.copy_(torch.ones(2, 3)), lambda y: y.clamp_(0),
            lambda y: torch.add(y, 1, out=y)):
        with pytest.raises(RuntimeError, match=overlap):
            write(fresh())
    for write in (lambda y: y.fill_(1), lambda y: y[0].fill_(1), lambda y: y.__setitem__(0, torch.ones(3))):
        y = fresh()
        write(y)
        assert y.tolist() == [[1.0] * 3] * 2
    y = torch.ones(1, 3).expand(2, 3)
    y.zero_()
    assert y.sum() == 0


def test_views_of_views_that_are_leaves(torch):
    v = torch.zeros(4)[:2].requires_grad_()
    assert v.is_leaf and v._is_view()
    for t in (v, v[0], v.view(2)):
        with pytest.raises(RuntimeError,
                match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
            t.add_(1)
    with pytest.raises(RuntimeError, match="Can't detach views in-place. Use detach.. instead"):
        v.detach_()


@pytest.mark.parametrize("take", [lambda p: p.view(-1), lambda p: p[0], lambda p: p.t(), lambda p: p.movedim(0, -1)],
    ids=["view", "select", "t", "movedim"])
def test_views_keep_the_history_that_their_base_drops(torch, take):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = -x
    view = take(base)
    node = view.grad_fn
    base.detach_()
    assert view.grad_fn is node
    (view * view).sum().backward()
    wanted = take(x.detach())
    assert x.grad is not None and take(x.grad).equal(2 * wanted)


def test_changing_requires_grad(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        torch.arange(3).requires_grad_()
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        y.requires_grad = 1
    with pytest.raises(TypeError, match="argument 'requires_grad' .position 1. must be bool, not str"):
        torch.ones(1).requires_grad_("yes")
    base = torch.zeros(4)
    part = base[:2].requires_grad_()
    assert part.is_leaf and part.requires_grad and not base.requires_grad


def test_a_view_may_be_the_only_user_of_its_base(torch):
    w = torch.ones(3, requires_grad=True)
    view = torch.zeros(3)[1:]
    view.mul_(w[1:])
    view.add_(w[:2])
    assert view._base.requires_grad
    view.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0, 0.0]


def test_broadcast_sources(torch):
    x = torch.zeros(2)
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[2, 2\]"):
        x.copy_(torch.ones(2, 2))
    x[:] = torch.ones(1, 1, 2)
    assert x.tolist() == [1.0, 1.0]
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 2"):
        x[torch.tensor([5])]


def test_a_history_that_cannot_be_had_is_shown_as_invalid(torch):
    a = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        b = a[:]
        b *= 2
    assert repr(b) == "tensor([2.], grad_fn=<Invalid>)"


def test_strided_views_of_any_layout(torch):
    x = torch.arange(1.0, 13.0, dtype=torch.float64).requires_grad_()
    for prepare, size, stride, offset in (
        (lambda x: x.view(3, 4), (2, 2), (1, 2), 0), (lambda x: x.view(3, 4).t(), (3, 3), (1, 1), 1),
        (lambda x: x.view(3, 4)[:, 1:], (2, 2), (4, 1), 2), (lambda x: x[:3].expand(2, 3), (2, 2), (0, 1), 0),
    ):
        assert torch.autograd.gradcheck(lambda x, p=prepare, a=(size, stride, offset): torch.as_strided(p(x) * 1, *a),
            (x,))


def test_written_part_of_an_outside_graph(torch):
    a = torch.ones(3, 1, requires_grad=True)
    b = a.clone()
    c = b.view_as(b)
    with torch.no_grad():
        c[0][0] = 2
    assert b.grad_fn is not None and c.flatten().tolist() == [2.0, 1.0, 1.0]
    c.sum().backward()
    assert a.grad.tolist() == [[1.0]] * 3


def test_view_of_a_plain_base_that_requires_grad_still_does_after_a_write(torch):
    base = torch.ones(3)
    leaf = base[:].requires_grad_()
    view = leaf[:]
    assert view._base is base
    with torch.no_grad():
        view.zero_()
    assert view.requires_grad
    view.sum().backward()
    assert leaf.grad is None  # the history is that of the base now, which has none


WRITES = {
    "mul_": lambda t: t.mul_(2), "add_": lambda t: t.add_(1), "a tensor": lambda t: t.add_(t.new_ones(2, 3)),
    "exp_": lambda t: t.exp_(), "+=": lambda t: t.__iadd__(1), "normal_": lambda t: t.normal_(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
@pytest.mark.parametrize("requires_grad", [False, True])
def test_elements_that_share_memory_are_not_written_to(torch, write, requires_grad):
    x = torch.ones(3, requires_grad=requires_grad)
    for wide in (lambda: x.expand(2, 3), lambda: x.as_strided((2, 3), (0, 1))):
        with torch.no_grad(), pytest.raises(RuntimeError,
                match="more than one element of the written-to tensor refers to a single memory location"):
            write(wide())
    assert x.tolist() == [1, 1, 1]


def test_a_number_of_a_tensor_can_be_written_over_its_neighbours(torch):
    x = torch.arange(1.0, 5.0)
    x[:2] = x[2]
    assert x.tolist() == [3, 3, 3, 4]
    x.fill_(x[3])
    assert x.tolist() == [4, 4, 4, 4]
    y = torch.arange(1.0, 4.0, requires_grad=True)
    z = y * 1
    z[1:] = z[0]
    z.sum().backward()
    assert y.grad.tolist() == [3, 0, 0]


def custom_product(torch):
    """A custom function that saves both its inputs."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    return Product.apply


@pytest.mark.parametrize(
    "write, named",
    [
        (lambda t: t.add_(1), "Add"),
        (lambda t: t.mul_(2), "Mul"),
        (lambda t: t.copy_(t.detach().clone()), "torch::autograd::CopyBackwards"),
        (lambda t: t.zero_(), "Zero"),
        (lambda t: t[0].fill_(5.0), "torch::autograd::CopySlices"),
        (lambda t: t.view(-1).mul_(2), "torch::autograd::CopySlices"),
        (lambda t: t.data.add_(1), None),
        (lambda t: t.detach().add_(1), "Clone"),
        (lambda t: t.detach().t_().add_(1), "Clone"),
    ],
)
@pytest.mark.parametrize("custom", [False, True])
def test_the_complaint_names_a_history_of_what_was_saved(torch, write, named, custom):
    x = torch.ones(2, 2, requires_grad=True)
    t, u = x.clone(), torch.ones(2, 2)
    times = custom_product(torch) if custom else torch.mul
    y, other = times(t, x.exp()), times(x * 2, u)
    write(t)
    if named is None:
        y.sum().backward()
        return
    # PyTorch looks at the tensor as it is by now, we at what was saved
    with pytest.raises(RuntimeError, match=rf"\[torch.FloatTensor \[2, 2\]\], which is output 0 of ({named}|Clone), is "
            r"at version [12]; expected"):
        y.sum().backward()
    u.mul_(x)  # a constant that has a history now
    with pytest.raises(RuntimeError,
            match=r"\[2, 2\]\](, which is output 0 of Mul,)? is at version 1; expected version 0 instead"):
        other.sum().backward()


def test_the_complaint_names_the_node_of_a_result_and_of_a_view(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x.exp()
    z = y.sin()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="which is output 0 of (Mul|Exp), is at version 1"):
        z.sum().backward(retain_graph=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="which is output 0 of Exp, is at version 1"):
        y.sum().backward()
    base = x.clone()
    view = base[0]
    z = view * view
    base.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of (AsStrided|Select), is at version 1"):
        z.sum().backward()


def test_a_complaint_about_a_write_names_the_kind_of_piece(torch):
    x = torch.ones(2, 3, requires_grad=True)
    part = x.clone().unbind(0)[0]
    with pytest.raises(RuntimeError, match="Output 0 of Select(Backward0)? is a view and is being modified inplace"):
        part[..., 0] = 2.0
    with pytest.raises(RuntimeError, match="Output 0 of Slice(Backward0)? is a view and is being modified inplace"):
        part[1:] = 2.0


def test_a_leaf_that_looks_at_its_memory_in_another_way_keeps_its_accumulator(torch):
    x = (torch.arange(6.0).reshape(2, 3) * 1).requires_grad_()
    y = x * 2
    with torch.no_grad():
        x.unsqueeze_(0)
    z = x * 3
    assert z.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[0][0]
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g.tolist() == [[2.0] * 3] * 2
    base = (x * 1).relu()
    view = base.view(3, 2)
    base.mul_(2)
    with torch.no_grad():
        view.t_()
    assert view.grad_fn.name() == "AsStridedBackward0" and view.shape == (2, 3)


def test_a_write_through_a_view_is_gone_after_a_backward(torch):
    x = torch.ones(2, 2, requires_grad=True)
    y = x.clone()
    y[0] = 3.0  # remembers nothing, yet there is no second time
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(y.sum(), x, create_graph=True)
    y = x.clone()
    y[0].mul_(2)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [[4.0, 4.0], [3.0, 3.0]]


def test_a_write_through_a_view_computes_what_is_asked_for(torch):
    x, row = torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    seen = []
    y = x.clone()
    y[0] = row
    y.grad_fn.register_hook(lambda gi, go: seen.append([g is not None for g in gi]))
    torch.autograd.grad(y.sum(), row, retain_graph=True)
    torch.autograd.grad(y.sum(), x, retain_graph=True, create_graph=True)
    y.sum().backward()
    assert seen == [[False, True], [True, False], [True, True]]
    constant = torch.zeros(2, 2)
    constant[0] = row
    assert [g is not None for g in constant.grad_fn(torch.ones(2, 2))] == [False, True]


@pytest.mark.parametrize(
    "copied",
    [("slice_copy", 0, 0, 2), ("alias_copy",), ("detach_copy",), ("as_strided_copy", (2, 2), (1, 2)),
        ("narrow_copy", 1, 1, 2)]
)
def test_copies_of_views_lie_row_by_row(torch, copied):
    name, *args = copied
    x = torch.randn(4, 3, 2, 2).to(memory_format=torch.channels_last)
    assert getattr(torch, name)(x, *args).is_contiguous()


@pytest.mark.parametrize("name", ["unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes"])
def test_unsafe_pieces_share_memory_but_are_no_views(torch, name):
    x = torch.zeros(4)
    piece = getattr(torch, name)(x, [2, 2] if "sizes" in name else 2)[0]
    piece.add_(1)
    assert x.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert not piece._is_view() and piece._version == 1 and x._version == 0
    x = torch.zeros(4, requires_grad=True)
    piece = getattr(torch, name)(x * 2, [2, 2] if "sizes" in name else 2)[0]
    piece.mul_(3)
    piece.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 0.0, 0.0]


def _unrecorded(torch, kind):
    """``(x, view)``: a view of ``x``, of something computed from it, or made before it required a gradient."""
    if kind == "late":
        x = torch.ones(4)
        view = x.view(2, 2)
        x.requires_grad_()
        return x, view
    x = torch.ones(4, requires_grad=True)
    base = x if kind == "leaf" else x * 2
    with torch.no_grad():
        return x, base.view(2, 2)


@pytest.mark.parametrize("kind", ["leaf", "computed", "late"])
def test_the_gradient_of_an_unrecorded_view_goes_nowhere(torch, kind):
    x, view = _unrecorded(torch, kind)
    assert view.requires_grad and view.is_leaf and view.grad_fn is None
    seen = []
    view.register_hook(seen.append)
    y = (view * 3).sum()
    assert y.requires_grad
    y.backward()
    assert view.grad is None and x.grad is None and seen == []
    assert torch.autograd.grad((view * 3).sum(), view, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((view * 3).sum(), view)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        view.backward(torch.ones(2, 2))
    (view.exp() + x.view(2, 2)).sum().backward()
    assert view.grad is None and x.grad.tolist() == [1.0] * 4


@pytest.mark.parametrize("kind", ["leaf", "computed", "late"])
def test_an_unrecorded_view_becomes_a_leaf_when_asked(torch, kind):
    x, view = _unrecorded(torch, kind)
    (view.requires_grad_() * 3).sum().backward()
    assert view.grad.tolist() == [[3.0, 3.0]] * 2 and x.grad is None


def test_views_are_recorded_anew_by_their_steps_under_force_original_view_tracking(torch):
    C = torch._C
    assert not C._is_view_replay_enabled()
    for wanted in (True, False):
        with torch.autograd._force_original_view_tracking(wanted):
            assert C._is_view_replay_enabled() is wanted
            base = torch.ones(2, 2, requires_grad=True).clone()
            view = base.diagonal()
            base.mul_(2)
            assert view.grad_fn.name() == ("DiagonalBackward0" if wanted else "AsStridedBackward0")
        assert not C._is_view_replay_enabled()
