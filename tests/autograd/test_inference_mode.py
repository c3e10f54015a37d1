"""Inference mode: what it makes, and how its tensors mix with others."""

from __future__ import annotations

import copy

import pytest

SAVED = "Inference tensors cannot be saved for backward. "
WRITTEN = "Inplace update to inference tensor outside InferenceMode is not allowed"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation"


def state(t):
    return t.is_inference(), t.requires_grad, t.is_leaf


def inference(torch, requires_grad=False, shape=(1, 2, 3)):
    with torch.inference_mode():
        return torch.ones(shape, requires_grad=requires_grad)


def test_the_switch(torch):
    assert not torch.is_inference_mode_enabled()
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
            assert state(torch.ones(1, requires_grad=True) * 2) == (False, True, False)
        with torch.enable_grad():
            assert torch.is_inference_mode_enabled()
        assert torch.is_inference_mode_enabled()
    with torch.no_grad(), torch.inference_mode(False):
        assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


def test_decorators(torch):
    @torch.inference_mode()
    def called(x):
        return x * x

    @torch.inference_mode
    def bare(x):
        return x * x

    @torch.inference_mode(mode=False)
    def normal(x):
        return x * x

    for requires_grad in (True, False):
        x = torch.ones(1, 2, 3, requires_grad=requires_grad)
        assert state(called(x)) == state(bare(x)) == (True, False, True)
        assert state(normal(x)) == (False, requires_grad, not requires_grad)


def test_creation(torch):
    with torch.inference_mode():
        for make in (lambda: torch.zeros(2), lambda: torch.tensor([1.0]), lambda: torch.rand(2),
            lambda: torch.ones(2).clone(),
                     lambda: torch.arange(3), lambda: torch.zeros(2)[0],
                     lambda: torch.nn.Linear(2, 2).bias):
            assert make().is_inference()
        assert torch.ones(2, requires_grad=True).requires_grad
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            torch.ones(2)._version
    assert not torch.ones(2).is_inference() and torch.is_inference(inference(torch))


def test_a_graph_from_before(torch):
    a = torch.ones(1, 2, 3, requires_grad=True).clone()
    out = a * a
    with torch.inference_mode():
        a.add_(2)
    assert not a.is_inference()
    with pytest.raises(RuntimeError,
            match="one of the variables needed for gradient computation has been modified by an inplace operation"):
        out.backward(torch.ones_like(out))


@pytest.mark.parametrize("requires_grad", [True, False])
def test_inference_tensors_inside(torch, requires_grad):
    with torch.inference_mode():
        c = torch.ones(1, 2, 3, requires_grad=requires_grad)
        assert state(c * c) == state(c + c.view(-1).sum()) == state(c.view(-1)) == (True, False, True)
        c.mul_(2)
        c.transpose_(0, 2)
        c.resize_(1)
        assert state(c) == (True, requires_grad, True)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_inference_tensors_outside(torch, requires_grad):
    c = inference(torch, requires_grad)
    for out in (c + c, c * c, c.sin()):
        assert state(out) == (False, False, True)
    view = c.view(-1)
    assert state(view) == (True, False, True) and not view._is_view() and view.grad_fn is None
    for write in (lambda: c.mul_(2), lambda: c.add_(1), lambda: c.transpose_(0, 2), lambda: c[0].zero_(),
            lambda: view.add_(1)):
        with pytest.raises(RuntimeError, match=f"{WRITTEN}|{LEAF}"):
            write()
        with torch.no_grad(), pytest.raises(RuntimeError, match=WRITTEN):
            write()
    normal = c.clone()
    assert state(normal)[:2] == (False, requires_grad)
    normal.add_(1)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_normal_tensors_inside(torch, requires_grad):
    s = torch.ones(1, 2, 3, requires_grad=requires_grad)
    a, b = s.clone(), s.clone()
    with torch.inference_mode():
        assert state(a * 2) == state(a.view(-1).sin()) == (True, False, True)
        a.mul_(2)
        a.transpose_(0, 2)
        assert state(a) == (False, requires_grad, not requires_grad) and a._version == 2
        view = a.transpose(0, 2).view(-1)
        assert not view.is_inference() and view._version == 2 and view._is_view()
        view.mul_(2)
        assert a._version == 3
        out = torch.empty(1, 2, 3)
        torch.add(s, s, out=out)
        assert out.is_inference()
        torch.add(out, out, out=b)
        assert not b.is_inference() and b.requires_grad == requires_grad
    a.add_(1)
    with torch.no_grad():
        view.mul_(2)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_mixes(torch, requires_grad):
    s, c = torch.ones(1, 2, 3, requires_grad=requires_grad), inference(torch, requires_grad)
    out = c.add(s)
    assert state(out) == (False, requires_grad, not requires_grad)
    a = s.clone()
    if requires_grad:
        out.backward(torch.ones_like(out))
        assert c.grad.tolist() == s.grad.tolist() == [[[1.0] * 3] * 2]
        for use in (lambda: c * s, lambda: a.mul_(c), lambda: s * c, lambda: s.reshape(2, 3) @ c.view(3, 2)):
            with pytest.raises(RuntimeError, match=SAVED):
                use()
        with torch.no_grad():
            assert state(c * s) == (False, False, True)
    else:
        assert state(c * s) == (False, False, True)
        a.mul_(c)
    for write in (lambda: c.mul_(s), lambda: c.add_(s)):
        with pytest.raises(RuntimeError, match=LEAF if requires_grad else WRITTEN):
            write()
    with torch.inference_mode():
        a.mul_(c)
        c.mul_(a)
        assert not a.is_inference() and c.is_inference()
    assert not s.view_as(c).is_inference() and c.view_as(s).is_inference()


def test_views_made_inside(torch):
    for requires_grad in (True, False):
        a = torch.ones(1, 2, 3, requires_grad=requires_grad).clone()
        with torch.inference_mode():
            view = a.view(-1)
        deep = view.view(2, 3)
        if not requires_grad:
            view.add_(2)
            deep.add_(2)
            a.add_(2)
            continue
        with pytest.raises(RuntimeError,
                match="A view was created in inference mode and is being modified inplace in normal mode"):
            view.add_(2)
        with pytest.raises(RuntimeError,
                match="is a view of a view which was created in inference mode and is being modified inplace"):
            deep.add_(2)
        a.add_(2)
        with pytest.raises(RuntimeError,
                match="inference mode and its base or another view of its base has been modified inplace"):
            view.grad_fn
        with torch.no_grad():
            view.add_(2)


def test_what_may_be_saved(torch):
    i, w = inference(torch, shape=(2, 2)), torch.ones(2, 2, requires_grad=True)
    for fine in (lambda: w + i, lambda: w - i, lambda: torch.cat([w, i]), lambda: w.expand_as(i),
            lambda: w.clone().copy_(i), lambda: w * i.clone()):
        assert fine().requires_grad
    for refused in (lambda: w * i, lambda: i @ w, lambda: i / w, lambda: torch.nn.functional.linear(i, w),
        lambda: w.clone().mul_(i),
                    lambda: torch.nn.functional.mse_loss(w, i)):
        with pytest.raises(RuntimeError, match=SAVED):
            refused()

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    with pytest.raises(RuntimeError, match=SAVED):
        Product.apply(w, i)


def test_requiring_gradients(torch):
    i = inference(torch)
    with pytest.raises(RuntimeError,
            match="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"):
        i.requires_grad_()
    assert i.requires_grad_(False) is i
    with torch.inference_mode():
        assert i.requires_grad_().requires_grad
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="does not require grad"):
            (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert not copy.deepcopy(inference(torch)).is_inference()
    j = inference(torch)
    assert j.detach().is_inference() and j.data.is_inference() and not j.contiguous().clone().is_inference()
    torch.autograd.graph.increment_version(j)


def test_enabled_gradients_record_nothing_in_inference_mode(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        with torch.enable_grad():
            assert torch.is_grad_enabled() and torch.is_inference_mode_enabled()
            for y in (x * 2, x.exp(), x.max(0)[0], torch.stack([x, x]),
                    torch.nn.functional.linear(x, torch.ones(3, 2, requires_grad=True))):
                assert not y.requires_grad and y.is_inference() and y.is_leaf
            view = x.view(2, 1)
            assert view.requires_grad and not view.is_inference() and view.is_leaf
            x.add_(0)
            with torch.no_grad():
                assert not torch.is_grad_enabled()
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        assert torch.is_grad_enabled() and not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert (x * 2).requires_grad
        assert torch.is_grad_enabled() and torch.is_inference_mode_enabled()
    assert torch.is_grad_enabled() and (x * 2).requires_grad


def test_functions_are_recorded_where_gradients_are_enabled_inside(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert Double.apply(x).grad_fn is None
        with torch.enable_grad():
            y = Double.apply(x)
            assert (x * 2).grad_fn is None  # an operator is not
            with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
                Double.apply(y)
    assert y.requires_grad and y.is_inference() and y.grad_fn.name() == "DoubleBackward"
    y.backward(torch.ones(2))
    assert x.grad.tolist() == [2.0, 2.0]


def test_detaching_in_place_does_nothing_inside(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        view = y[0]
        assert y.detach_() is y and x.detach_() is x and view.detach_() is view
    assert y.grad_fn is not None and x.requires_grad


def test_hooks_do_not_make_inference_tensors_fit_to_be_saved(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = torch.ones(2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t), pytest.raises(RuntimeError, match=SAVED):
        x * y


@pytest.mark.parametrize("get", [lambda t: t.detach(), lambda t: t.data, lambda t: t.detach().detach()],
    ids=["detach", "data", "twice"])
def test_what_is_detached_outside_may_be_written_to(torch, get):
    with torch.inference_mode():
        c = torch.ones(2)
        assert get(c).is_inference()
    d = get(c)
    assert d.is_inference() and d._version == 0
    d.add_(1)
    assert d._version == 1 and c.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        d.requires_grad_()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        c.add_(1)


@pytest.mark.parametrize("write", [lambda x: x.sum(), lambda x: (x * x).sum(), lambda x: x.view(3, 1).exp().sum(),
                                   lambda x: (x * 2 + x).sum()])
def test_gradients_computed_inside_are_inference_tensors(torch, write):
    x, seen = torch.ones(3, requires_grad=True), []
    x.register_hook(lambda g: seen.append(g.is_inference()))
    again, out, other = write(x), write(x), write(x)
    expected = torch.autograd.grad(write(x), x)[0]
    seen.clear()
    with torch.inference_mode():
        (found,) = torch.autograd.grad(again, x)
        out.backward()
    assert state(found) == state(x.grad) == (True, False, True) and seen == [True, True]
    assert torch.equal(found, expected) and torch.equal(x.grad, expected)
    with pytest.raises(RuntimeError, match=WRITTEN):
        other.backward()
    out, held = write(x), x.grad
    before = held.clone()
    with torch.inference_mode():
        out.backward()
    assert x.grad is held and torch.equal(held, before + expected)


def test_a_refused_accumulation_leaves_the_gradient_as_it_was():
    import wengert as torch

    x = torch.ones(3, requires_grad=True)
    x.grad = inference(torch, shape=(3,))
    with pytest.raises(RuntimeError, match=WRITTEN):
        (2 * x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_normal_gradient_is_added_to_inside(torch):
    x = torch.ones(3, requires_grad=True)
    held = x.grad = torch.ones(3)
    out = (x * x).sum()
    with torch.inference_mode():
        out.backward()
    assert x.grad is held and not held.is_inference() and held.tolist() == [3.0, 3.0, 3.0]


def test_functions_run_backward_in_the_mode_of_the_backward(torch):
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append((torch.is_inference_mode_enabled(), g.is_inference(), ctx.saved_tensors[0].is_inference()))
            return g * 2

    x = torch.ones(3, requires_grad=True)
    out = Double.apply(x).sum()
    with torch.inference_mode():
        out.backward()
    assert seen == [(True, True, False)] and x.grad.is_inference() and x.grad.tolist() == [2.0, 2.0, 2.0]


def test_data_of_an_inference_tensor(torch):
    x = torch.ones(3, requires_grad=True)
    x.data = inference(torch, shape=(3,)) * 2
    assert not x.is_inference()  # what normal mode made of an inference tensor is none
    x.data = inference(torch, shape=(3,))
    assert state(x) == (True, True, True) and x._version == 0
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    with torch.no_grad():
        x.mul_(2)
    assert x._version == 1
    with torch.inference_mode():
        x.mul_(2)
    assert x._version == 1  # what is done there is not counted
    for view in (x.view(-1), x[0], x[None]):
        assert state(view) == (True, False, True)
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            view._version
        with pytest.raises(RuntimeError, match=WRITTEN):
            view.mul_(2)
    assert state(x.detach()) == (True, False, True) and x.detach()._version == 0
    with pytest.raises(RuntimeError,
            match="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"):
        x.requires_grad_()
    x.data = torch.ones(3)
    assert state(x) == (False, True, True) and x[0]._is_view()


def test_parameters_given_data_in_inference_mode(torch):
    weight = torch.nn.Parameter(torch.ones(2))
    with torch.inference_mode():
        weight.data = weight.data * 3
    assert state(weight) == (True, True, True)
    with torch.no_grad():
        weight.add_(1)
    (weight * 2).sum().backward()
    assert weight.tolist() == [4, 4] and weight.grad.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["unsafe_split", "unsafe_chunk"])
def test_parts_that_are_views_in_inference_mode_only(torch, name):
    part = getattr(torch, name)
    x = torch.ones(4, requires_grad=True)
    with torch.inference_mode():
        first, second = part(x, 2)
    assert first._base is x and state(first) == (False, True, True) and first.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError,
            match="A view was created in inference mode and is being modified inplace in normal mode"):
        first.mul_(2)
    y = torch.ones(4)
    with torch.inference_mode():
        first, second = part(y, 2)
    first.mul_(2)
    assert y.tolist() == [2, 2, 1, 1] and (first._version, second._version, y._version) == (1, 0, 0)
    first, second = part(y, 2)
    assert not first._is_view()
    assert state(part(inference(torch, shape=(4,)), 2)[0]) == (True, False, True)


def test_the_same_bytes_in_another_type(torch):
    made_inside = inference(torch, shape=(4,))
    for kind in (torch.int32, torch.int64, torch.float32):
        seen = made_inside.view(kind)
        assert state(seen) == (False, False, True) and seen._version == 0
        seen.mul_(2)
        assert seen._version == 1
    x = torch.ones(4, requires_grad=True)
    with torch.inference_mode():
        for kind in (torch.int32, torch.float64, torch.float32):
            assert state(x.view(kind)) == (True, False, True)
    y = torch.ones(4)
    y.view(torch.int32).mul_(2)
    assert y._version == 1
