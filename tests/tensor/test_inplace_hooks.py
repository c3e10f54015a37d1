"""Hooks and retained gradients of tensors that are written to in place, of views, and of several outputs."""

from __future__ import annotations

import functools
import gc
import weakref

import pytest


def one(torch):
    return torch.tensor([1.0], requires_grad=True).clone()


def fail(g):
    raise AssertionError("this hook belongs to a gradient that is not computed")


def test_a_hook_stays_with_the_value_it_was_registered_on(torch):
    log = []

    def noting(name):
        def hook(g):
            log.append((name, g.item()))
            return g * 2

        return hook

    a = torch.tensor([1.0], requires_grad=True)
    b = a.clone()
    b.register_hook(noting("before"))
    b.mul_(2)
    b.register_hook(noting("after"))
    b.sum().backward()
    assert log == [("after", 1.0), ("before", 4.0)]
    assert a.grad.item() == 8.0


def test_a_hook_survives_several_writes(torch):
    log = []
    a = torch.tensor([1.0], requires_grad=True)
    b = a.clone()
    b.register_hook(lambda g: log.append(g.item()) or g * 2)
    b.mul_(2)
    b.mul_(2)
    b.sum().backward()
    assert log == [4.0] and a.grad.item() == 8.0


@pytest.fixture
def double_mul(torch):
    class DoubleMul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g1, g2):
            return g1 * 2 + g2 * 3

    return DoubleMul.apply


def test_hooks_on_several_outputs_after_a_write_to_one(torch, double_mul):
    log = []
    a = torch.tensor([1.0], requires_grad=True)
    b, c = double_mul(a)
    b.register_hook(lambda g: log.append(("b before", g.item())))
    c.register_hook(lambda g: log.append(("c", g.item())))
    b.mul_(2)
    b.register_hook(lambda g: log.append(("b after", g.item())))
    (b + c * 3).sum().backward()
    assert sorted(log) == [("b after", 1.0), ("b before", 2.0), ("c", 3.0)]
    assert a.grad.item() == 13.0


def test_hooks_on_views_after_a_write_to_the_base(torch):
    seen = []
    base = one(torch)
    view, view2 = base[:], base[:]
    view.register_hook(fail)
    view2.register_hook(fail)
    base.mul_(2)
    view2.grad_fn  # asked for, so that the view takes its new history
    view2.register_hook(lambda g: seen.append(g.tolist()))
    (view + view2).sum().backward()
    assert seen == [[1.0]]


def test_retained_gradients_after_writes(torch):
    for writes in (1, 2):
        a = one(torch)
        a.retain_grad()
        for _ in range(writes):
            a.mul_(2)
        a.sum().backward()
        assert a.grad.tolist() == [1.0]

    a = one(torch)
    a.retain_grad()
    a.sum().backward(retain_graph=True)
    a.mul_(2)
    a.sum().backward()
    assert a.grad.tolist() == [2.0]


def test_a_write_through_a_view_keeps_the_retained_gradient_of_the_view(torch):
    base = one(torch)
    view, view2 = base[:], base[:]
    view.retain_grad()
    view2.retain_grad()
    view.mul_(2)
    (view + view2).sum().backward()
    assert view.grad.tolist() == view2.grad.tolist() == [1.0]


def test_a_write_through_a_view_keeps_the_retained_gradient_of_the_base(torch):
    base = one(torch)
    base.retain_grad()
    base[:].mul_(2)
    (base * 3).sum().backward()
    assert base.grad.tolist() == [3.0]


def test_retained_gradients_of_several_outputs_after_a_write_to_one(torch, double_mul):
    for fn in (double_mul, functools.partial(torch.var_mean, dim=0)):
        x = torch.rand(3, 3, requires_grad=True)
        first, second = fn(x)
        first.retain_grad()
        second.retain_grad()
        first.mul_(2)
        (first + second).sum().backward(retain_graph=True)
        assert first.grad.unique().tolist() == second.grad.unique().tolist() == [1.0]


def test_retained_gradients_of_several_outputs_after_writes_to_each():
    import wengert as torch

    first, second = torch.var_mean(torch.rand(3, 3, requires_grad=True), 0)
    first.retain_grad()
    second.retain_grad()
    second.mul_(2)
    first.mul_(5)
    (first + second * 3).sum().backward()
    assert first.grad.unique().tolist() == [1.0] and second.grad.unique().tolist() == [3.0]


def test_a_retained_gradient_adds_up_over_backwards(torch):
    y = one(torch)
    y.retain_grad()
    (y * 3).sum().backward(retain_graph=True)
    (y * 4).sum().backward(retain_graph=True)
    assert y.grad.tolist() == [7.0]
    y.grad = None
    (y * 4).sum().backward()
    assert y.grad.tolist() == [4.0]


def test_retain_grad_on_leaves_does_nothing_and_needs_a_gradient(torch):
    x = torch.ones(1, requires_grad=True)
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match=r"can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(1).retain_grad()


def test_a_retained_gradient_does_not_keep_its_tensor_alive(torch):
    x = torch.ones(3, requires_grad=True)
    gc.disable()
    try:

        def run():
            y = x * 2
            y.retain_grad()
            return y / 2, weakref.ref(y)

        z, ref = run()
        assert ref() is None
        z.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0, 1.0]
    finally:
        gc.enable()


def test_retain_grad_with_create_graph(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    y.retain_grad()
    z = y**2
    torch.autograd.grad(z, x, create_graph=True)
    assert y.grad.requires_grad and y.grad.item() == 8.0


def test_detach_in_place_ends_the_history_and_leaves_the_hooks(torch):
    seen = []
    y = one(torch)
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.detach_()
    assert y.is_leaf and not y.requires_grad and y.grad_fn is None
    y.requires_grad_()
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0] and seen == [[3.0]]


def test_a_leaf_keeps_its_hooks_when_it_is_written_to(torch):
    seen = []
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda g: seen.append(g.item()))
    with torch.no_grad():
        x.mul_(2)
    (x * 3).backward()
    x.data = torch.zeros(1)
    (x * 3).backward()
    assert seen == [3.0, 3.0]


def test_hooks_of_a_leaf_that_becomes_a_result(torch):
    seen = []
    x = torch.zeros(2)
    w = torch.ones(2, requires_grad=True)
    x.mul_(w)
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.add_(w)
    x.sum().backward()
    assert seen == [[1.0, 1.0]]


def test_asking_twice_to_retain_a_gradient_does_not_look_at_the_view_again(torch):
    base = torch.ones(2, requires_grad=True).clone()
    part = base.unbind()[0]
    part.retain_grad()
    base.mul_(2)
    part.retain_grad()
    with pytest.raises(RuntimeError, match="is a view and its base or another view of its base has been modified"):
        base.clone().unbind()[0] + part
