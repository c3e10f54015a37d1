"""Operators on batched tensors and on those with tangents, which interceptors answer before there is a ``Call``."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert.graph.interceptors import Interceptor
from wengert.graph.modes import modes


class Counter(Interceptor):
    """Counts the operators that come by."""

    def __init__(self):
        self.calls = {}

    def intercept(self, call, call_next):
        self.calls[call.name] = self.calls.get(call.name, 0) + 1
        return call_next(call)


def curve(x):
    return (x * 2 + x.sin()).sum()


TRANSFORMED = {
    "vmap": lambda: wengert.vmap(curve)(wengert.rand(3, 2)),
    "jvp": lambda: wengert.func.jvp(curve, (wengert.rand(2),), (wengert.ones(2),)),
    "grad of vmap": lambda: wengert.func.grad(lambda x: wengert.vmap(curve)(x).sum())(wengert.rand(3, 2)),
    "vmap of jvp": lambda: wengert.vmap(lambda v: wengert.func.jvp(curve, (v,), (v,)))(wengert.rand(3, 2)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_an_interceptor_further_out_sees_the_calls(name):
    with Counter() as counter:
        TRANSFORMED[name]()
    assert all(counter.calls.get(op) for op in ("mul", "add", "sin"))


@pytest.mark.parametrize("name", TRANSFORMED)
def test_results_are_those_of_the_general_path(name, monkeypatch):
    def rows(found):
        return [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]

    wengert.manual_seed(0)
    quick = rows(TRANSFORMED[name]())
    monkeypatch.setattr(type(modes()), "shortcuts", property(lambda self: (), lambda self, value: None))
    wengert.manual_seed(0)
    for a, b in zip(quick, rows(TRANSFORMED[name]())):
        np.testing.assert_array_equal(a, b)


def test_modes_and_classes_are_asked_first(torch):
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(f"Named {func.__name__}")
            return super().__torch_function__(func, types, args, kwargs or {})

    with Mode():
        torch.vmap(lambda x: torch.sin(x))(torch.rand(3))
    assert "sin" in seen
    seen.clear()
    other = torch.rand(2).as_subclass(Named)
    torch.vmap(lambda x: torch.add(x, other))(torch.rand(3, 2))
    assert "Named add" in seen
    seen.clear()
    torch.func.jvp(lambda x: torch.stack([x, other]), (torch.rand(2),), (torch.ones(2),))
    assert "Named stack" in seen


def test_casts_of_autocast(torch):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = torch.vmap(lambda x, y: x @ y)(torch.rand(3, 2, 2), torch.rand(3, 2, 2))
        pushed = torch.func.jvp(lambda x: x @ x, (torch.rand(2, 2),), (torch.rand(2, 2),))
    assert found.dtype == pushed[0].dtype == torch.bfloat16


def test_what_a_map_sees_is_as_defined():
    """The tensors that the extension makes, and those that Python makes where there is none."""
    from wengert.transforms.vmap import VmapLevel, batched

    with VmapLevel(3) as level:
        for dtype in (wengert.float32, wengert.float64, wengert.int64, wengert.bool, wengert.complex64):
            for shape in ((3,), (3, 2), (3, 0, 4)):
                value = wengert.ones(shape, dtype=dtype)
                batched.wrapped(value, level)  # the memory for its type is there now
                found = batched.wrapped(value, level)
                a, b = found._wg_data, batched.placeholder(shape[1:], value._wg_data.dtype)
                assert (a.shape, a.dtype, a.strides, a.flags.writeable) == (b.shape, b.dtype, b.strides, False)
                np.testing.assert_array_equal(a, b)
                assert found.value is value and found.level is level and found._wg_vc is value._wg_vc
                assert (found.given, found.alike, found.user_requires_grad) == (None, None, False)
                assert found._wg_edge is None and found._wg_meta is None
