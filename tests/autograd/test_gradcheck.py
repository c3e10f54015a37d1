"""gradcheck and gradgradcheck: what passes, what fails and how it is told; verdicts are ours."""

from __future__ import annotations

import warnings

import pytest


def doubles(torch, *values, dtype=None):
    return torch.tensor(values, dtype=dtype or torch.float64, requires_grad=True)


def halved(torch):
    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    return Halved.apply


@pytest.mark.parametrize("fast", [False, True])
def test_right_gradients_pass(torch, fast):
    x, y = doubles(torch, 0.5, 2.0), doubles(torch, 1.5)
    assert torch.autograd.gradcheck(lambda x, y: (x.exp() * y, x - y), (x, y), fast_mode=fast)
    assert torch.autograd.gradgradcheck(lambda x, y: x.exp() * y, (x, y), fast_mode=fast)
    assert torch.autograd.gradcheck(lambda x: x.sum(), [x], check_batched_grad=True)


@pytest.mark.parametrize("fast", [False, True])
def test_complex(torch, fast):
    z = doubles(torch, 1 + 2j, 0.3 - 1j, dtype=torch.complex128)
    x = doubles(torch, 1.0, 2.0)
    assert torch.autograd.gradcheck(lambda z: z * z.conj() * z, (z,), fast_mode=fast)
    assert torch.autograd.gradcheck(torch.abs, z, fast_mode=fast)
    assert torch.autograd.gradcheck(lambda x: torch.complex(x, x * x) * x, x, fast_mode=fast)
    assert torch.autograd.gradgradcheck(lambda z: z.exp() * z, z)


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_gradient_is_shown(torch, fast):
    with pytest.raises(torch.autograd.gradcheck.__globals__["GradcheckError"], match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(halved(torch), doubles(torch, 1.0, 2.0), fast_mode=fast)
    assert torch.autograd.gradcheck(halved(torch), doubles(torch, 1.0, 2.0), fast_mode=fast, raise_exception=False) is False


def test_a_wrong_complex_gradient_says_which_part(torch):
    class Unconjugated(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    with pytest.raises(RuntimeError, match="While considering the imaginary part of complex outputs only, Jacobian mismatch"):
        torch.autograd.gradcheck(Unconjugated.apply, doubles(torch, 1 + 2j, dtype=torch.complex128))


def test_inputs_are_checked_first(torch):
    check = torch.autograd.gradcheck
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        check(lambda x: x, torch.ones(2))
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        check(lambda x: x * 2, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_())
    with pytest.warns(UserWarning, match="not a double precision floating point"):
        check(lambda x: x * 2, doubles(torch, 1.0, dtype=torch.float32), eps=1e-1)
    with pytest.raises(AssertionError, match="at least one of check_forward_ad or check_backward_ad"):
        check(lambda x: x, doubles(torch, 1.0), check_backward_ad=False)


def test_outputs_without_gradient_must_not_move(torch):
    x = doubles(torch, 1.0)
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        torch.autograd.gradcheck(lambda x: x.detach() * 1, x)
    assert torch.autograd.gradcheck(lambda x: (x * 2, x.detach() * 0), x)


def test_two_backwards_must_agree(torch):
    class Drifting(torch.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            Drifting.calls += 1
            return g * (1 + 1e-9 * Drifting.calls)

    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        torch.autograd.gradcheck(Drifting.apply, doubles(torch, 1.0))
    assert torch.autograd.gradcheck(Drifting.apply, doubles(torch, 1.0), nondet_tol=1e-6)


def test_undefined_gradients(torch):
    class Insists(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if g is None:
                raise RuntimeError("a gradient, please")
            return g * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
            torch.autograd.gradcheck(Insists.apply, doubles(torch, 1.0))
    assert torch.autograd.gradcheck(Insists.apply, doubles(torch, 1.0), check_undefined_grad=False)


def test_backward_must_scale_with_its_gradient(torch):
    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return torch.ones_like(g)

    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        torch.autograd.gradcheck(Constant.apply, doubles(torch, 1.0))


def test_closures_see_the_moved_input(torch):
    x = doubles(torch, 1.0, 2.0)
    assert torch.autograd.gradcheck(lambda _: x * x, x)
    assert x.tolist() == [1.0, 2.0]


def test_gradgradcheck_with_own_vectors(torch):
    x = doubles(torch, 0.5, 2.0)
    assert torch.autograd.gradgradcheck(lambda x: x.sin(), x, doubles(torch, 1.0, -1.0))
    assert torch.autograd.gradgradcheck(lambda x: x.sin(), x, gen_non_contig_grad_outputs=True)

    def once(x):
        return halved(torch)(x) * 2

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(once, x)


def test_the_module_and_the_function_share_a_name(torch):
    from importlib import import_module

    module = import_module(f"{torch.__name__}.autograd.gradcheck")
    assert issubclass(module.GradcheckError, RuntimeError) and callable(torch.autograd.gradcheck)
    assert module.gradgradcheck is torch.autograd.gradgradcheck


# -- verdicts: ours alone ---------------------------------------------------------------------------------------------


def verdict(func, *inputs, **options):
    import wengert

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(wengert.autograd.gradcheck.__globals__["GradcheckError"]) as caught:
            wengert.autograd.gradcheck(func, inputs, **options)
    assert f"verdict: {caught.value.verdict}" in str(caught.value)
    return caught.value


def test_verdict_wrong():
    import wengert as ours

    error = verdict(halved(ours), doubles(ours, 1.0, 3.0))
    assert error.verdict == "wrong" and error.index == (0, (1,), 0, (1,)) and "0.5 times" in str(error)


@pytest.mark.parametrize(("name", "at"), [("relu", 0.0), ("relu", 5e-7), ("floor", 2.0), ("abs", -9e-7)])
def test_verdict_kink(name, at):
    import wengert as ours

    error = verdict(getattr(ours, name), doubles(ours, 1.5, at))
    assert error.verdict == "kink" and error.index == (0, (1,), 0, (1,))


def test_verdict_precision():
    import wengert as ours

    assert verdict(lambda x: x * x, doubles(ours, 1.0, 2.0, dtype=ours.float32)).verdict == "precision"
    assert verdict(lambda x: x**3, doubles(ours, 0.5, 2.0), eps=0.3).verdict == "precision"


def test_verdict_non_deterministic():
    import wengert as ours

    assert verdict(lambda x: ours.nn.functional.dropout(x, 0.5), doubles(ours, *[1.0] * 8)).verdict == "non-deterministic"


def test_verdict_wrong_at_a_kink_is_wrong():
    import wengert as ours

    class Five(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.abs()

        @staticmethod
        def backward(ctx, g):
            return 5 * g

    assert verdict(Five.apply, doubles(ours, 0.0)).verdict == "wrong"
