"""The public names of ``torch.autograd``."""

from __future__ import annotations

import importlib
import types

import pytest


def test_variable_is_a_function_that_refuses_and_a_module(torch):
    module = importlib.import_module(f"{torch.__name__}.autograd.variable")
    assert (isinstance(torch.autograd.variable, types.FunctionType)
        and torch.autograd.variable.Variable is torch.autograd.Variable)
    assert module.Variable is torch.autograd.Variable and type(module.Variable) is module.VariableMeta
    assert sorted(module.__all__) == ["Variable", "VariableMeta"] and isinstance(torch.ones(1), module.Variable)
    assert torch.autograd.Variable.__module__.endswith(".autograd.variable")
    for args in ((), (3,)):
        with pytest.raises(RuntimeError, match="is deprecated, use torch.tensor"):
            torch.autograd.variable(*args)


def test_the_public_names_of_the_package(torch):
    assert sorted(torch.autograd.__all__) == [
        "Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad",
        "enforce_grad_layout_policy", "grad", "grad_mode", "gradcheck", "gradgradcheck", "inference_mode", "no_grad",
        "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "variable",
    ]
    namespace: dict = {}
    exec(f"from {torch.__name__}.autograd import *", namespace)
    assert set(torch.autograd.__all__) <= set(namespace)
    assert torch.autograd.is_multithreading_enabled.__doc__ and torch.autograd.is_view_replay_enabled.__doc__
