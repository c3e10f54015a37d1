"""Strides as users can see them: memory formats, and the layout of results."""

from __future__ import annotations

import os
from typing import Any

import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


def numbers(lib: Any, *shape: int) -> Any:
    n = 1
    for k in shape:
        n *= k
    return lib.arange(float(n)).reshape(shape)


# Tensors of every layout: in order, transposed, with gaps, expanded, with single and empty dimensions, channels last.
MADE = {
    "scalar": lambda lib: numbers(lib),
    "vector": lambda lib: numbers(lib, 4),
    "matrix": lambda lib: numbers(lib, 3, 4),
    "transposed": lambda lib: numbers(lib, 3, 4).t(),
    "column": lambda lib: numbers(lib, 3, 1),
    "row transposed": lambda lib: numbers(lib, 1, 4).t(),
    "gaps": lambda lib: numbers(lib, 4, 6)[:, ::2],
    "rows with gaps": lambda lib: numbers(lib, 6, 4)[::2],
    "part transposed": lambda lib: numbers(lib, 4, 6)[1:, :3].t(),
    "permuted": lambda lib: numbers(lib, 2, 3, 4).permute(2, 0, 1),
    "permuted with gaps": lambda lib: numbers(lib, 2, 3, 8)[:, :, ::2].permute(1, 2, 0),
    "expanded": lambda lib: numbers(lib, 3, 1).expand(3, 4),
    "expanded in front": lambda lib: numbers(lib, 3).expand(2, 3),
    "expanded and permuted": lambda lib: numbers(lib, 2, 1, 3).expand(2, 4, 3).permute(2, 1, 0),
    "empty": lambda lib: numbers(lib, 2, 0, 3),
    "image": lambda lib: numbers(lib, 2, 3, 4, 5),
    "channels last": lambda lib: numbers(lib, 2, 4, 5, 3).permute(0, 3, 1, 2),
    "channels last, one image": lambda lib: numbers(lib, 1, 4, 5, 3).permute(0, 3, 1, 2),
    "channels last, one channel": lambda lib: numbers(lib, 2, 4, 5, 1).permute(0, 3, 1, 2),
    "channels last, one pixel": lambda lib: numbers(lib, 2, 1, 1, 3).permute(0, 3, 1, 2),
    "channels last, part": lambda lib: numbers(lib, 2, 4, 5, 6).permute(0, 3, 1, 2)[:, :3],
    "volume": lambda lib: numbers(lib, 2, 3, 2, 2, 2),
    "channels last, volume": lambda lib: numbers(lib, 2, 2, 2, 2, 3).permute(0, 4, 1, 2, 3),
}


def look(t: Any, exactly: bool) -> Any:
    """What can be seen of the layout; the strides of dimensions of size 1, which lead nowhere, only if ``exactly``."""
    strides = tuple(s for s, n in zip(t.stride(), t.shape) if exactly or n != 1)
    return tuple(t.shape), strides, t.is_contiguous(), [t.is_contiguous(memory_format=f) for f in formats(t)]


def formats(t: Any) -> list[Any]:
    lib = torch if isinstance(t, torch.Tensor) else wengert
    return [lib.channels_last, lib.channels_last_3d]


def same(name: str, f: Any, exactly: bool = True) -> None:
    seen: list[Any] = []
    for lib in (torch, wengert):
        try:
            found = f(lib, MADE[name](lib))
            seen.append([look(t, exactly) for t in (found if isinstance(found, (tuple, list)) else [found])])
        except RuntimeError as error:
            seen.append(str(error).splitlines()[0])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", MADE)
def test_views(name: str) -> None:
    same(name, lambda lib, t: t)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", MADE)
def test_memory_formats(name: str, kind: str) -> None:
    for f in (
        lambda lib, t: t.contiguous(memory_format=getattr(lib, kind)),
        lambda lib, t: t.clone(memory_format=getattr(lib, kind)),
        lambda lib, t: t.to(memory_format=getattr(lib, kind)),
        lambda lib, t: t.to(lib.float64, memory_format=getattr(lib, kind)),
        lambda lib, t: lib.empty_like(t, memory_format=getattr(lib, kind)),
        lambda lib, t: lib.zeros_like(t, memory_format=getattr(lib, kind)),
        lambda lib, t: lib.full_like(t, 2.0, memory_format=getattr(lib, kind)),
        lambda lib, t: lib.rand_like(t, memory_format=getattr(lib, kind)),
    ):
        same(name, f)


KEEPING = {
    "clone": lambda lib, t: t.clone(),
    "contiguous": lambda lib, t: t.contiguous(),
    "to": lambda lib, t: t.to(lib.float64),
    "double": lambda lib, t: t.double(),
    "empty_like": lambda lib, t: lib.empty_like(t),
    "ones_like": lambda lib, t: lib.ones_like(t, dtype=lib.int64),
    "rand_like": lambda lib, t: lib.rand_like(t),
    "full_like": lambda lib, t: lib.full_like(t, 1),
    "neg": lambda lib, t: -t,
    "exp": lambda lib, t: t.exp(),
    "relu": lambda lib, t: lib.relu(t),
    "gelu": lambda lib, t: lib.nn.functional.gelu(t),
    "sigmoid": lambda lib, t: lib.sigmoid(t),
    "silu": lambda lib, t: lib.nn.functional.silu(t),
    "softplus": lambda lib, t: lib.nn.functional.softplus(t),
    "leaky_relu": lambda lib, t: lib.nn.functional.leaky_relu(t),
    "erf": lambda lib, t: lib.erf(t),
    "clamp": lambda lib, t: t.clamp(0, 1),
    "add number": lambda lib, t: t + 1,
    "number minus": lambda lib, t: 1 - t,
    "square": lambda lib, t: t**2,
    "with itself": lambda lib, t: t * t,
    "comparison": lambda lib, t: t > 1,
    "isnan": lambda lib, t: lib.isnan(t),
    "with a scalar": lambda lib, t: t * lib.tensor(2.0),
    "with its copy in order": lambda lib, t: t + t.clone(memory_format=lib.contiguous_format),
    "a copy in order with it": lambda lib, t: t.clone(memory_format=lib.contiguous_format) + t,
    "with part of it": lambda lib, t: t + t[:1] if t.ndim else t,
    "part of it first": lambda lib, t: t[:1] * t if t.ndim else t,
    "with integers": lambda lib, t: t + lib.ones_like(t, dtype=lib.int64),
    "where": lambda lib, t: lib.where(t > 1, t, 0.0),
    "lerp": lambda lib, t: lib.lerp(t, t + 1, 0.5),
    "addcmul": lambda lib, t: lib.addcmul(t, t, t),
    "masked_fill": lambda lib, t: t.masked_fill(t > 1, 0.0),
    "dropout": lambda lib, t: lib.nn.functional.dropout(t, 0.5, True),
    "sum": lambda lib, t: t.sum(0) if t.ndim else t,
    "sum kept": lambda lib, t: t.sum(-1, keepdim=True) if t.ndim else t,
    "cumsum": lambda lib, t: t.cumsum(0) if t.ndim else t,
    "softmax": lambda lib, t: t.softmax(0) if t.ndim else t,
    "reshape": lambda lib, t: t.reshape(-1),
    "transpose": lambda lib, t: t.transpose(0, -1) if t.ndim else t,
}


@pytest.mark.parametrize("how", KEEPING)
@pytest.mark.parametrize("name", MADE)
def test_results(name: str, how: str) -> None:
    same(name, KEEPING[how], exactly=False)


def test_gradients_of_leaves() -> None:
    """A gradient has the layout of its leaf, if that has no gaps."""

    def gradient(lib: Any, t: Any) -> Any:
        x = t.detach().requires_grad_()
        (x * x).sum().backward()
        return x.grad

    for name in MADE:
        same(name, gradient, exactly=False)


def test_new_tensors_in_a_format() -> None:
    for shape in ((2, 3, 4, 5), (2, 3, 2, 4, 5), (2, 3)):
        for kind in ("channels_last", "channels_last_3d", "contiguous_format"):
            same("scalar", lambda lib, t: lib.empty(shape, memory_format=getattr(lib, kind)))
    same("scalar", lambda lib, t: lib.empty_permuted((2, 3, 4), (0, 2, 1)))
    same("scalar", lambda lib, t: lib.empty_strided((2, 3), (1, 2)))


@pytest.mark.parametrize("name", MADE)
def test_joined(name: str) -> None:
    """Tensors are joined row by row, but images with their channels innermost keep them so."""
    same(name, lambda lib, t: lib.cat([t, t], 0), exactly=False)
    same(name, lambda lib, t: lib.stack([t, t]), exactly=False)


def test_modules_change_format() -> None:
    for lib in (torch, wengert):
        layer = lib.nn.Conv2d(3, 4, 2).to(memory_format=lib.channels_last)
        assert layer.weight.is_contiguous(memory_format=lib.channels_last)
        assert not layer.weight.is_contiguous()
