"""``__torch_dispatch__`` of tensor subclasses: operators below the tape, run by the class of an argument."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def tools(torch):
    """A subclass that logs what it runs, its log, and the context in which it is not asked."""
    no_dispatch = importlib.import_module(f"{torch.__name__}.utils._mode_utils").no_dispatch
    core = importlib.import_module(f"{torch.__name__}._C")
    log = []

    class Logs(torch.Tensor):
        @staticmethod
        def __new__(cls, data, tag=None):
            t = torch.Tensor._make_subclass(cls, data)
            t.tag = tag
            return t

        __torch_function__ = core._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            assert cls in types
            with no_dispatch():
                answer = func(*args, **(kwargs or {}))
            return Logs(answer, "made") if isinstance(answer, torch.Tensor) else answer

    return Logs, log, no_dispatch


OPERATORS = {
    "aten.add.Tensor": lambda torch, a, p: a + 1,
    "aten.mul.Tensor": lambda torch, a, p: p * a,
    "aten.exp.default": lambda torch, a, p: torch.exp(a),
    "aten.cat.default": lambda torch, a, p: torch.cat([p, a]),
    "aten.view.default": lambda torch, a, p: a.view(2, 1),
    "aten.select.int": lambda torch, a, p: a[0],
    "aten.dot.default": lambda torch, a, p: a @ p,
    "aten.clone.default": lambda torch, a, p: a.clone(),
    "aten.detach.default": lambda torch, a, p: a.detach(),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_the_class_runs_the_operator_and_its_result_stays(torch, tools, name):
    Logs, log, _ = tools
    p = torch.ones(2, requires_grad=True)
    y = OPERATORS[name](torch, Logs(torch.full((2,), 3.0)), p)
    assert log == [name]
    assert type(y) is Logs and y.tag == "made"


def test_the_tape_lies_above(torch, tools):
    Logs, _, _ = tools
    p = torch.ones(2, requires_grad=True)
    y = Logs(torch.full((2,), 3.0)) * p
    assert y.requires_grad and y.grad_fn.name() == "MulBackward0"
    y.sum().backward()
    assert torch.equal(torch.ones(2) * 3, torch.ones(2) * p.grad)


def test_in_place(torch, tools):
    Logs, log, _ = tools
    a = Logs(torch.ones(2), "mine")
    b = a.add_(1)
    assert b is a and a.tag == "mine"
    assert log[0] == "aten.add_.Tensor"
    with tools[2]():
        assert (a == 2).all()


def test_modes_come_first(torch, tools):
    Logs, log, _ = tools
    base = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Mode(base):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(f"mode {func}")
            return func(*args, **(kwargs or {}))

    a = Logs(torch.ones(2))
    with Mode():
        y = a * 2
    assert log == ["mode aten.mul.Tensor", "aten.mul.Tensor"]
    assert type(y) is Logs


def test_not_asked_in_no_dispatch(torch, tools):
    Logs, log, no_dispatch = tools
    with no_dispatch():
        y = Logs(torch.ones(2)) * 2
    assert log == [] and type(y) is torch.Tensor


def test_declining(torch):
    core = importlib.import_module(f"{torch.__name__}._C")

    class Declines(torch.Tensor):
        __torch_function__ = core._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        torch.exp(torch.Tensor._make_subclass(Declines, torch.ones(2)))


def test_duals_of_a_subclass(torch, tools):
    Logs, log, _ = tools
    fwAD = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    a = Logs(torch.ones(2))
    with fwAD.dual_level():
        fwAD.make_dual(a, torch.ones(2))
        assert log.count("aten.alias.default") == 1
        log.clear()
        fwAD.make_dual(torch.ones(2), a)
        assert "aten.alias.default" not in log


# -- the handler's surroundings, and the backward ----------------------------------------------------------------------


def test_grad_mode_inside_a_handler(torch, tools):
    Logs, _, no_dispatch = tools
    seen = []

    class Asks(Logs):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
            with no_dispatch():
                with torch.enable_grad():
                    assert torch.is_grad_enabled()
                    # below the tape nothing is recorded
                    assert not (torch.ones(2, requires_grad=True) * 2).requires_grad
                with torch.no_grad():
                    assert not torch.is_grad_enabled()
                assert torch.is_grad_enabled() is seen[-1][0]
                return torch.Tensor._make_subclass(cls, func(*args, **(kwargs or {})))

    a = torch.Tensor._make_subclass(Asks, torch.ones(2), True)
    a * 2
    with torch.no_grad():
        a * 2
    with torch.inference_mode():
        a * 2
    assert seen == [(True, False), (False, False), (False, True)]
    assert torch.is_grad_enabled() and (torch.ones(2, requires_grad=True) * 2).requires_grad


BACKWARD = {
    "product": (lambda torch, a: a * a, "mul sum ones_like expand mul mul add detach"),
    "matrix product with a plain one": (lambda torch, a: a.view(1, 2).mm(torch.ones(2, 1)),
        "view mm sum ones_like expand mm view detach"),
    "exp": (lambda torch, a: a.exp(), "exp detach sum ones_like expand detach mul detach"),
    "tanh": (lambda torch, a: a.tanh(), "tanh detach sum ones_like expand detach tanh_backward detach"),
    "relu": (lambda torch, a: a.relu(), "relu detach sum ones_like expand detach threshold_backward detach"),
    "matrix product, turned": (
        lambda torch, a: a.view(2, 1).mm(torch.ones(1, 2)).t() / 2,
        "view mm t div sum ones_like expand div t mm view detach"),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_the_class_runs_the_backward_too(torch, tools, name):
    Logs, log, no_dispatch = tools
    run, expected = BACKWARD[name]
    a = Logs(torch.full((2,), 0.5)).requires_grad_()
    run(torch, a).sum().backward()
    assert [line.split(".")[1] for line in log] == expected.split()
    assert type(a.grad) is Logs
    x = torch.full((2,), 0.5, requires_grad=True)
    run(torch, x).sum().backward()
    with no_dispatch():
        assert torch.allclose(a.grad.as_subclass(torch.Tensor), x.grad)


def test_gradients_add_up_in_place(torch, tools):
    Logs, log, _ = tools
    a = Logs(torch.ones(2)).requires_grad_()
    for _ in range(2):
        log.clear()
        (a * 2).sum().backward()
    assert "aten.add_.Tensor" in log and "aten.add.Tensor" not in log and type(a.grad) is Logs


def test_numbers_are_refused_to_numpy(torch, tools):
    a = tools[0](torch.ones(2))
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        a.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses"):
        a.tolist()


def test_detached_twins_share_the_version(torch, tools):
    a = tools[0](torch.ones(2))
    d = a.detach()
    d.add_(1)
    assert a._version == 1 == d._version
    a.data.add_(1)
    assert a._version == 1


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
                dispatch_layout=True)
    assert y.layout == torch.sparse_csr and wrapper(torch).layout == torch.strided


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
