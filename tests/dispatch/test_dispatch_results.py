"""What dispatch modes may answer, and what they are told of conversions."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def mode_class(torch):
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode


@pytest.mark.parametrize("answer", ["text", 3, 2.5, [1.0]])
@pytest.mark.parametrize("call",
    ["torch.neg(x)", "x + x", "torch.ones(2)", "x.detach()", "x.double()", "torch.max(x, 0)"])
def test_answers_are_tensors(torch, mode_class, call, answer):
    class Wrong(mode_class):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return answer

    if "max" in call and isinstance(answer, (str, list)):
        pytest.skip("a sequence")
    scope = {"torch": torch, "x": torch.ones(2)}
    with pytest.raises(RuntimeError, match="Unable to cast|not an instance of 'sequence'"), Wrong():
        eval(call, scope)


def test_answers_of_subclasses_are_tensors(torch):
    class Wrong(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            return torch.Tensor._make_subclass(cls, elem)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return "arf"

    with pytest.raises(RuntimeError, match="Unable to cast arf to Tensor"):
        Wrong(torch.zeros(1)).neg()


def test_a_mode_is_no_class(torch, mode_class):
    class Classy(mode_class):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="`__torch_dispatch__` as a classmethod is not supported"), Classy():
        torch.ones(1) + 1


@pytest.mark.parametrize("call",
    ["x.to(torch.float64)", "x.to(dtype=torch.float64)", "x.double()", "x.to(torch.float64, copy=True)"])
def test_conversions_name_their_dtype(torch, mode_class, call):
    seen = []

    class Noting(mode_class):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), args[1:], kwargs))
            return func(*args, **(kwargs or {}))

    scope = {"torch": torch, "x": torch.ones(2)}
    with Noting():
        found = eval(call, scope)
    assert seen == [("aten._to_copy.default", (), {"dtype": torch.float64})] and found.dtype is torch.float64


def test_names_of_libraries(torch):
    library = importlib.import_module(f"{torch.__name__}.library")
    with pytest.raises(ValueError, match="Unsupported kind: BLA"):
        library.Library("somewhere", "BLA")
    for kind in ("DEF", "FRAGMENT"):
        with pytest.raises(ValueError, match="reserved namespace"):
            library.Library("prim", kind)
