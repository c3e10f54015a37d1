"""Context variables keep count while finalizers set variables too."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import contextvars, gc
from wengert.arrays.context import ContextVar

kept = [ContextVar(n, default=0) for n in "abc"]
for v in kept:
    v.set(1)
inner, outer = ContextVar("inner", default=0), ContextVar("outer", default=0)
others = len(contextvars.copy_context())
seen = []

class Ends:
    def __init__(self):
        self.me = self

    def __del__(self):
        token = inner.set(1)
        seen.append(inner.get())
        inner.reset(token)

gc.set_threshold(50)
for i in range(20000):
    Ends()
    token = outer.set(i)
    assert outer.get() == i
    outer.reset(token)
context = contextvars.copy_context()
assert gc.isenabled() and len(seen) > 10000
assert len(context) == len(list(context)) == others, (len(context), list(context))
assert [v.get() for v in (*kept, inner, outer)] == [1, 1, 1, 0, 0]
"""


@pytest.mark.parametrize("native", ["0", "1"])
def test_collections_during_changes(native, monkeypatch):
    monkeypatch.setenv("WENGERT_NATIVE", native)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_finalizers_that_compute():
    program = """
import contextvars, gc
import wengert as torch

class Holder:
    def __init__(self):
        self.me = self

    def __del__(self):
        with torch.no_grad():
            torch.ones(2) * torch.ones(2, dtype=torch.float64)

gc.set_threshold(50)
x = torch.ones(3, requires_grad=True)
for i in range(3000):
    Holder()
    with torch.no_grad():
        y = x * 2
    z = (x * i).sigmoid().sum()
    z.backward()
context = contextvars.copy_context()
assert len(context) == len(list(context))
assert torch.is_grad_enabled()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_refused():
    from wengert.arrays import kernels
    from wengert.arrays.context import ContextVar

    if kernels._native is not None:
        with pytest.raises(TypeError, match="ContextVar"):
            kernels._native.unbroken(3)
    empty = ContextVar("empty")
    with pytest.raises(LookupError):
        empty.get()
    token = empty.set(2)
    empty.reset(token)
    with pytest.raises(RuntimeError, match="once"):
        empty.reset(token)
