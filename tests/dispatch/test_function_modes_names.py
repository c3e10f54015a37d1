"""What function modes are told was called: functions and methods apart, properties by their ``__get__`` and
``__set__``.
"""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def overrides(torch):
    return importlib.import_module(f"{torch.__name__}.overrides")


def logging_mode(overrides, log):
    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    return Log()


T = "torch.Tensor."
CALLS = {
    "x + 1": T + "add", "1 + x": T + "add", "x.add(1)": T + "add", "torch.add(x, 1)": "torch.add",
    "x.add_(1)": T + "add_", "x - 1": T + "sub", "1 - x": T + "__rsub__", "x / 2": T + "div",
    "x // 2": T + "__floordiv__", "x ** 2": T + "__pow__", "2 ** x": T + "__rpow__", "-x": T + "neg",
    "x @ x": T + "matmul", "x == x": T + "__eq__", "x < 1": T + "lt", "abs(x)": T + "abs", "x[0]": T + "__getitem__",
    "x[i]": T + "__getitem__", "x.__setitem__(0, 1.0)": T + "__setitem__", "x.sum()": T + "sum", "x.sum(0)": T + "sum",
    "torch.sum(x)": "torch.sum", "torch.sum(x, 0)": "torch.sum", "x.max(0)": T + "max", "torch.max(x, x)": "torch.max",
    "x.view(4)": T + "view", "x.size()": T + "size", "x.dim()": T + "dim", "len(x)": T + "__len__",
    "x.numel()": T + "numel", "torch.numel(x)": "torch.numel", "x.stride()": T + "stride",
    "x.is_contiguous()": T + "is_contiguous", "x.detach()": T + "detach", "torch.detach(x)": "torch.detach",
    "x.tolist()": T + "tolist", "x.numpy()": T + "numpy", "repr(x)": T + "__repr__", "x.to(torch.float64)": T + "to",
    "x.float()": T + "float", "x.cpu()": T + "cpu", "x.requires_grad_()": T + "requires_grad_", "x.relu()": T + "relu",
    "torch.relu(x)": "torch.relu", "F.relu(x)": "torch.nn.functional.relu",
    "F.dropout(x)": "torch.nn.functional.dropout", "F.layer_norm(x, (2,))": "torch.nn.functional.layer_norm",
    "F.conv2d(y, y)": "torch.nn.functional.conv2d", "x.split(1)": T + "split",
    "torch.split(x, 1)": "torch.functional.split", "torch.einsum('ij,jk', x, x)": "torch.functional.einsum",
    "x.fill_(1.0)": T + "fill_", "torch.norm(x)": "torch.functional.norm", "x.norm()": T + "norm", "x.std()": T + "std",
    "x.clamp(0, 1)": T + "clamp", "1.0 in x": T + "__contains__", "x.backward": None,
    "x.__reversed__()": T + "__reversed__", "torch.linalg.norm(x)": "torch.linalg.norm", "torch.ones(2)": "torch.ones",
}
PROPERTIES = ("shape", "dtype", "device", "layout", "grad", "requires_grad", "is_leaf", "grad_fn", "data", "ndim",
    "is_cuda", "is_sparse", "is_meta",
              "T", "mT", "H", "real", "itemsize", "nbytes", "_version", "_base", "is_cpu", "output_nr", "retains_grad",
              "is_quantized")


@pytest.mark.parametrize("text", CALLS)
def test_calls(torch, overrides, text):
    scope = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(2, 2), "i": torch.tensor([0]),
        "y": torch.ones(1, 1, 2, 2)}
    log = []
    with logging_mode(overrides, log):
        eval(text, scope)
    assert log == ([] if CALLS[text] is None else [CALLS[text]])


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_that_are_read(torch, overrides, name):
    x, log = torch.ones(2, 2), []
    expected = getattr(x, name)
    with logging_mode(overrides, log):
        found = getattr(x, name)
    assert log == [f"torch.Tensor.{name}.__get__"]
    assert found is expected or isinstance(found, torch.Tensor) or found == expected
    assert overrides.is_tensor_method_or_property(getattr(torch.Tensor, name).__get__)


def test_properties_that_are_written(torch, overrides):
    x, log = torch.ones(2, 2), []
    with logging_mode(overrides, log):
        x.requires_grad = True
        x.grad = torch.ones(2, 2)
        x.data = torch.zeros(2, 2)
        x.grad = None
        del x.grad
    wanted = ["requires_grad.__set__", "grad.__set__", "data.__set__", "grad.__set__"]
    assert [n for n in log if n not in ("torch.ones", "torch.zeros")][:4] == [f"torch.Tensor.{n}" for n in wanted]
    assert x.requires_grad and x.grad is None and x.sum() == 0


def test_functions_and_methods_are_told_apart(torch):
    assert torch.add is not torch.Tensor.add and torch.nn.functional.relu is not torch.relu is not torch.Tensor.relu
    handled = {torch.add: "function", torch.Tensor.add: "method"}

    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return handled.get(func, "other")

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return handled.get(func, "other")

    x, like, sub = torch.ones(2), Like(), torch.ones(2).as_subclass(Sub)
    assert torch.add(x, like) == "function" and torch.add(like, 1) == "function"
    assert x.add(like) == "method" and x + like == "method" and like not in handled
    assert (torch.add(sub, 1) == "function" and sub.add(1) == "method" and sub + 1 == "method"
        and torch.add(x, sub) == "function")


def test_a_mode_can_answer_for_a_property(torch, overrides):
    class Elsewhere(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func == torch.Tensor.device.__get__:
                return torch.device("cuda", 3)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Elsewhere():
        assert x.device == torch.device("cuda", 3)
    assert x.device == torch.device("cpu")


def test_modes_and_then_subclasses_see_properties(torch, overrides):
    order = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(("class", overrides.resolve_name(func)))
            return super().__torch_function__(func, types, args, kwargs)

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(("mode", overrides.resolve_name(func)))
            assert types == (Sub,) or not types or torch.Tensor in types
            return func(*args, **(kwargs or {}))

    x = torch.ones(2).as_subclass(Sub)
    with Mode():
        assert x.shape == (2,)
    assert order == [("mode", "torch.Tensor.shape.__get__"), ("class", "torch.Tensor.shape.__get__")]


@pytest.mark.parametrize("text", ["2 ** x", "2 / x", "2 // x", "7 % x", "2 - x", "2 + x", "2 * x", "x ** 2"])
def test_reflected_operators_keep_their_operands(torch, overrides, text):
    x, log = torch.ones(2) * 3, []
    expected = eval(text, {"x": x})
    with logging_mode(overrides, log):
        assert eval(text, {"x": x}).tolist() == expected.tolist()
