"""Forward mode in custom Functions, and where it is switched off."""

from __future__ import annotations

import importlib

import pytest


def enabled(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")._is_fwd_grad_enabled()


def function(torch, forward_ad, seen, separate):
    def note(where, *tensors):
        seen.append((where, enabled(torch), [forward_ad.unpack_dual(t).tangent for t in tensors]))

    class Together(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            note("forward", x, x * 2)
            ctx.x = x
            return x * 3

        @staticmethod
        def backward(ctx, g):
            note("backward")
            return g * 3

        @staticmethod
        def jvp(ctx, t):
            note("jvp", ctx.x, t)
            return t * 3

    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x):
            note("forward", x, x * 2)
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            note("setup_context", inputs[0], output)
            ctx.x = inputs[0]

        backward, jvp = Together.backward, Together.jvp

    return (Apart if separate else Together).apply


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_tangents_are_out_of_sight_in_custom_functions(torch, forward_ad, separate, requires_grad):
    seen = []
    f = function(torch, forward_ad, seen, separate)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2, requires_grad=requires_grad), torch.full((2,), 5.0))
        y = f(x)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [15.0, 15.0]
        assert (
            {where for where, *_ in seen} == ({"forward", "setup_context", "jvp"} if separate else {"forward", "jvp"}))
        assert all(not on and tangents == [None, None] for _, on, tangents in seen)
        del seen[:]
        if requires_grad:
            torch.autograd.grad(y.sum(), x)
            assert seen == [("backward", True, [])]
    assert enabled(torch)


def test_without_a_level_too(torch, forward_ad):
    seen = []
    function(torch, forward_ad, seen, False)(torch.ones(2))
    assert seen[0][:2] == ("forward", False) and enabled(torch)


def test_a_failing_forward_leaves_forward_mode_on(torch, forward_ad):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("no")

    with forward_ad.dual_level():
        with pytest.raises(ValueError, match="no"):
            Failing.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))
        assert enabled(torch)
        y = forward_ad.make_dual(torch.ones(2), torch.ones(2)) * 2
        assert forward_ad.unpack_dual(y).tangent.tolist() == [2.0, 2.0]


def test_dual_tensors_made_where_forward_mode_is_off(torch, forward_ad):
    with forward_ad.dual_level():
        with forward_ad._set_fwd_grad_enabled(False):
            x = forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
            assert forward_ad.unpack_dual(x).tangent is None
            assert not enabled(torch)
        assert forward_ad.unpack_dual(x).tangent.tolist() == [3.0, 3.0]
    with forward_ad._set_fwd_grad_enabled(False), forward_ad.dual_level() as level:
        assert level == forward_ad._current_level == 0
        assert forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(2), torch.ones(2))).tangent is None
    assert forward_ad._current_level == -1


def test_writes_where_forward_mode_is_off_leave_the_tangent(torch, forward_ad):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2), torch.ones(2)) * 1
        with forward_ad._set_fwd_grad_enabled(False):
            x.mul_(3)
        assert x.tolist() == [3.0, 3.0] and forward_ad.unpack_dual(x).tangent.tolist() == [1.0, 1.0]


def test_inference_mode_has_no_forward_mode(torch, forward_ad):
    with torch.inference_mode():
        assert not enabled(torch)
        with forward_ad.dual_level():
            assert forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(2), torch.ones(2)) * 3).tangent is None
    with torch.no_grad():
        assert enabled(torch)


LAYERS = {
    "linear": (lambda F, x, w, b: F.linear(x, w, b), (2, 5, 3), (4, 3), (4,)),
    "linear of vectors": (lambda F, x, w, b: F.linear(x, w, b), (3,), (4, 3), (4,)),
    "convolution of rows": (lambda F, x, w, b: F.conv1d(x, w, b, stride=2), (2, 4, 6), (6, 4, 2), (6,)),
    "grouped convolution": (lambda F, x, w, b: F.conv2d(x, w, b, padding=1, groups=2), (2, 4, 4, 5), (6, 2, 2, 3),
        (6,)),
    "transposed convolution": (lambda F, x, w, b: F.conv_transpose2d(x, w, b), (2, 4, 3, 4), (4, 3, 2, 2), (3,)),
}


@pytest.mark.parametrize("moved", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_forward_over_reverse(torch, name, moved):
    layer, *shapes = LAYERS[name]
    torch.manual_seed(0)
    whole = [torch.randn(s, dtype=torch.float64) for s in shapes]
    along = [torch.randn(s, dtype=torch.float64) for s in shapes]

    def output(*some):
        row = list(whole)
        for i, x in zip(moved, some):
            row[i] = x
        return layer(torch.nn.functional, *row) ** 3

    def grads(*some):
        return torch.func.grad(lambda *args: output(*args).sum(), argnums=tuple(range(len(moved))))(*some)

    primals, tangents = (tuple(row[i] for i in moved) for row in (whole, along))
    _, pushed = torch.func.jvp(output, primals, tangents)
    moved_by = sum((g * t).sum() for g, t in zip(grads(*primals), tangents))
    assert torch.allclose(pushed.sum(), moved_by)
    _, products = torch.func.jvp(grads, primals, tangents)
    _, pull = torch.func.vjp(grads, *primals)
    for a, b in zip(products, pull(tangents)):  # the Hessian is symmetric
        assert torch.allclose(a, b)
