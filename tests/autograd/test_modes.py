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
