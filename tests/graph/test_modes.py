"""Grad modes: contexts, decorators, generators, coroutines, threads; inference mode."""

from __future__ import annotations

import asyncio
import threading

import pytest


def test_no_grad_and_enable_grad_nest(torch):
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad and not torch.is_grad_enabled()
        with torch.enable_grad():
            assert (x * 2).requires_grad
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_modes_are_restored_after_errors(torch):
    with pytest.raises(ZeroDivisionError):
        with torch.no_grad():
            1 / 0
    assert torch.is_grad_enabled()


def test_set_grad_enabled_is_a_function_and_a_context(torch):
    torch.set_grad_enabled(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_decorators(torch):
    @torch.no_grad()
    def silent(x):
        return (x * 2).requires_grad

    @torch.no_grad
    def bare(x):
        return (x * 2).requires_grad

    x = torch.ones(1, requires_grad=True)
    assert not silent(x) and not bare(x) and silent.__name__ == "silent"


def test_generators_keep_the_mode_inside_and_not_outside(torch):
    @torch.no_grad()
    def numbers():
        for _ in range(2):
            assert not torch.is_grad_enabled()
            yield torch.is_grad_enabled()

    for inside in numbers():
        assert not inside and torch.is_grad_enabled()


def test_threads_have_their_own_mode(torch):
    seen = []
    with torch.no_grad():
        t = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_inference_tensors(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = x * 2
        assert y.is_inference() and not y.requires_grad and torch.is_inference_mode_enabled()
        y.add_(1)
    assert not x.is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        y._version
    (x * y.clone()).sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_modes_of_tasks(torch):
    if torch.__name__ == "torch" and "wengert" not in str(torch.__version__):
        pytest.skip("PyTorch's modes belong to the thread, and leak between tasks")
    seen = []

    async def quiet():
        with torch.no_grad():
            await asyncio.sleep(0.01)
            seen.append(("quiet", torch.is_grad_enabled()))

    async def loud():
        await asyncio.sleep(0.005)
        seen.append(("loud", torch.is_grad_enabled()))

    async def both():
        await asyncio.gather(quiet(), loud())

    asyncio.run(both())
    assert seen == [("loud", True), ("quiet", False)]


def test_generators_in_every_way(torch):
    log = []

    @torch.no_grad()
    def numbers():
        try:
            got = yield torch.is_grad_enabled()
            log.append((got, torch.is_grad_enabled()))
            try:
                yield 2
            except ValueError:
                log.append(("caught", torch.is_grad_enabled()))
                yield 3
            return "done"
        finally:
            log.append(("closed", torch.is_grad_enabled()))

    g = numbers()
    assert next(g) is False and torch.is_grad_enabled()
    assert g.send("sent") == 2 and torch.is_grad_enabled()
    assert g.throw(ValueError()) == 3 and torch.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == "done"
    assert log == [("sent", False), ("caught", False), ("closed", False)] and torch.is_grad_enabled()
    log.clear()
    g = numbers()
    next(g)
    g.close()
    g = numbers()
    next(g)
    del g
    assert log == [("closed", False)] * 2 and torch.is_grad_enabled()
    g = numbers()
    next(g)
    with pytest.raises(KeyError):
        g.throw(KeyError("out"))
    assert torch.is_grad_enabled()


def test_generators_inside_of_generators(torch):
    @torch.no_grad()
    def outer():
        yield torch.is_grad_enabled()
        for inside in inner():
            yield torch.is_grad_enabled(), inside
        yield torch.is_grad_enabled()

    @torch.enable_grad()
    def inner():
        yield torch.is_grad_enabled()
        with torch.no_grad():
            yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    for before in (True, False):
        with torch.set_grad_enabled(before):
            seen = []
            for found in outer():
                seen.append(found)
                assert torch.is_grad_enabled() == before
            assert seen == [False, (False, True), (False, False), (False, True), False]


def test_modes_set_within_a_generator_stay_inside(torch):
    @torch.enable_grad()
    def numbers():
        yield torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        yield torch.is_grad_enabled()

    with torch.no_grad():
        assert list(numbers()) == [True, False] and not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode"])
def test_decorated_methods_and_classes(torch, name):
    mode = getattr(torch, name)
    expected = name == "enable_grad"

    class Some:
        @mode()
        def method(self):
            return torch.is_grad_enabled()

        @staticmethod
        @mode()
        def static():
            return torch.is_grad_enabled()

        @classmethod
        @mode()
        def of_class(cls):
            return torch.is_grad_enabled()

    with torch.set_grad_enabled(not expected):
        assert Some().method() == Some.static() == Some.of_class() == expected
        with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

            @mode()
            class Old:
                def __init__(self):
                    self.seen = torch.is_grad_enabled()

        assert Old().seen == expected
        assert torch.is_grad_enabled() != expected


def test_set_grad_enabled_as_a_decorator(torch):
    @torch.set_grad_enabled(False)
    def silent():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled() and silent() is False and torch.is_grad_enabled()
    for wrong in ("yes", 1, None):
        with pytest.raises(TypeError, match="must be bool"):
            torch.set_grad_enabled(wrong)
    assert torch.is_grad_enabled()
    assert repr(torch.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"


def test_leaves_made_under_no_grad(torch):
    with torch.no_grad():
        w = torch.ones(2, requires_grad=True)
        assert w.requires_grad and w.is_leaf and not (w * 2).requires_grad
        made = (w * 2).requires_grad_()
        w.add_(1)
    assert made.is_leaf and w._version == 1
    (made * w).sum().backward()
    assert made.grad.tolist() == [2.0, 2.0] and w.grad.tolist() == [2.0, 2.0]


def test_hooks_and_nested_backwards_see_the_right_mode(torch):
    seen = []

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            before = torch.is_grad_enabled()
            with torch.enable_grad():
                y = torch.ones(2, requires_grad=True)
                y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
                (y * 2).sum().backward()
            seen.append((before, torch.is_grad_enabled()))
            return g

    x = torch.ones(2, requires_grad=True)
    for create_graph in (False, True):
        Nested.apply(x).sum().backward(create_graph=create_graph)
        assert torch.is_grad_enabled()
    assert seen == [False, (False, False), False, (True, True)]
    with torch.no_grad():
        assert not torch.is_grad_enabled()


def test_switches_of_the_engine(torch):
    with torch.autograd.set_multithreading_enabled(False):
        x = torch.ones(1, requires_grad=True)
        (x * 2).backward()
    assert x.grad.item() == 2.0
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "set_multithreading_enabled"):
        assert hasattr(torch.autograd.grad_mode, name)
