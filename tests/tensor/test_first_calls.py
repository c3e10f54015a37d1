"""What the first call of an operator costs: what is compiled, what is imported, and that later calls agree with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import wengert as torch
from wengert.ops.operator import TABLE
from wengert.tensor import native_call, specialise
from wengert.tensor.functions import own_function

MANY = specialise._GENERAL_CALLS + 2
FORMS = pytest.mark.skipif(not native_call.available, reason="without the extension operators have code of their own")


@pytest.fixture
def compiled(monkeypatch):
    """What ``specialise`` compiles from here on, as if nothing had been compiled before."""
    texts = []

    def counting(text, *args):
        texts.append(text)
        return compile(text, *args)

    monkeypatch.setattr(specialise, "compile", counting, raising=False)
    for cached in (specialise._function_code, specialise.node_maker, specialise.fast_node):
        cached.cache_clear()
    return texts


@FORMS
def test_operators_of_one_form_are_compiled_once(compiled):
    x = torch.tensor([0.25, 0.5], requires_grad=True)
    for name in ("exp", "tanh", "sin", "sigmoid", "neg"):
        own_function(name)(x).sum().backward()
    assert len([text for text in compiled if text.startswith("def _made(p0, **more)")]) == 1
    for name in ("atan2", "maximum", "hypot"):
        own_function(name)(x, x)
    assert len([text for text in compiled if text.startswith("def _made(p0, p1, **more)")]) == 1


@FORMS
def test_each_has_its_own_names():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    f, g = own_function("atan2"), own_function("lerp")
    assert torch.equal(f(input=y, other=x), torch.atan2(y, x))
    assert torch.equal(g(x, weight=0.5, end=y), torch.tensor([2.0, 3.0]))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'end'"):
        g(x, weight=0.5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'p1'"):
        f(x, y, p1=y)
    names = {f.__code__.co_filename, g.__code__.co_filename}
    assert names == {"<wengert operator atan2>", "<wengert operator lerp>"}


@FORMS
@pytest.mark.parametrize("kind", ["call", "inplace", "dunder", "reflected", "augmented"])
def test_shared_code_is_that_of_the_source(kind):
    for name in ("add", "sub", "mul", "pow", "eq", "clamp", "addmm", "mean", "view"):
        op = TABLE[name]
        if kind in ("dunder", "reflected", "augmented") and len(op.tensors) != 2:
            continue
        own = specialise._function_code(specialise.source(op, kind))
        shared = specialise._code(op, kind)
        assert (shared.co_varnames, shared.co_code, shared.co_argcount, shared.co_flags) == (
            own.co_varnames, own.co_code, own.co_argcount, own.co_flags)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("name", ["exp", "mul", "div", "softmax", "matmul", "prod"])
def test_a_gradient_rule_is_compiled_after_some_calls(name, dtype, compiled):
    if dtype.is_complex and (name == "softmax" or not native_call.available):
        pytest.skip("softmax is of real numbers; without the extension complex numbers take the general way")
    x = torch.tensor([[0.25, 0.5], [1.5, 2.0]], dtype=dtype, requires_grad=True)
    y = torch.tensor([[3.0, -0.5], [1.0, 0.75]], dtype=dtype, requires_grad=True)
    f, args = own_function(name), {"softmax": (x, -1), "mul": (x, y), "div": (x, y), "matmul": (x, y)}.get(name, (x,))
    inputs = [v for v in args if isinstance(v, torch.Tensor)]

    def gradients(create_graph):
        z = f(*args).abs().sum() if dtype.is_complex else f(*args).square().sum()
        return torch.autograd.grad(z, inputs, create_graph=create_graph)

    for method, create_graph in (("def raw", False), ("def recorded", True)):
        first = gradients(create_graph)
        assert not [text for text in compiled if text.startswith(method)]
        for _ in range(MANY):
            later = gradients(create_graph)
        if not (create_graph and dtype.is_complex):
            assert [text for text in compiled if text.startswith(method)]
        assert all(torch.equal(a, b) for a, b in zip(first, later))


@FORMS
def test_a_first_step_imports_nothing():
    program = """
import sys
import wengert as torch

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.ones(5, 4), torch.zeros(5, dtype=torch.int64)
before = set(sys.modules)
torch.nn.functional.cross_entropy(model(x), y).backward()
optimizer.step()
print(sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
