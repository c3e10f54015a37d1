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
    with pytest.raises(torch.autograd.gradcheck.__globals__["GradcheckError"],
            match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(halved(torch), doubles(torch, 1.0, 2.0), fast_mode=fast)
    assert (torch.autograd.gradcheck(halved(torch), doubles(torch, 1.0, 2.0), fast_mode=fast,
        raise_exception=False) is False)


def test_a_wrong_complex_gradient_says_which_part(torch):
    class Unconjugated(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    with pytest.raises(RuntimeError,
            match="While considering the imaginary part of complex outputs only, Jacobian mismatch"):
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


# -- what is refused, and how it is told ------------------------------------------------------------------------------


def nudged(torch, by=1e-2):
    """The identity, with a backward that adds something to every gradient."""

    def function(x):
        y = x.clone()
        y.register_hook(lambda g: g + by)
        return y

    return function


both_modes = pytest.mark.parametrize("fast", [False, True])


@both_modes
def test_a_module_of_ones_own_error(torch, fast):
    from importlib import import_module

    error = import_module(f"{torch.__name__}.autograd.gradcheck").GradcheckError
    x = torch.ones(2, 2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error, match="Jacobian mismatch for output 0 with respect to input 0"):
            torch.autograd.gradcheck(nudged(torch), (x,), fast_mode=fast)
        assert torch.autograd.gradcheck(nudged(torch), (x,), raise_exception=False, fast_mode=fast) is False

        def raises(x):
            raise RuntimeError("not about gradients")

        with pytest.raises(RuntimeError, match="not about gradients"):  # of other errors nothing is hidden
            torch.autograd.gradcheck(raises, (x,), raise_exception=False, fast_mode=fast)


@both_modes
def test_mismatch_of_complex_functions(torch, fast):
    check, part = torch.autograd.gradcheck, "While considering the imaginary part of complex outputs only"
    z = torch.ones(2, 2, dtype=torch.complex128, requires_grad=True)
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    for function, at, match in (
        (lambda t: t.clone(), z, part), (lambda t: torch.complex(t, t), x, part),
        (torch.real, z, "^Jacobian mismatch for output 0 with respect to input 0"),
    ):

        def spoilt(t, function=function):
            y = function(t)
            y.register_hook(lambda g: g + 1e-2)
            return y

        with pytest.raises(RuntimeError, match=match):
            check(spoilt, (at,), fast_mode=fast)


@both_modes
def test_outputs_must_keep_shape_and_dtype(torch, fast):
    x = doubles(torch, 1.0)
    for what, function in (
        ("shape", lambda x: torch.cat([x, x]) if bool((x >= 1).all()) else x),
        ("dtype", lambda x: x.to(torch.float32) if bool((x >= 1).all()) else x),
    ):
        with pytest.raises(AssertionError, match=f"return outputs with the same {what} when inputs are perturbed"):
            torch.autograd.gradcheck(function, (x,), fast_mode=fast)


@both_modes
def test_constant_functions(torch, fast):
    x = doubles(torch, 1.0)
    check = torch.autograd.gradcheck
    assert check(lambda x: (), (x,), fast_mode=fast)
    assert check(lambda x: torch.ones_like(x.detach()), (x,), fast_mode=fast)
    assert check(lambda x: x.detach() * 1, (x,), raise_exception=False, fast_mode=fast) is False
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        check(lambda x: x.detach() * 1j, (x,), fast_mode=fast)


@both_modes
def test_an_undefined_gradient_reaches_tensor_hooks(torch, fast):
    def insists(x):
        y = x.clone()

        def hook(g):
            if g is None:
                raise RuntimeError("a gradient, please")

        y.register_hook(hook)
        return y

    with pytest.warns(UserWarning, match="Backwards compatibility: New undefined gradient support checking feature"):
        with pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
            torch.autograd.gradcheck(insists, doubles(torch, 1.0), fast_mode=fast)
        assert torch.autograd.gradcheck(insists, doubles(torch, 1.0), fast_mode=fast, raise_exception=False) is False


@both_modes
def test_two_outputs_one_undefined(torch, fast):
    x, y = doubles(torch, 1.0, 2.0), doubles(torch, 3.0, 4.0)
    assert torch.autograd.gradcheck(lambda x, y: (x * y, x + y, torch.complex(x, y)), (x, y), fast_mode=fast)
    assert torch.autograd.gradcheck(lambda z: (z, torch.real(z)), doubles(torch, 1 + 1j, dtype=torch.complex128),
        fast_mode=fast)


@both_modes
def test_nondeterminism_has_a_tolerance(torch, fast):
    class Jittery(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, jitter):
            ctx.jitter = jitter
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return Jittery.apply(g, ctx.jitter) * (1 + torch.rand_like(g) * ctx.jitter), None

    x = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    check, double = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert check(lambda x: Jittery.apply(x, 0.0), x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        check(lambda x: Jittery.apply(x, 1e-6), x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        double(lambda x: Jittery.apply(x, 1e-12), x, fast_mode=fast)
    assert check(lambda x: Jittery.apply(x, 1e-6), x, nondet_tol=1e-5, fast_mode=fast)
    assert double(lambda x: Jittery.apply(x, 1e-12), x, nondet_tol=1e-5, fast_mode=fast)


def test_batched_gradients_are_not_random(torch):
    class Rolls(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            torch.randn_like(g)
            return g * 2

    x = doubles(torch, 1.0, 2.0)
    assert torch.autograd.gradcheck(Rolls.apply, (x,))
    with pytest.raises(RuntimeError, match="vmap: We do not yet support calling random operations inside of vmap"):
        torch.autograd.gradcheck(Rolls.apply, (x,), check_batched_grad=True)


# -- forward mode -----------------------------------------------------------------------------------------------------


def forward_ad(torch):
    from importlib import import_module

    return import_module(f"{torch.__name__}.autograd.forward_ad")


@both_modes
def test_forward_mode(torch, fast):
    ad = forward_ad(torch)

    def spoilt(x, y):
        if ad._current_level >= 0:
            value, tangent = ad.unpack_dual(y)
            y = ad.make_dual(value, tangent * 1.1)
        return x + y, y

    reals = doubles(torch, 0.5, 2.0), doubles(torch, 1.0, -1.0)
    z, w = (doubles(torch, 1 + 2j, 0.3 - 1j, dtype=torch.complex128) for _ in range(2))
    for x, y in (reals, (z, reals[1]), (z, w)):
        assert torch.autograd.gradcheck(lambda x, y: (x + y, y), (x, y), check_forward_ad=True, fast_mode=fast)
        with pytest.raises(RuntimeError,
                match="Jacobian computed with forward mode mismatch for output 0 with respect to input 1"):
            torch.autograd.gradcheck(spoilt, (x, y), check_forward_ad=True, fast_mode=fast)
    assert torch.autograd.gradcheck(lambda x: torch.view_as_real(torch.resolve_conj(x * 1j)), reals[0],
        check_forward_ad=True, fast_mode=fast)
    assert torch.autograd.gradgradcheck(lambda x: x.sin() * x, reals[0], check_fwd_over_rev=True, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero|mismatch"):
        torch.autograd.gradcheck(lambda x: x.detach() * 1, reals[0], check_forward_ad=True, fast_mode=fast)


@pytest.mark.parametrize("both", [True, False])
def test_how_often_tangents_are_asked_for(torch, both):
    ad = forward_ad(torch)
    calls, wanting = [], []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            if ad._current_level >= 0:
                wanting.extend((x.requires_grad, y.requires_grad))
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            calls.append(1)
            return x, y

    x, y = doubles(torch, 1.0), doubles(torch, 2.0).requires_grad_(both)
    found = []
    for undefined, batched in ((False, False), (True, False), (True, True)):
        calls.clear()
        assert torch.autograd.gradcheck(
            Twice.apply, (x, y), check_forward_ad=True, check_backward_ad=False, check_undefined_grad=undefined,
            check_batched_forward_grad=batched
        )
        found.append(len(calls))
    assert found == ([2, 6, 12] if both else [1, 2, 5])
    assert wanting and not any(wanting)


@both_modes
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("backward", [True, False])
def test_only_the_modes_asked_for_are_run(torch, forward, backward, fast):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, in_forward, in_backward):
            ctx.fails = in_forward, in_backward
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            if ctx.fails[1]:
                raise RuntimeError("backward fails")
            return 2 * g, None, None

        @staticmethod
        def jvp(ctx, t, _1, _2):
            if ctx.fails[0]:
                raise RuntimeError("forward fails")
            return 2 * t

    x = doubles(torch, 1.0, 2.0)
    options = {"check_forward_ad": forward, "check_backward_ad": backward, "check_undefined_grad": backward,
        "fast_mode": fast}
    for fails in ((False, False), (True, False), (False, True), (True, True)):
        if not (forward or backward):
            with pytest.raises(AssertionError, match="Expected at least one of"):
                torch.autograd.gradcheck(Fails.apply, (x, *fails), **options)
        elif (fails[1] and backward) or (fails[0] and forward):
            with pytest.raises(RuntimeError, match="backward fails" if fails[1] and backward else "forward fails"):
                torch.autograd.gradcheck(Fails.apply, (x, *fails), **options)
        else:
            assert torch.autograd.gradcheck(Fails.apply, (x, *fails), **options)


def test_batched_tangents(torch):
    x = doubles(torch, 1.0, 2.0)
    options = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False,
        "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(lambda a, b: (a.clone(), a + b), (x, 1), **options)
    assert torch.autograd.gradcheck(lambda a, b: a.clone(), (x, x.clone()), **options)

    class Rolls(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, t):
            torch.randn_like(t)
            return t * 2

    with pytest.raises(RuntimeError, match="vmap: We do not yet support calling random operations inside of vmap"):
        torch.autograd.gradcheck(Rolls.apply, (x,), **options)
    with pytest.raises(AssertionError, match="requires check_forward_ad to be True"):
        torch.autograd.gradcheck(Rolls.apply, (x,), check_batched_forward_grad=True)


# -- sparse tensors ---------------------------------------------------------------------------------------------------


def sparse(torch, *shape):
    x = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape) / 7
    x[0] = 0
    return x.to_sparse().requires_grad_()


@both_modes
@pytest.mark.parametrize("masked", [False, True])
def test_sparse_inputs(torch, fast, masked):
    check = torch.autograd.gradcheck
    whole = (torch.arange(4, dtype=torch.float64).reshape(2, 2) + 1).to_sparse().requires_grad_()
    assert check(lambda s: torch.sum(s), (whole,), masked=masked, fast_mode=fast)
    assert check(lambda s: s.to_dense(masked_grad=masked).sin(), (sparse(torch, 3),), masked=masked, fast_mode=fast)
    x = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    assert check(lambda x, s: x * s.coalesce().to_dense(masked_grad=masked), (x, sparse(torch, 2, 2)), masked=masked,
        fast_mode=fast)


def test_gradients_of_elements_that_are_not_stored(torch):
    s = sparse(torch, 3)
    assert torch.autograd.gradcheck(lambda s: s.to_dense(), (s,), masked=True)
    assert torch.autograd.gradcheck(lambda s: s.to_dense(), (s,), masked=False, raise_exception=False) is False
    s.to_dense(masked_grad=False).sum().backward()
    assert s.grad.to_dense().tolist() == [1.0, 1.0, 1.0]
    s.grad = None
    s.to_dense().sum().backward()
    assert s.grad.to_dense().tolist() == [0.0, 1.0, 1.0]
    s.grad = None
    torch.sum(s).backward()
    assert s.grad.layout is torch.strided and s.grad.tolist() == [1.0, 1.0, 1.0]


@both_modes
def test_sparse_outputs_are_refused(torch, fast):
    with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
        torch.autograd.gradcheck(lambda s: s, (sparse(torch, 3),), masked=True, raise_exception=False, fast_mode=fast)


@both_modes
def test_sparse_gradients_cannot_be_batched(torch, fast):
    s = sparse(torch, 3)
    with pytest.raises(RuntimeError, match="gradcheck or gradgradcheck failed while testing batched gradient"):
        torch.autograd.gradcheck(lambda s: s.to_dense(), (s,), masked=True, check_batched_grad=True, fast_mode=fast)


@both_modes
def test_sparse_gradients_have_the_right_kind(torch, fast):
    def flattened(s):
        y = s.clone()
        y.register_hook(lambda g: None if g is None else g.to_dense().to_sparse(1))
        return y.to_dense()

    check = torch.autograd.gradcheck
    s = torch.ones((2, 2), dtype=torch.float64, requires_grad=True).to_sparse()
    with pytest.raises(RuntimeError, match="grad is sparse tensor, but has incorrect sparse_dim"):
        check(flattened, (s,), atol=1e-1, masked=True, fast_mode=fast)

    def nudged_dense(s):
        y = s.clone().to_dense()
        y.register_hook(lambda g: g + 1e-2)
        return y

    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        check(nudged_dense, (torch.ones(1, dtype=torch.float64, requires_grad=True).to_sparse(),), atol=1e-1,
            masked=True, fast_mode=fast)
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        check(nudged(torch), (doubles(torch, 1.0),), atol=1e-1, fast_mode=fast)

    class Sparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g.to_sparse()

    with pytest.raises(RuntimeError, match="grad is incorrect layout"):
        check(Sparse.apply, (doubles(torch, 1.0),), fast_mode=fast)


# -- Jacobians alone --------------------------------------------------------------------------------------------------


def test_numerical_jacobian(torch):
    from importlib import import_module

    numerical = import_module(f"{torch.__name__}.autograd.gradcheck").get_numerical_jacobian
    a, b = (torch.rand(2, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def function(inputs):
        return 2 * inputs[0] + inputs[1], inputs[0] + 2 * inputs[1]

    eye = torch.eye(4, dtype=torch.float64)
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        found = numerical(function, (a, b), eps=1e-6)
    assert len(found) == 2 and torch.allclose(found[0], 2 * eye) and torch.allclose(found[1], eye)
    with pytest.warns(FutureWarning):
        (found,) = numerical(function, (a, b), target=a, eps=1e-6)
    assert torch.allclose(found, 2 * eye)
    with pytest.raises(ValueError, match="Expected grad_out to be 1.0"), pytest.warns(FutureWarning):
        numerical(function, (a, b), grad_out=2.0)
    with pytest.raises(ValueError, match="Expected output to be non-complex"), pytest.warns(FutureWarning):
        numerical(lambda inputs: inputs[0] * 1j, (a, b))


def test_analytical_jacobian(torch):
    from importlib import import_module

    analytical = import_module(f"{torch.__name__}.autograd.gradcheck").get_analytical_jacobian
    a, b = (torch.rand(2, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        jacobians, reentrant, sizes, types = analytical((a, b), 2 * a + b)
    assert reentrant and sizes and types and jacobians[0].tolist() == (2 * torch.eye(4)).tolist()

    class Jittery(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * (1 + torch.rand_like(g))

    with pytest.warns(FutureWarning):
        assert analytical((a,), Jittery.apply(a))[1] is False
    with pytest.raises(ValueError, match="Expected grad_out to be 1.0"), pytest.warns(FutureWarning):
        analytical((a,), a * 2, grad_out=2.0)


def test_the_name_is_the_function_under_the_alias():
    import subprocess
    import sys

    code = """
from torch.autograd.gradcheck import GradcheckError, gradcheck
import torch
import torch.autograd.gradcheck
assert torch.autograd.gradcheck is gradcheck and callable(gradcheck)
assert issubclass(GradcheckError, RuntimeError)
"""
    start = "from wengert.cli import alias; alias.install();"
    subprocess.run([sys.executable, "-c", start + code.replace("\n", ";").strip(";")], check=True)


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
    assert verdict(lambda x: x.sin() * x, doubles(ours, 2e9, 3.1e9)).verdict == "precision"  # the step is rounded


def test_verdict_non_deterministic():
    import wengert as ours

    assert (
        verdict(lambda x: ours.nn.functional.dropout(x, 0.5), doubles(ours, *[1.0] * 8)).verdict == "non-deterministic")


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


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("layout", "block"), [("sparse_csr", None), ("sparse_csc", None), ("sparse_bsr", (2, 2)), ("sparse_bsc", (2, 1))],
    ids=["csr", "csc", "bsr", "bsc"],
)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_compressed_inputs(torch, layout, block, masked, fast):
    more = {} if block is None else {"blocksize": block}
    s = torch.eye(4, dtype=torch.float64).to_sparse(layout=getattr(torch, layout), **more).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: x.to_dense(masked_grad=masked).sin(), s, masked=masked, fast_mode=fast)
    weights = torch.arange(1.0, 17.0, dtype=torch.float64).reshape(4, 4)
    (g,) = torch.autograd.grad(s.to_dense(masked_grad=masked), s, weights, create_graph=fast)
    square = torch.ones(2, 2)
    stored = torch.eye(4) if block is None else torch.block_diag(square, square)  # blocks are stored whole
    assert g.layout is s.layout
    assert g.to_dense().tolist() == (weights * stored if masked else weights).tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda y: y[:1], "shape .* but got: shapes torch.Size\\(\\[2\\]\\) and torch.Size\\(\\[1\\]\\)"),
     (lambda y: y.float(), "dtype .* but got: dtypes torch.float64 and torch.float32")],
    ids=["shape", "dtype"],
)
def test_outputs_that_change_when_inputs_move(torch, change, words):
    calls = []

    def f(x):
        calls.append(x)
        return x * 2 if len(calls) < 3 else change(x * 2)

    with pytest.raises(AssertionError, match=f"Expected `func` to return outputs with the same {words}"):
        torch.autograd.gradcheck(f, torch.ones(2, dtype=torch.float64, requires_grad=True))


@both_modes
def test_a_single_number(torch, fast):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    assert (torch.autograd.gradcheck(torch.sin, x, fast_mode=fast)
        and torch.autograd.gradgradcheck(torch.sin, x, fast_mode=fast))


@both_modes
def test_outputs_of_whole_numbers_are_left_out(torch, fast):
    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (x * 2, x.long(), x.detach() * 3), x, fast_mode=fast)


def test_what_cannot_be_checked_together(torch):
    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    first, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    for check, more, words in (
        (first, {"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
        (first, {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "requires check_backward_ad to be True"),
        (first, {"check_batched_forward_grad": True}, "requires check_forward_ad to be True"),
        (second, {"check_rev_over_rev": False}, "at least one of check_fwd_over_rev or check_rev_over_rev"),
        (second, {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            "check_undefined_grad=True requires check_rev_over_rev"),
        (second,
            {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False,
                "check_batched_grad": True},
         "check_batched_grad=True requires check_rev_over_rev"),
    ):
        with pytest.raises(AssertionError, match=words):
            check(torch.sin, x, **more)
