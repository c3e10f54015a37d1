"""Operators that users define with ``torch.library``."""

from __future__ import annotations

import importlib
import itertools

import pytest

_numbers = itertools.count()


def name(torch):
    """A name that nobody has used: PyTorch keeps operators for the life of the process."""
    return f"checks::op{next(_numbers)}"


def define(torch, forward, annotations, mutates_args=(), **more):
    """An operator whose annotations are of the library under test."""
    forward.__annotations__ = annotations
    return torch.library.custom_op(name(torch), forward, mutates_args=mutates_args, **more)


def test_calls_and_names(torch):
    op = define(torch, lambda x, y=3.0: x * y, {"x": torch.Tensor, "y": float, "return": torch.Tensor})
    short = op._name
    overload = getattr(torch.ops.checks, short)
    x = torch.ones(2)
    assert op(x, 2.0).tolist() == overload(x, y=2.0).tolist() == overload.default(x, 2.0).tolist() == [2.0, 2.0]
    assert op(x).tolist() == [3.0, 3.0]
    assert (str(overload) == f"checks.{short}" and str(overload.default) == f"checks.{short}.default"
        and repr(op) == f"<CustomOpDef(checks::{short})>")
    with pytest.raises(RuntimeError,
            match="Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"):
        op(3)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        torch.ops.checks.nothing


def test_schemas_are_inferred(torch):
    def full(x, y, k, s="a", b=False, *, w=1.0):
        return x, 2

    full.__annotations__ = {
        "x": torch.Tensor, "y": torch.Tensor | None, "k": int, "s": str, "b": bool, "w": float,
        "return": tuple[torch.Tensor, int],
    }
    assert torch.library.infer_schema(full, mutates_args=()) == (
        '(Tensor x, Tensor? y, SymInt k, str s="a", bool b=False, *, float w=1.0) -> (Tensor, SymInt)'
    )

    def writes(x, y):
        x.add_(y)

    writes.__annotations__ = {"x": torch.Tensor, "y": torch.Tensor, "return": None}
    assert torch.library.infer_schema(writes, mutates_args={"x"}) == "(Tensor(a0!) x, Tensor y) -> ()"
    for notes, message in [
        ({}, "Parameter x must have a type annotation"),
        ({"x": torch.Tensor}, "No return type annotation was provided"),
        ({"x": object, "return": torch.Tensor}, "Parameter x has unsupported type"),
    ]:
        with pytest.raises(ValueError, match=message):
            define(torch, lambda x: x, notes)


def test_without_a_gradient(torch):
    op = define(torch, lambda x: x * 2, {"x": torch.Tensor, "return": torch.Tensor})
    y = op(torch.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError,
            match="but no autograd formula was registered. Please use register_autograd to add one"):
        y.sum().backward()
    assert not op(torch.ones(2)).requires_grad


def test_with_a_gradient(torch):
    seen = []

    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]
        ctx.save_for_backward(inputs[0])

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g * ctx.k * ctx.saved_tensors[0] ** (ctx.k - 1), None

    op = define(torch, lambda x, k: x**k, {"x": torch.Tensor, "k": int, "return": torch.Tensor})
    op.register_autograd(backward, setup_context=setup_context)
    x = torch.full((2,), 3.0, requires_grad=True)
    y = op(x, 2)
    y.sum().backward()
    assert (x.grad.tolist() == [6.0, 6.0] and seen == [(True, False)]
        and y.grad_fn.name().startswith("GeneratedBackwardFor_checks_"))
    z = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: op(v, 3), (z,)) and torch.autograd.gradgradcheck(lambda v: op(v, 3), (z,))


def test_gradient_registered_by_name_with_other_results(torch):
    with torch.library._scoped_library("checks", "FRAGMENT"):
        op = define(torch, lambda x: (x.sin(), 2), {"x": torch.Tensor, "return": tuple[torch.Tensor, int]})
        torch.library.register_autograd(
            op._qualname,
            lambda ctx, g, unused: g * ctx.saved_tensors[0].cos(),
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
        )
        x = torch.ones(2, requires_grad=True)
        y, n = getattr(torch.ops.checks, op._name).default(x)
        y.sum().backward()
        assert n == 2 and torch.allclose(x.grad, x.detach().cos())


def test_lists_of_tensors(torch):
    total = define(torch, lambda xs: xs[0] + xs[1], {"xs": list[torch.Tensor], "return": torch.Tensor})
    total.register_autograd(lambda ctx, g: ([2 * g, 3 * g],))
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    total([x, y]).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and y.grad.tolist() == [3.0, 3.0]
    both = define(torch, lambda x: [x * 1, x * 2], {"x": torch.Tensor, "return": list[torch.Tensor]})
    both.register_autograd(lambda ctx, grads: grads[0] + 2 * grads[1])
    x.grad = None
    a, b = both(x)
    (a + 3 * b).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_keyword_only_arguments(torch):
    def scaled(x, *, s):
        return x * s

    op = define(torch, scaled, {"x": torch.Tensor, "s": float, "return": torch.Tensor})

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.s = keyword_only_inputs["s"]

    op.register_autograd(lambda ctx, g: g * ctx.s, setup_context=setup_context)
    x = torch.ones(2, requires_grad=True)
    op(x, s=5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_what_kernels_may_do(torch):
    def writes(x):
        x.add_(1)

    x = torch.zeros(2)
    assert define(torch, writes, {"x": torch.Tensor, "return": None}, mutates_args={"x"})(x) is None
    assert x.tolist() == [1.0, 1.0] and x._version == 2
    for kernel in (lambda x: x, lambda x: x.view(-1)):
        with pytest.raises(RuntimeError,
                match="The output of this custom operator .1. must not also be an input to this custom operator"):
            define(torch, kernel, {"x": torch.Tensor, "return": torch.Tensor})(x)
    other = define(torch, lambda x: x * 1, {"x": torch.Tensor, "return": torch.Tensor}, device_types="cuda")
    with pytest.raises(NotImplementedError, match="Could not run 'checks::"):
        other(x)
    other.register_kernel("cpu")(lambda x: x * 9)
    assert other(x).tolist() == [9.0, 9.0]

    def by_numpy(x):
        return torch.from_numpy(x.numpy() * 2)

    op = define(torch, by_numpy, {"x": torch.Tensor, "return": torch.Tensor})
    op.register_autograd(lambda ctx, g: g * 2)
    leaf = torch.ones(2, requires_grad=True)
    op(leaf).sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]


def test_libraries_and_schemas(torch):
    space = f"checks_library{next(_numbers)}"
    library = torch.library.Library(space, "DEF")
    library.define("foo(Tensor x) -> Tensor")

    @torch.library.impl(library, "foo", "CPU")
    def foo(x):
        return x * 7

    assert getattr(torch.ops, space).foo(torch.ones(1)).item() == 7.0
    torch.library.define(f"{space}::bar", "(Tensor x, float s=2.0) -> Tensor")
    torch.library.impl(f"{space}::bar", "cpu")(lambda x, s=2.0: x * s)
    torch.library.register_autograd(f"{space}::bar", lambda ctx, g: (g * 2, None))
    x = torch.ones(1, requires_grad=True)
    getattr(torch.ops, space).bar(x).backward()
    assert x.grad.item() == 2.0


def test_opcheck(torch):
    op = define(torch, lambda x: x * 2, {"x": torch.Tensor, "return": torch.Tensor})
    op.register_fake(lambda x: torch.empty_like(x))
    op.register_autograd(lambda ctx, g: g * 2)
    verdicts = torch.library.opcheck(op, (torch.ones(2, requires_grad=True),),
        test_utils=["test_schema", "test_autograd_registration"])
    assert set(verdicts.values()) == {"SUCCESS"}


def test_dispatch_modes_see_them(torch):
    seen = []

    class Mode(importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    op = define(torch, lambda x: x * 2, {"x": torch.Tensor, "return": torch.Tensor})
    x = torch.ones(1)
    with Mode():
        y = op(x)
    assert y.item() == 2.0 and seen == [getattr(torch.ops.checks, op._name).default]


def test_rules_for_maps_modes_and_autocast(torch):
    library = importlib.import_module(f"{torch.__name__}.library")
    dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    @library.custom_op("test_custom_rules::sine", mutates_args=(), schema="(Tensor x) -> Tensor")
    def sine(x):
        return x.sin()

    told = []

    @library.register_vmap("test_custom_rules::sine")
    def of_maps(info, in_dims, x):
        told.append((info.batch_size, in_dims, tuple(x.shape)))
        return sine(x), in_dims[0]

    x = torch.ones(3, 2)
    assert torch.equal(torch.vmap(sine)(x), x.sin()) and told == [(3, (0,), (3, 2))]
    assert torch.vmap(sine, in_dims=1)(x).shape == (2, 3) and told[-1] == (2, (1,), (3, 2))
    assert torch.equal(torch.vmap(torch.vmap(sine))(x), x.sin())

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @library.register_torch_dispatch("test_custom_rules::sine", Mode)
    def of_modes(mode, func, types, args, kwargs):
        return args[0] + 100

    with Mode():
        assert sine(x)[0, 0] == 101
    sine.register_autocast("cpu", torch.bfloat16)
    with torch.autocast("cpu"):
        assert sine(x).dtype == torch.bfloat16
    assert sine(x).dtype == torch.float32

    @sine.register_kernel("cpu")
    def other(x):
        return x * 0

    assert sine(x).sum() == 0
    with sine.set_kernel_enabled("cpu", False):
        assert torch.equal(sine(x), x.sin())
    assert sine(x).sum() == 0
