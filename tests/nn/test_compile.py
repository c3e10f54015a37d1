"""``torch.compile``: nothing is compiled, and everything behaves as if it were; on both libraries with the eager
backend.
"""

from __future__ import annotations

from typing import Any

import pytest


def test_module(torch: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    compiled = torch.compile(model, backend="eager")
    assert isinstance(compiled, torch.nn.Module)
    assert compiled._orig_mod is model
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in model.parameters()]
    x = torch.randn(4, 3)
    assert torch.equal(compiled(x), model(x))
    compiled(x).sum().backward()
    assert model[0].weight.grad is not None
    compiled.eval()
    assert not model.training
    compiled.extra = 5
    assert model.extra == 5
    assert compiled.extra == 5
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        compiled.nothing_of_the_kind


def test_function_and_decorator(torch: Any) -> None:
    @torch.compile(backend="eager")
    def double(x: Any) -> Any:
        """Twice."""
        return x * 2

    assert double.__name__ == "double"
    assert double(torch.ones(2)).tolist() == [2.0, 2.0]
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)).tolist() == [2.0]
    model = torch.nn.Linear(1, 1)
    assert torch.compile(model, disable=True) is model


def test_refusals(torch: Any) -> None:
    model = torch.nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(model, mode="default", options={"a": 1})
    with pytest.raises(RuntimeError, match="Unrecognized mode=bogus, should be one of: default"):
        torch.compile(model, mode="bogus")
    with pytest.raises(RuntimeError, match="Invalid backend: 'nope'"):
        torch.compile(model, backend="nope")(torch.ones(1, 1))
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3, backend="eager")


def test_namespace(torch: Any) -> None:
    assert torch.compiler.is_compiling() is False
    assert torch.compiler.is_dynamo_compiling() is False
    assert torch.compiler.disable(abs)(-1) == 1
    torch.compiler.reset()
    torch.compiler.cudagraph_mark_step_begin()
