"""Kernels that libraries put in the place of operators that there are, and operators of their own."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def scoped(torch):
    return importlib.import_module(f"{torch.__name__}.library")._scoped_library


@pytest.mark.filterwarnings("ignore")
def test_a_kernel_below_the_tape(torch, scoped):
    x = torch.ones(2, requires_grad=True)
    with scoped("aten", "IMPL") as library:
        library.impl("exp", lambda x: x + 10, "CPU")
        y = x.exp()
        assert (y.tolist() == [11.0, 11.0] and y.grad_fn.name() == "ExpBackward0"
            and torch.exp(x).tolist() == [11.0, 11.0])
        assert torch.sin(x).tolist() != [11.0, 11.0]
    assert torch.allclose(x.exp(), torch.tensor([2.7182817, 2.7182817]))


@pytest.mark.filterwarnings("ignore")
def test_overloads_and_in_place_forms(torch, scoped):
    x, run = torch.tensor([1, 2]), []
    with scoped("aten", "IMPL") as library:
        library.impl("aten::sum", lambda *args, **kwargs: run.append(1) or args[0].clone(), "CPU")
        library.impl("add_.Tensor", lambda x, y, alpha=1: x.mul_(10), "CPU")
        assert torch.sum(x).tolist() == [1, 2] and run
        assert x.sum(0).tolist() == 3  # another overload
        y = torch.ones(2)
        y += 3
        assert y.tolist() == [10.0, 10.0]
    assert torch.sum(x) == 3


@pytest.mark.filterwarnings("ignore")
def test_a_function_in_the_place_of_an_operator_and_its_node(torch, scoped):
    x = torch.ones(2, requires_grad=True)
    with scoped("aten", "IMPL") as library:
        library.impl("neg", lambda x: x * 5, "AutogradCPU")
        for y in (torch.neg(x), -x, x.neg()):
            assert y.tolist() == [5.0, 5.0] and y.grad_fn.name() == "MulBackward0"
    assert (-x).tolist() == [-1.0, -1.0]


@pytest.mark.filterwarnings("ignore")
def test_a_decorator_and_a_key_of_the_library(torch, scoped):
    library = importlib.import_module(f"{torch.__name__}.library")
    x = torch.ones(2)
    with scoped("aten", "IMPL", "CPU") as own:

        @library.impl(own, "cos", "CPU")
        def cosine(x):
            return x.sin()

        assert torch.equal(x.cos(), x.sin())
        with pytest.raises(RuntimeError, match="inconsistent with the dispatch key"):
            own.impl("neg", lambda x: x, "Meta")
    assert not torch.equal(x.cos(), x.sin())


def test_what_libraries_refuse(torch, scoped):
    Library = importlib.import_module(f"{torch.__name__}.library").Library
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        Library("aten", "DEF")
    with scoped("aten", "IMPL") as library:
        with pytest.raises(TypeError,
                match="Input function is required to be a callable but found type <class 'list'>"):
            library.impl(torch.ops.aten.neg.default, [], "AutogradCPU")
        with pytest.raises(RuntimeError, match="Cannot define an operator inside of a TORCH_LIBRARY_IMPL block"):
            library.define("foo(Tensor x) -> Tensor")
    with scoped("test_refusals", "IMPL") as library, pytest.raises(RuntimeError, match="does not match namespace"):
        library.impl("aten::neg", lambda x: x, "AutogradCPU")


def test_own_operators_on_the_device_meta(torch, scoped):
    with scoped("test_meta_ops", "FRAGMENT") as library:
        library.define("foo(Tensor x) -> Tensor")
        library.impl("foo", lambda x: x.sin(), "CPU")
        library.impl("foo", lambda x: torch.empty_like(x), "Meta")
        assert torch.ops.test_meta_ops.foo(torch.ones(3, device="meta")).is_meta
        assert torch.equal(torch.ops.test_meta_ops.foo(torch.ones(3)), torch.ones(3).sin())
