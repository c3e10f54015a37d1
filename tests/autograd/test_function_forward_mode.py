"""Custom Functions with ``jvp``: what it may return, what the context holds, and pure views."""

from __future__ import annotations

import pytest


def function(torch, forward, jvp, backward=None):
    body = {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    return type("F", (torch.autograd.Function,), body).apply


FIRST_ROWS = [
    ("a view of the tangent", lambda t: t.narrow(0, 0, 2), None),
    ("no view", lambda t: t.narrow(0, 0, 2).clone(), "not returning a view."),
    ("a view of something else", lambda t: t.narrow(0, 0, 2).clone()[:],
        "not returning a view of the given grad input"),
]


@pytest.mark.parametrize("jvp, error", [row[1:] for row in FIRST_ROWS], ids=[row[0] for row in FIRST_ROWS])
def test_a_view_has_a_view_for_tangent(torch, forward_ad, jvp, error):
    f = function(torch, lambda ctx, x: x.narrow(0, 0, 2), lambda ctx, t: jvp(t))
    x, t = torch.rand(4, 3), torch.rand(4, 3)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        if error is None:
            found = forward_ad.unpack_dual(f(d)).tangent
            assert found._base is t and torch.equal(found, t[:2])
        else:
            with pytest.raises(RuntimeError, match=error):
                f(d)


def test_a_view_of_a_tangent_that_is_a_view(torch, forward_ad):
    f = function(torch, lambda ctx, x: x.narrow(0, 0, 2), lambda ctx, t: t.narrow(0, 0, 2).clone()[:])
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="view of the same base as the given grad input"):
        f(forward_ad.make_dual(torch.rand(4, 3), torch.rand(4, 3)[:]))


@pytest.mark.parametrize("returned", ["itself", "a product", "a view"])
def test_an_argument_returned_as_it_is(torch, forward_ad, returned):
    hand_on = {"itself": lambda t: t, "a product": lambda t: t * 2, "a view": lambda t: t.view_as(t)}[returned]
    f = function(torch, lambda ctx, x, y: (x + y, x), lambda ctx, s, t: (s + t, hand_on(s)))
    x, y, t = torch.tensor(1.0), torch.tensor(2.0), torch.tensor(5.0)
    with forward_ad.dual_level():
        if returned == "a view":
            assert forward_ad.unpack_dual(f(forward_ad.make_dual(x, t), y)[1]).tangent._base is t
        else:
            with pytest.raises(RuntimeError, match=r"forward is returning a view \(or an input as-is\)"):
                f(forward_ad.make_dual(x, t), y)


@pytest.mark.parametrize("jvp, error", [
    (lambda t: t.mul_(2), None),
    (lambda t: t * 2, "not modifying the forward mode gradients inplace"),
    (lambda t: t.mul_(2).view_as(t), "not returning the forward mode gradients as-is"),
])
def test_in_place(torch, forward_ad, jvp, error):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    f = function(torch, forward, lambda ctx, t: jvp(t))
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2), torch.tensor([1.0, 3.0])).clone()
        if error is None:
            assert forward_ad.unpack_dual(f(x)).tangent.tolist() == [2, 6]
        else:
            with pytest.raises(RuntimeError, match=error):
                f(x)


def test_no_tangent_for_what_has_no_gradient(torch, forward_ad):
    def forward(ctx, x):
        counted = x.clone()
        ctx.mark_non_differentiable(counted)
        return x.clone(), counted, x > 0

    x, t = torch.tensor(2.0), torch.tensor(1.0)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        found = function(torch, forward, lambda ctx, t: (t, None, None))(d)
        assert [forward_ad.unpack_dual(y).tangent is None for y in found] == [False, True, True]
        for wrong in (lambda ctx, t: (t, t.clone(), None), lambda ctx, t: (t, None, t.clone())):
            with pytest.raises(RuntimeError, match="You should return None at that position instead"):
                function(torch, forward, wrong)(d)


def test_as_many_tangents_as_outputs(torch, forward_ad):
    f = function(torch, lambda ctx, x: (x.clone(), x.clone()), lambda ctx, t: t)
    with forward_ad.dual_level(), pytest.raises(RuntimeError,
            match=r"invalid number of forward gradients \(expected 2 but got 1\)"):
        f(forward_ad.make_dual(torch.ones(1), torch.ones(1)))


def test_a_tangent_is_a_tensor(torch, forward_ad):
    f = function(torch, lambda ctx, x: x.clone(), lambda ctx, t: 3)
    with forward_ad.dual_level(), pytest.raises(RuntimeError,
            match=r"expected Variable or None \(got int\) for grad output 0"):
        f(forward_ad.make_dual(torch.ones(1), torch.ones(1)))


def test_integers_have_no_tangent(torch, forward_ad):
    seen = []

    def jvp(ctx, t, i, s):
        seen.append((i, s.tolist()))
        return t

    f = function(torch, lambda ctx, x, i, k: x * k, jvp)
    with forward_ad.dual_level():
        f(forward_ad.make_dual(torch.ones(1), torch.ones(1)), torch.tensor(3), torch.ones(1))
    assert seen == [(None, [0.0])]


def test_each_mode_has_its_own_saved_tensors(torch, forward_ad):
    seen = {}

    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(y)
        return x * y

    def jvp(ctx, s, t):
        seen["jvp"] = [v.item() for v in ctx.saved_tensors]
        return s

    def backward(ctx, g):
        seen["backward"] = [v.item() for v in ctx.saved_tensors]
        return g, g

    f = function(torch, forward, jvp, backward)
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    f(x, y).backward()
    assert seen == {"backward": [2, 3]}
    seen.clear()
    with forward_ad.dual_level():
        f(forward_ad.make_dual(x, torch.tensor(1.0)), y).backward()
    assert seen == {"jvp": [3], "backward": [2, 3]}


def test_what_was_saved_for_backward_is_not_seen_by_jvp(torch, forward_ad):
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    def jvp(ctx, t):
        seen.append(ctx.saved_tensors)
        return t

    with forward_ad.dual_level():
        function(torch, forward, jvp)(forward_ad.make_dual(torch.ones(1), torch.ones(1)))
    assert seen == [()]


# -- pure views -------------------------------------------------------------------------------------------------------


def pure(torch, make, calls):
    def forward(ctx, x):
        ctx._is_pure_view = True
        return make(x)

    def backward(ctx, g):
        calls.append(1)
        return torch.cat([g, g.new_zeros(2)])

    return (type("Pure", (torch.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply)


def test_a_pure_view_can_be_written_to(torch):
    calls = []
    x = torch.ones(4, requires_grad=True)
    base = x * 1
    view = pure(torch, lambda t: t[:2], calls)(base)
    view.mul_(3)
    base.sum().backward()
    assert x.grad.tolist() == [3, 3, 1, 1]
    assert calls == []  # the write made the history that of the base
    x.grad = None
    pure(torch, lambda t: t[:2], calls)(x * 1).sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0] and calls == [1]


def test_other_views_of_functions_cannot_be_written_to(torch):
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2]

        @staticmethod
        def backward(ctx, g):
            return torch.cat([g, g.new_zeros(2)])

    view = Plain.apply(torch.ones(4, requires_grad=True) * 1)
    with pytest.raises(RuntimeError,
            match="Output 0 of Plain is a view .* This view was created inside a custom Function"):
        view.mul_(3)


def test_a_pure_view_of_a_temporary_cannot_be_written_to(torch):
    view = pure(torch, lambda t: t.clone()[:2], [])(torch.ones(4, requires_grad=True) * 1)
    with pytest.raises(RuntimeError,
            match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        view.mul_(3)


def test_a_pure_view_has_one_input_and_one_output(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx._is_pure_view = True
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError,
            match="Pure view custom Function can only have one input Tensor and one output Tensor"):
        Two.apply(torch.ones(1, requires_grad=True) * 1, torch.ones(1))


def test_tangents_of_outputs_that_are_no_tensors_are_not_looked_at(torch, forward_ad):
    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 3, x * 2, "s"

        @staticmethod
        def jvp(ctx, t):
            return t, t * 2, t

    with forward_ad.dual_level():
        number, y, text = Several.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))
        assert (number, text) == (3, "s") and forward_ad.unpack_dual(y).tangent.tolist() == [2, 2]
