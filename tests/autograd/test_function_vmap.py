"""Custom functions in maps: what a ``vmap`` staticmethod is told and may give back, and rules made from the other
methods.
"""

from __future__ import annotations

import pytest


@pytest.fixture
def x(torch):
    return torch.tensor([1.0, 2.0, 3.0])


def made(torch, forward=lambda a: a * 2, backward=lambda ctx, g: g * 2, setup=lambda ctx, inputs, output: None, **more):
    methods = {"forward": forward, "backward": backward, "setup_context": setup, **more}
    return type("Own", (torch.autograd.Function,),
        {k: staticmethod(v) if callable(v) else v for k, v in methods.items()})


@pytest.mark.parametrize(
    ("answer", "found"),
    [(3, "a <class 'int'> instead"), ((1,), "1 returns instead"), ((1, 2, 3), "3 returns instead"),
        (None, "a <class 'NoneType'>")],
)
def test_two_things_come_back(torch, x, answer, found):
    own = made(torch, vmap=lambda info, dims, a: answer)
    with pytest.raises(RuntimeError,
            match=f"Expected the vmap staticmethod to have two returns, an output and out_dims .* Got {found}"):
        torch.vmap(own.apply)(x)


def test_what_is_handed_through_is_itself(torch, x):
    for dims in (0, None, 5):
        assert torch.vmap(made(torch, vmap=lambda info, _, a, dims=dims: (a, dims)).apply)(x).tolist() == [1, 2, 3]
    both = made(torch, vmap=lambda info, _, a: ((a, a * 2), (None, 0)))
    assert [t.tolist() for t in torch.vmap(both.apply)(x)] == [[1, 2, 3], [2, 4, 6]]


def test_what_a_rule_is_told(torch, x):
    told = []

    def rule(info, dims, a, b):
        told.append((info.batch_size, info.randomness, dims))
        return a * 2, dims[0]

    own = made(torch, forward=lambda a, b: a * 2, vmap=rule).apply
    wide = torch.arange(6.0).reshape(2, 3)
    torch.vmap(own, in_dims=(1, None), randomness="same")(wide, 3)
    torch.vmap(lambda a: own(a, {"k": a, "l": x}))(x)
    torch.vmap(lambda a: own(a, [a, (None, 2)]))(x)
    assert (
        told == [(3, "same", (1, None)), (3, "error", (0, {"k": 0, "l": None})), (3, "error", (0, [0, (None, None)]))])


def test_gradients_are_summed_to_each_examples_shape(torch):
    own = made(torch, forward=lambda a, b: a + b, backward=lambda ctx, g: (g, g), generate_vmap_rule=True).apply
    small, big = torch.func.vmap(torch.func.grad(lambda a, b: own(a, b).sum(), argnums=(0, 1)))(torch.ones(2, 3),
        torch.ones(2, 4, 3))
    assert small.tolist() == [[4.0] * 3] * 2 and big.tolist() == [[[1.0] * 3] * 4] * 2
    wide = made(torch, backward=lambda ctx, g: torch.ones(7), generate_vmap_rule=True).apply
    assert torch.vmap(torch.func.grad(wide))(torch.ones(3)).tolist() == [7.0] * 3


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda torch, g: (g, g), r"returned an incorrect number of gradients \(expected 1, got 2\)"),
        (lambda torch, g: 3, r"expected Variable or None \(got int\)"),
        (lambda torch, g: [g], r"expected Variable or None \(got list\)"),
    ],
)
def test_gradients_that_do_not_fit(torch, x, answer, text):
    own = made(torch, backward=lambda ctx, g: answer(torch, g), generate_vmap_rule=True).apply
    with pytest.raises(RuntimeError, match=text):
        torch.func.grad(lambda a: own(a).sum())(x)
    with pytest.raises(RuntimeError, match=text):
        torch.vmap(torch.func.grad(own))(x)


def test_more_gradients_that_are_none(torch, x):
    for answer, slope in ((lambda g: (g, None), 1.0), (lambda g: None, 0.0)):
        own = made(torch, backward=lambda ctx, g, answer=answer: answer(g), generate_vmap_rule=True).apply
        assert torch.vmap(torch.func.grad(own))(x).tolist() == [slope] * 3


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda t: (t, t), r"Function's jvp returned an invalid number of forward gradients \(expected 1 but got 2\)"),
        (lambda t: 3, r"expected Variable or None \(got int\) for grad output 0"),
    ],
)
def test_tangents_that_do_not_fit(torch, x, answer, text):
    own = made(torch, jvp=lambda ctx, t: answer(t), generate_vmap_rule=True).apply
    with pytest.raises(RuntimeError, match=text):
        torch.func.jvp(own, (x,), (x,))
    with pytest.raises(RuntimeError, match=text):
        torch.vmap(lambda a: torch.func.jvp(own, (a,), (a,)))(x)


def test_arguments_by_keyword_alone(torch):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(x, *, y=2):
            return x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, *, y=2):
            return x + y, in_dims[0]

    x = torch.ones(3)
    torch.testing.assert_close(torch.vmap(Sum.apply)(x), x + 2)
    torch.testing.assert_close(torch.vmap(lambda t: Sum.apply(t, y=3))(x), x + 3)
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        torch.vmap(Sum.apply)(x, y=x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        Sum.apply(x, y=3)
