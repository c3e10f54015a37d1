"""``utils._device``: a device for what is made inside, on both libraries."""

from __future__ import annotations

import importlib


def module(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


def test_what_makes_tensors_is_given_the_device(torch, monkeypatch):
    d, seen = module(torch, "utils._device"), []

    def make(n, device=None):
        seen.append(device)

    monkeypatch.setattr(importlib.import_module(d.DeviceContext.__module__), "_device_constructors", lambda: {make})
    context = d.DeviceContext("cpu")
    for given in ({}, {"device": None}, {"device": "cuda"}):
        context.__torch_function__(make, (), (2,), given)
    assert seen == [torch.device("cpu"), torch.device("cpu"), "cuda"]
    assert context.__torch_function__(len, (), ("ab",)) == 2


def test_which_functions_make_tensors(torch):
    makers = module(torch, "utils._device")._device_constructors()
    assert {torch.ones, torch.tensor, torch.arange, torch.randn, torch.eye} <= makers
    assert not {torch.sin, torch.ones_like, torch.add} & makers


def test_it_lies_below_other_modes_and_only_once(torch):
    d, overrides = module(torch, "utils._device"), module(torch, "overrides")
    stack = overrides._get_current_function_mode_stack
    with overrides.BaseTorchFunctionMode() as mode:
        outer, inner = d.DeviceContext("cpu"), d.DeviceContext(torch.device("cpu", 0))
        with outer:
            assert stack() == [outer, mode] and torch.device("cpu") == d.CURRENT_DEVICE
            with inner:
                assert stack() == [inner, mode] and torch.device("cpu", 0) == d.CURRENT_DEVICE
                assert torch.ones(2).tolist() == [1.0, 1.0]
            assert stack() == [outer, mode] and torch.device("cpu") == d.CURRENT_DEVICE
        assert stack() == [mode] and d.CURRENT_DEVICE is None


def test_decorators(torch):
    d, stack = module(torch, "utils._device"), module(torch, "overrides")._get_current_function_mode_stack

    @d.set_device("cpu")
    def current(n):
        """Text."""
        return n, [type(mode) for mode in stack()]

    assert current(3) == (3, [d.DeviceContext]) and current.__doc__ == "Text."
    assert d.device_decorator(d.DeviceContext("cpu"), current)(2)[0] == 2
    assert stack() == []
