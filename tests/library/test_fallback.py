"""Operators that have a kernel and no gradient: what is recorded, and who is told."""

from __future__ import annotations

import contextlib
import importlib
import warnings

import pytest


@pytest.fixture
def core(torch):
    return importlib.import_module(f"{torch.__name__}._C")


@pytest.fixture
def lib(torch, core):
    before = core._get_autograd_fallback_mode()
    with importlib.import_module(f"{torch.__name__}.library")._scoped_library("fallback_tests", "FRAGMENT") as lib:
        yield lib
    core._set_autograd_fallback_mode(before)
    if hasattr(torch.ops, "fallback_tests"):
        del torch.ops.fallback_tests


@pytest.fixture(params=["warn", "nothing"])
def told(core, lib, request):
    """A context that expects the warning, in the mode that gives it, and none in the other."""
    core._set_autograd_fallback_mode(request.param)

    @contextlib.contextmanager
    def context():
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield
        assert any("an autograd kernel was not registered" in str(w.message) for w in seen) == (request.param == "warn")

    return context


def op(torch, name="f"):
    return getattr(torch.ops.fallback_tests, name).default


def test_a_kernel_that_leaves_the_graph(torch, core, lib):
    lib.define("f(Tensor a) -> Tensor")
    lib.impl("f", lambda a: torch.from_numpy(a.detach().numpy() * 2), "CPU")
    x = torch.ones(3, requires_grad=True)
    y = op(torch)(x)
    assert y.grad_fn.name() == "torch::autograd::WarnNotImplemented"
    assert "WarnNotImplemented" in repr(y)
    with pytest.warns(UserWarning, match="fallback_tests::f: an autograd kernel was not registered"):
        (x * y).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]  # nothing came back through the operator
    core._set_autograd_fallback_mode("nothing")
    assert not op(torch)(x).requires_grad


@pytest.mark.parametrize("why", ["no_grad", "plain", "integers"])
def test_no_node_where_no_gradient_is_wanted(torch, lib, why):
    lib.define("f(Tensor a) -> Tensor")
    lib.impl("f", lambda a: a.detach().long() if why == "integers" else a.detach() + 1, "CPU")
    x = torch.ones(2, requires_grad=why != "plain")
    with torch.no_grad() if why == "no_grad" else contextlib.nullcontext():
        assert not op(torch)(x).requires_grad


def test_kernels_made_of_operators_are_recorded(torch, lib, told):
    lib.define("f(Tensor a) -> Tensor")
    lib.impl("f", lambda a: a.sin() * 2, "CPU")
    x = torch.tensor([0.3, 0.4], requires_grad=True)
    with told():
        op(torch)(x).sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos())


def test_argument_that_comes_back(torch, lib, told):
    lib.define("f(Tensor a) -> Tensor")
    lib.impl("f", lambda a: a, "CPU")
    x = torch.ones(2, requires_grad=True)
    y = op(torch)(x)
    assert y is x
    with told():
        y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_write_through_a_view_is_told_at_its_base(torch, lib, told):
    lib.define("f(Tensor(a!) a) -> Tensor(a!)")
    lib.impl("f", lambda a: torch.no_grad()(a.sin_)(), "CPU")
    x = torch.ones(3, requires_grad=True)
    base = x.clone()
    part = base[0]
    z = op(torch)(part)
    for t in (base, part, z):
        with told():
            t.sum().backward(retain_graph=True)


def test_write_without_result_is_not_told(torch, lib):
    lib.define("f(Tensor(a!) a, Tensor b) -> ()")
    lib.impl("f", lambda a, b: a.detach().add_(b.detach()) and None, "CPU")
    a, b = torch.zeros(2).clone(), torch.ones(2, requires_grad=True)
    with contextlib.suppress(RuntimeError):  # a kernel may give nothing at all
        op(torch)(a, b)
    assert not a.requires_grad
    assert a.tolist() == [1.0, 1.0]


def test_some_results_recorded_and_some_not(torch, lib, core):
    core._set_autograd_fallback_mode("warn")
    lib.define("f(Tensor a, Tensor[] rest) -> (Tensor, Tensor[])")
    lib.impl("f", lambda a, rest: (a * rest[0], [t.detach() * 1 for t in rest]), "CPU")
    a, b = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    first, (second,) = op(torch)(a, [b])
    assert (first.grad_fn.name(), second.grad_fn.name()) == ("MulBackward0", "torch::autograd::WarnNotImplemented")
    with pytest.warns(UserWarning, match="autograd kernel"):
        assert torch.autograd.grad(second.sum(), (a, b), allow_unused=True) == (None, None)
    with pytest.warns(UserWarning, match="autograd kernel"):
        assert torch.autograd.grad(first.sum(), a)[0].tolist() == [3.0, 3.0]


def test_undefined_tensors(torch, lib, told):
    lib.define("f(Tensor a, Tensor b) -> (Tensor, Tensor)")
    lib.impl("f", lambda a, b: (None, b.clone()), "CPU")
    x = torch.ones(2, requires_grad=True)
    nothing, y = op(torch)(None, x)
    assert nothing is None
    with told():
        y.sum().backward()


def test_a_kernel_for_the_tape(torch, core, lib):
    calls = []

    class Five(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            with core._AutoDispatchBelowAutograd():
                return op(torch)(a)

        @staticmethod
        def backward(ctx, g):
            return g * 5

    lib.define("f(Tensor a) -> Tensor")
    lib.impl("f", Five.apply, "Autograd")
    lib.impl("f", lambda a: calls.append("kernel") or a * 5, "CPU")
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = op(torch)(x)
        y.sum().backward()
    assert calls == ["kernel"]
    assert y.tolist() == x.grad.tolist() == [5.0, 5.0]
    with torch.inference_mode():
        assert op(torch)(torch.ones(1)).tolist() == [5.0]


@pytest.mark.parametrize("key", ["CompositeImplicitAutograd", "CompositeExplicitAutograd"])
def test_composites(torch, core, lib, key):
    core._set_autograd_fallback_mode("warn")
    lib.define("f(Tensor a) -> Tensor")
    lib.impl("f", lambda a: a * a, key)
    x = torch.tensor([3.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        op(torch)(x).sum().backward()
    assert len(seen) == (key == "CompositeExplicitAutograd")
    assert x.grad.tolist() == [6.0]


def test_a_gradient_registered_later(torch, lib):
    lib.define("f(Tensor a) -> Tensor")
    lib.impl("f", lambda a: a.detach() * 2, "CPU")
    torch.library.register_autograd("fallback_tests::f", lambda ctx, g: g * 2, lib=lib)
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op(torch)(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_defined_once(torch, lib):
    lib.define("f(Tensor a) -> Tensor")
    with pytest.raises(RuntimeError, match="multiple times"):
        lib.define("f(Tensor a) -> Tensor")


def test_modes(core):
    before = core._get_autograd_fallback_mode()
    assert before == "warn"
    with pytest.raises(RuntimeError, match="NYI"):
        core._set_autograd_fallback_mode("error")
    with pytest.raises(RuntimeError, match="Unsupported AutogradFallbackMode"):
        core._set_autograd_fallback_mode("loudly")
