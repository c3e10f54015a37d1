"""The alphabet that sample arguments are written in.

A sample is ``call(*arguments, **options)``; an argument made by ``A``, ``P``, ``U``, ``D`` is a float64 tensor that
requires a gradient, everything else is passed on. The same seed gives the same numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Spec(NamedTuple):
    """A tensor to be drawn: ``kind`` says from what, ``shape`` how large."""

    kind: str
    shape: tuple[int, ...]
    extra: Any = None


def A(*shape: int) -> Spec:
    """Normal numbers, none close to zero or to another (no ties, no kinks at 0)."""
    return Spec("any", shape)


def P(*shape: int) -> Spec:
    """Positive numbers in [0.3, 2.3)."""
    return Spec("positive", shape)


def U(*shape: int) -> Spec:
    """Numbers in (-0.9, 0.9)."""
    return Spec("unit", shape)


def D(*shape: int) -> Spec:
    """Positive definite (batches of) matrices."""
    return Spec("definite", shape)


def C(value: Any) -> Spec:
    """A constant tensor with these values, without a gradient."""
    return Spec("constant", (), value)


def I(high: int, *shape: int) -> Spec:  # noqa: E743
    """Integers in [0, high), without a gradient."""
    return Spec("index", shape, high)


def B(*shape: int) -> Spec:
    """A mask, without a gradient."""
    return Spec("mask", shape)


class Sample(NamedTuple):
    """One call: ``twice`` says whether second derivatives are checked (they are not where the first is piecewise
    constant).
    """

    args: tuple[Any, ...]
    options: dict[str, Any]


def call(*args: Any, **options: Any) -> Sample:
    """A sample call."""
    return Sample(args, options)


def unary(first: Any = A) -> list[Sample]:
    """One tensor: a matrix, a number, nothing."""
    return [call(first(2, 3)), call(first()), call(first(0, 2))]


def pairs(first: Any = A, second: Any = A) -> list[Sample]:
    """Two tensors: alike, broadcast both ways, 0-d with dimensions, empty."""
    return [
        call(first(2, 3), second(2, 3)),
        call(first(3, 1), second(1, 4)),
        call(first(2, 3), second()),
        call(first(), second(2)),
        call(first(0, 3), second(3)),
    ]


def usual(op: Any) -> list[Sample]:
    """Samples of an operator on single elements that is defined everywhere, from its declaration;
    none of another kind.
    """
    if not getattr(op, "pointwise", False) or op.tensor_lists:
        return []
    needed = [p for p in op.params if p not in op.defaults]
    return {1: unary, 2: pairs}[len(needed)]() if set(needed) <= set(op.tensors) and 0 < len(needed) < 3 else []


def draw(spec: Any, rng: np.random.Generator, torch: Any) -> Any:
    """The tensor that ``spec`` describes; anything else as it is, lists element by element."""
    if isinstance(spec, list):
        return [draw(s, rng, torch) for s in spec]
    if not isinstance(spec, Spec):
        return spec
    n = int(np.prod(spec.shape)) if spec.shape else 1
    if spec.kind == "constant":
        return torch.tensor(spec.extra)
    if spec.kind == "index":
        return torch.tensor(rng.integers(0, spec.extra, spec.shape))
    if spec.kind == "mask":
        return torch.tensor(rng.random(spec.shape) < 0.5)
    if n == 0:
        return torch.tensor(np.zeros(spec.shape), requires_grad=True)
    if spec.kind == "definite":
        m = rng.standard_normal(spec.shape)
        a = m @ np.swapaxes(m, -1, -2) + spec.shape[-1] * np.eye(spec.shape[-1])
    elif spec.kind == "positive":
        a = 0.3 + 2 * rng.permutation((np.arange(n) + 0.5) / n).reshape(spec.shape)
    elif spec.kind == "unit":
        a = -0.9 + 1.8 * rng.permutation((np.arange(n) + 0.5 + 0.2 * (n % 2 == 1)) / (n + 0.4)).reshape(spec.shape)
    else:
        grid = (np.arange(n) + 0.5) / n * 4 - 2
        a = rng.permutation(np.where(np.abs(grid) < 0.1, 0.13, grid) + rng.uniform(0, 0.3 / n, n)).reshape(spec.shape)
    return torch.tensor(a, requires_grad=True)
