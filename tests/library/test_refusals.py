"""What ``torch.library`` refuses, and operators of several overloads."""

from __future__ import annotations

import itertools

import pytest

_numbers = itertools.count()


@pytest.fixture
def library(torch):
    """A library of its own for each test."""
    found = torch.library.Library(f"refused{next(_numbers)}", "DEF")
    yield found
    found._destroy()


def of(torch, library):
    return getattr(torch.ops, library.ns)


def test_a_namespace_is_defined_by_one_library(torch, library):
    with pytest.raises(RuntimeError,
            match=f"Only a single TORCH_LIBRARY can be used to register the namespace {library.ns}"):
        torch.library.Library(library.ns, "DEF")
    torch.library.Library(library.ns, "FRAGMENT")._destroy()
    torch.library.Library(library.ns, "IMPL")._destroy()


def test_a_library_that_is_gone(torch):
    name = f"refused{next(_numbers)}"
    gone = torch.library.Library(name, "DEF")
    gone.define("f(Tensor x) -> Tensor")
    gone._destroy()
    with pytest.raises(AssertionError, match="Library object has been destroyed"):
        gone.define("g(Tensor x) -> Tensor")
    again = torch.library.Library(name, "DEF")
    again.define("f(Tensor x) -> Tensor")
    again._destroy()


@pytest.mark.parametrize(("use", "error", "message"), [
    pytest.param(lambda lib: lib.define("f(Tensor x) -> Tensor", alias_analysis="NONE"), RuntimeError,
        "Invalid alias_analysis type NONE",
                 id="alias"),
    pytest.param(lambda lib: lib.define("other::f(Tensor x) -> Tensor"), RuntimeError,
                 r"Explicitly provided namespace \(other\) in schema string does not match namespace of enclosing "
                 r"TORCH_LIBRARY", id="namespace"),
    pytest.param(lambda lib: lib.impl(3, abs, "CPU"), RuntimeError,
                 "impl should be passed either a name or an OpOverload object as the first argument, got <class 'int'>",
                 id="name"),
])
def test_definitions(torch, library, use, error, message):
    with pytest.raises(error, match=message):
        use(library)


def test_keys_that_there_are_not(torch, library):
    library.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Nowhere"):
        library.impl("f", abs, "Nowhere")


def test_names_of_operators(torch):
    with pytest.raises(ValueError, match="expected qualname to be instance of str, got <class 'int'>"):
        torch.library.define(3, "(Tensor x) -> Tensor")
    for use in (lambda: torch.library.define("f", "(Tensor x) -> Tensor"),
            lambda: torch.library.register_fake("f", abs)):
        with pytest.raises(ValueError, match='Expected `qualname` to be of the form "namespace::name", but got f'):
            use()


def test_an_operator_without_tensors_has_no_device(torch, library):
    library.define("join(Tensor[] xs) -> Tensor")
    library.impl("join", lambda xs: xs[0].clone(), "CPU")
    assert of(torch, library).join([torch.ones(1)]).item() == 1.0
    with pytest.raises(NotImplementedError, match="There were no tensor arguments to this function"):
        of(torch, library).join([])

    def make(size: int) -> torch.Tensor:
        return torch.ones(size)

    make.__annotations__ = {"size": int, "return": torch.Tensor}
    with pytest.raises(ValueError,
            match="Functions without tensor inputs are required to have a `device: torch.device` argument"):
        torch.library.custom_op(f"{library.ns}::make", make, mutates_args=(), device_types="cpu")


def test_a_leaf_is_not_written_to(torch, library):
    library.define("bump(Tensor(a!) x) -> Tensor(a!)")
    library.impl("bump", lambda x: x.add_(1), "CPU")
    with pytest.raises(RuntimeError,
            match="a leaf Variable that requires grad is being used in an in-place operation."):
        of(torch, library).bump(torch.ones(2, requires_grad=True))
    library.define("same(Tensor(a!) x) -> Tensor(a!)")
    library.impl("same", lambda x: x, "CPU")  # says that it writes, and does not
    x = torch.ones(2, requires_grad=True)
    assert of(torch, library).same(x) is x
    with torch.no_grad():
        of(torch, library).bump(x)
    assert x.tolist() == [2.0, 2.0]
    assert of(torch, library).bump(torch.ones(2)).tolist() == [2.0, 2.0]


def test_tensors_are_not_keyword_only(torch, library):
    def add(x, *, y):
        return x + y

    add.__annotations__ = {"x": torch.Tensor, "y": torch.Tensor, "return": torch.Tensor}
    with pytest.raises(NotImplementedError,
            match=r"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: "):
        torch.library.custom_op(f"{library.ns}::add", add, mutates_args=())
    library.define("sub(Tensor x, *, Tensor y) -> Tensor")
    with pytest.raises(NotImplementedError, match="register_autograd with kwarg-only Tensor args."):
        torch.library.register_autograd(f"{library.ns}::sub", lambda ctx, g: g)
    with pytest.raises(NotImplementedError, match="register_vmap with kwarg-only Tensor args."):
        torch.library.register_vmap(f"{library.ns}::sub", lambda info, dims, x: (x, 0))


def test_results_that_are_arguments_say_whose(torch, library):
    def same(x):
        return x

    same.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op(f"{library.ns}::same", same, mutates_args=())
    with pytest.raises(RuntimeError,
            match=r"same \(with implementation in .*\): The output of this custom operator \(1\) must not"):
        op(torch.ones(2))


def test_too_many_gradients(torch, library):
    def copy(x):
        return x.clone()

    copy.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op(f"{library.ns}::copy", copy, mutates_args=())
    op.register_autograd(lambda ctx, g: (g, g))
    with pytest.raises(RuntimeError, match="returned a gradient different than None at position 2, but the "
            "corresponding forward input was not a"):
        op(torch.ones(2, requires_grad=True)).sum().backward()


def test_no_fake_beside_a_composite_kernel(torch, library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError,
            match=f"We should not register a meta kernel directly to the operator '{library.ns}::f', because it has a"):
        torch.library.register_fake(f"{library.ns}::f", lambda x: x)


def test_overloads(torch, library):
    library.define("scale.Number(Tensor x, float by) -> Tensor")
    library.define("scale.Text(Tensor x, str by) -> Tensor")
    library.impl("scale.Number", lambda x, by: x * by, "CPU")
    library.impl("scale.Text", lambda x, by: x * len(by), "CPU")
    scale = of(torch, library).scale
    assert scale.overloads() == ["Number", "Text"]
    assert (scale(torch.ones(()), 3.0).item(), scale(torch.ones(()), "four").item()) == (3.0, 4.0)
    assert (scale.Number(torch.ones(()), 5.0).item(), scale.Text(torch.ones(()), "ab").item()) == (5.0, 2.0)
    assert str(scale.Text) == f"{library.ns}.scale.Text"
    with pytest.raises(RuntimeError, match="Overloaded torch operator invoked from Python failed to match any schema"):
        scale("x", 1.0)
    with pytest.raises(AttributeError,
            match=f"The underlying op of '{library.ns}.scale' has no overload name 'Tensor'"):
        scale.Tensor


def test_numbers_and_texts_are_told_apart(torch, library):
    library.define("f(Tensor x, int n, str s) -> Tensor")
    library.impl("f", lambda x, n, s: x.clone(), "CPU")
    for args, kind in (((torch.ones(1), "one", "s"), "int"), ((torch.ones(1), 1, 2), "str")):
        with pytest.raises(RuntimeError, match=f"Expected a value of type '{kind}' for argument"):
            of(torch, library).f(*args)


def test_a_kernel_gives_a_tensor(torch, library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: 3, "CPU")
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        of(torch, library).f(torch.ones(2))
