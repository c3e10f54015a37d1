"""Kernels for operators that there are, questions that classes answer about their tensors, and who is asked when
somebody declines.
"""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def scoped(torch):
    return importlib.import_module(f"{torch.__name__}.library")._scoped_library


@pytest.fixture
def dispatch(torch):
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch")


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


def wrapper(torch, answer=None, **options):
    """A class of wrappers whose ``__torch_dispatch__`` is ``answer``, of which one is made with these options."""

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, **options)
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented if answer is None else answer(func, args, kwargs or {})

    return Wrapper(torch.randn(3, 2))


def test_classes_answer_for_strides(torch):
    def answer(func, args, kwargs):
        if func.overloadpacket == torch.ops.aten.is_contiguous:
            return False
        if func.overloadpacket == torch.ops.aten.sym_stride:
            return (4, 2)
        return NotImplemented

    x = wrapper(torch, answer, dispatch_sizes_strides_policy="strides")
    assert x.is_contiguous() is False and x.stride() == (4, 2) and x.size() == (3, 2)
    silent = wrapper(torch, lambda func, args, kwargs: None, dispatch_sizes_strides_policy="strides")
    assert silent.stride() == (2, 1)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.is_contiguous'"):
        wrapper(torch, dispatch_sizes_strides_policy="strides").is_contiguous()
    assert wrapper(torch).is_contiguous()


def test_classes_answer_for_sizes(torch):
    answers = {"sym_size": (5, 3), "dim": 2, "sym_numel": 15}
    x = wrapper(torch, lambda func, args, kwargs: answers.get(func.overloadpacket.__name__, NotImplemented),
        dispatch_sizes_strides_policy="sizes")
    assert x.size() == (5, 3) and x.shape == (5, 3) and x.dim() == 2 and x.numel() == 15
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.sym_size'"):
        wrapper(torch, dispatch_sizes_strides_policy="sizes").size()


def test_classes_answer_for_device_and_layout(torch):
    meta = torch.device("meta")
    x = wrapper(torch, lambda func, args, kwargs: meta if func.overloadpacket == torch.ops.prim.device
        else NotImplemented, dispatch_device=True)
    assert x.device == meta
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.prim.device'"):
        wrapper(torch, dispatch_device=True).device
    y = wrapper(torch,
        lambda func, args, kwargs: torch.sparse_csr if func.overloadpacket == torch.ops.prim.layout else NotImplemented,
                dispatch_layout=True)  # fmt: skip
    assert y.layout == torch.sparse_csr and wrapper(torch).layout == torch.strided


def test_a_mode_that_declines_sees_what_classes_do(torch, dispatch):
    counts = {"asked": 0, "done": 0}

    class Polite(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            counts["asked"] += 1
            if any(t is not torch.Tensor for t in types):
                return NotImplemented
            counts["done"] += 1
            return func(*args, **(kwargs or {}))

    x = wrapper(torch, lambda func, args, kwargs: func(*[getattr(a, "elem", a) for a in args], **kwargs))
    with Polite():
        x.abs()
    assert counts == {"asked": 2, "done": 1}


def test_results_that_are_no_tensors(torch):
    class Odd(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            return torch.Tensor._make_subclass(cls, elem)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return "arf"

    for call in (lambda x: x.neg(), lambda x: x.detach()):
        with pytest.raises(RuntimeError, match="Unable to cast"):
            call(Odd(torch.zeros(1)))


def test_tensors_of_one_class_are_not_made_another(torch):
    class Plain(torch.Tensor):
        pass

    y = wrapper(torch, lambda func, args, kwargs: type(y)(func(*[getattr(a, "elem", a) for a in args], **kwargs)))
    message = ("Creating a new Tensor subclass Plain but the raw Tensor object is already associated to a python "
        "object of type Wrapper")
    with pytest.raises(RuntimeError, match=message):
        y.as_subclass(Plain)
    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2, 2))


def test_recorded_again_within_a_handler(torch):
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    elem = torch.rand(2, requires_grad=True)

    class Through(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype)
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with overrides.enable_reentrant_dispatch():
                return cls(func(*[getattr(a, "elem", a) for a in args], **(kwargs or {})))

    y = (Through(elem) * 3).sum()
    assert not y.requires_grad and y.elem.requires_grad
    y.elem.backward()
    assert elem.grad.tolist() == [3.0, 3.0]


def test_looking_at_other_memory(torch):
    calls = []

    class Sub(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = Sub(torch.empty(2))
    calls.clear()
    assert x.set_(torch.ones(2)) is x and type(x) is Sub
    x.set_(torch.ones(3).untyped_storage())
    assert calls == ["aten.set_.source_Tensor", "aten.set_.source_Storage"] and x.shape == (3,)
