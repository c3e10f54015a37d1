"""Custom Functions."""

from __future__ import annotations

import pytest


def test_forward_and_backward(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.save_for_backward(x)
            assert ctx.needs_input_grad == (True, False)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            assert len(ctx.saved_tensors) == 1
            return g * ctx.factor, None

    x = torch.ones(2, requires_grad=True)
    y = Scale.apply(x, 3.0)
    assert type(y.grad_fn).__name__ == "ScaleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_setup_context(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(g, x)
    assert g.item() == 6.0 and second.item() == 2.0


def test_several_outputs_and_undefined_gradients(torch):
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b))
            return 2 * a + 3 * b

    class TwoRaw(Two):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b))
            return 2 * a

    x = torch.ones(1, requires_grad=True)
    Two.apply(x)[0].backward()
    assert x.grad.item() == 2.0 and seen[0][1].item() == 0.0
    TwoRaw.apply(x)[0].backward()
    assert seen[1][1] is None


def test_non_differentiable_outputs(torch):
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            index = x.argmax()
            ctx.mark_non_differentiable(index)
            return x * 1, index

        @staticmethod
        def backward(ctx, g, _):
            return g

    y, index = Split.apply(torch.tensor([1.0, 3.0], requires_grad=True))
    assert y.requires_grad and not index.requires_grad and index.item() == 1


def test_in_place(torch):
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = AddOne.apply(y)
    assert z is y and y.tolist() == [3.0, 3.0]
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_wrong_number_of_gradients(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
        Wrong.apply(x, x).backward()


def test_once_differentiable(torch):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    x = torch.ones(1, requires_grad=True)
    (g,) = torch.autograd.grad(Once.apply(x), x, torch.ones(1, requires_grad=True), create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.backward()


def test_saved_outputs_make_no_cycle(torch):
    import gc
    import weakref

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    gc.disable()
    try:
        x = torch.ones(1, requires_grad=True)
        y = Exp.apply(x)
        alive = weakref.ref(y)
        y.backward()
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_the_users_traceback_arrives(torch):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("my own mistake")

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="my own mistake"):
        Broken.apply(x).backward()
    (x * 2).backward()
    assert x.grad.item() == 2.0
