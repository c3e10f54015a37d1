"""Smaller agreements: data exchanged between forward and backward, what ``grad`` catches, who may be written to."""

from __future__ import annotations

import pytest


def _five(torch, n=3):
    return torch.full((n,), 5.0)


def test_data_set_between_forward_and_backward_is_what_the_gradient_sees(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * x
    x.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [10.0] * 3

    x, w = torch.ones(3, requires_grad=True), torch.ones(3)
    y = x * w
    w.data = _five(torch) * 2
    w.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [5.0] * 3

    x = torch.ones(3, requires_grad=True)
    h = x * 1
    y = h * h
    h.data = _five(torch)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [10.0] * 3
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [10.0] * 3


def test_data_set_leaves_saved_results_and_views_as_they_were(torch):
    x = torch.zeros(3, requires_grad=True)
    y = x.exp()
    y.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 3

    x, w = torch.ones(2, requires_grad=True), torch.ones(3)
    y = x * w[:2]
    w.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 2


def test_uses_after_data_was_set_and_writes_after_them(torch):
    x, w = torch.ones(3, requires_grad=True), torch.ones(3)
    first = x * w
    w.data = _five(torch)
    second = x * w
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [10.0] * 3
    third = x * w
    w.data = _five(torch) * 2
    third.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20.0] * 3
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        third.sum().backward()


def test_data_set_and_a_custom_function(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = torch.ones(3, requires_grad=True)
    y = Square.apply(x)
    x.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [10.0] * 3


def test_what_grad_catches_on_the_way_is_from_before_the_hooks(torch):
    def made():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return x, y

    x, y = made()
    assert [g.tolist() for g in torch.autograd.grad((y * 3).sum(), [y, x])] == [[3.0] * 3, [60.0] * 3]
    x, y = made()
    assert torch.autograd.grad((y * 3).sum(), y)[0].tolist() == [30.0] * 3
    x, y = made()
    (y * 3).sum().backward(inputs=[y, x])
    assert y.grad.tolist() == [30.0] * 3 and x.grad.tolist() == [60.0] * 3


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


OUT = {"zeros": (3,), "ones": (3,), "rand": (3,), "eye": (3,), "arange": (3,), "full": ((3,), 1.0),
    "linspace": (0, 1, 3), "logspace": (0, 1, 3),
       "randint": (3, (3,)), "randperm": (3,)}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_creation_refuses_an_out_that_requires_grad(torch, name):
    out = torch.full((3,), 7.0, requires_grad=True)
    with pytest.raises(RuntimeError,
            match=rf"{name}\(\): functions with out=... arguments don't support automatic differentiation"):
        getattr(torch, name)(*OUT[name], out=out)
    assert out.tolist() == [7.0] * 3
    with torch.no_grad():
        assert getattr(torch, name)(*OUT[name], out=out) is out


@pytest.mark.parametrize("name", ["randn", "empty"])
def test_creation_that_would_resize(torch, name):
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        getattr(torch, name)(3, out=torch.zeros(3, requires_grad=True))
