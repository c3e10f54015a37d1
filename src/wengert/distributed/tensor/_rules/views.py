"""Operators that arrange elements: views, pieces, joins."""

from __future__ import annotations

from math import prod
from typing import Any

from .._spec import compute_local_shape
from ..placement_types import Partial, Shard
from .table import RULES, R, along, rule, run, sizes


def waiting(call: Any) -> Any:
    """What is still to be reduced stays so."""
    for p in {p for t in call.spread for p in t._spec.placements if isinstance(p, Partial)}:
        yield p, [p] * len(call.tensors)


def moved(call: Any, places: dict[int, int], results: int = 1) -> Any:
    """Candidates of a view that brings dimension ``d`` to ``places[d]``."""
    for d, to in places.items():
        yield ([Shard(to)] * results if results > 1 else Shard(to)), [Shard(d)]
    yield from waiting(call)


@rule("transpose", "swapaxes")
def transpose(call: Any) -> Any:
    x = call.args[0]
    a, b = (along(d, x.ndim) for d in call.args[1:3])
    return moved(call, {d: b if d == a else a if d == b else d for d in range(x.ndim)})


@rule("t", "numpy_T")
def t(call: Any) -> Any:
    n = call.args[0].ndim
    return moved(call, {d: n - 1 - d for d in range(n)})


@rule("permute")
def permute(call: Any) -> Any:
    x = call.args[0]
    dims = [along(d, x.ndim) for d in call.args[1]]
    return moved(call, {d: dims.index(d) for d in range(x.ndim)})


@rule("movedim")
def movedim(call: Any) -> Any:
    x = call.args[0]
    source, target = ([along(d, x.ndim) for d in sizes(v)] for v in call.args[1:3])
    rest = [d for d in range(x.ndim) if d not in source]
    order = dict(zip(target, source))
    row = [order[i] if i in order else rest.pop(0) for i in range(x.ndim)]
    return moved(call, {d: row.index(d) for d in range(x.ndim)})


@rule("unsqueeze")
def unsqueeze(call: Any) -> Any:
    x = call.args[0]
    dim = along(call.args[1], x.ndim + 1)
    return moved(call, {d: d + (d >= dim) for d in range(x.ndim)})


@rule("squeeze")
def squeeze(call: Any) -> Any:
    x = call.args[0]
    dim = call.arg(1, "dim")
    asked = range(x.ndim) if dim is None else [along(d, x.ndim) for d in sizes(dim)]
    gone = [d for d in asked if x.shape[d] == 1]
    return moved(call, {d: d - sum(g < d for g in gone) for d in range(x.ndim) if d not in gone})


@rule("expand")
def expand(call: Any) -> Any:
    x, shape = call.args[0], tuple(call.arg(1, "shape", ()))  # to no dimensions, if none are named
    lead = len(shape) - x.ndim
    return moved(call, {d: d + lead for d in range(x.ndim) if shape[d + lead] in (-1, x.shape[d])})


@rule("select")
def select(call: Any) -> Any:
    x = call.args[0]
    dim = along(call.args[1], x.ndim)
    return moved(call, {d: d - (d > dim) for d in range(x.ndim) if d != dim})


@rule("slice", "unbind", "split", "split_with_sizes", "unsafe_split", "chunk", "tensor_split", "narrow", "unfold",
    "diff", "repeat_interleave")
def cut(call: Any) -> Any:
    """Shared along the dimensions that are not cut; ``unbind`` takes its away."""
    x = call.args[0]
    at = 1 if call.base in ("slice", "unbind", "narrow", "unfold") else 2
    dim = call.arg(at, "dim", 0)
    if not isinstance(dim, int):
        return
    dim, gone = along(dim, x.ndim), call.base == "unbind"
    for d in range(x.ndim):
        if d != dim:
            yield Shard(d - (gone and d > dim)), [Shard(d)]
    whole = call.base == "slice" and (call.arg(2, "start") or 0) == 0 and (call.arg(3, "end") or 0) >= x.shape[dim]
    if whole and call.arg(4, "step", 1) == 1:
        yield Shard(dim), [Shard(dim)]
    yield from waiting(call)


@rule("select_backward", "slice_backward")
def put_back(call: Any) -> Any:
    """The gradient of a piece, among zeros: shared along the other dimensions."""
    g, shape, dim = call.args[:3]
    dim = along(dim, len(shape))
    for d in range(g.ndim):
        at = d + (d >= dim) if call.base == "select_backward" else d
        if at != dim:
            yield Shard(at), [Shard(d)]
    yield from waiting(call)


@rule("cat", "stack")
def join(call: Any) -> Any:
    """Shared along the dimensions that are not joined."""
    first = call.tensors[0]
    new = call.base == "stack"
    dim = along(call.arg(1, "dim", 0), first.ndim + new)
    if any(t.ndim != first.ndim for t in call.tensors):
        return
    for d in range(first.ndim):
        if new or d != dim:
            yield Shard(d + (new and d >= dim)), [Shard(d)] * len(call.tensors)
    for p, row in waiting(call):
        if type(p) is Partial:
            yield p, row


# -- other shapes -----------------------------------------------------------------------------------------------------


def resolved(shape: Any, n: int) -> tuple[int, ...]:
    """The shape with a number in place of -1."""
    shape = tuple(shape)
    return tuple(n // max(prod(k for k in shape if k != -1), 1) if k == -1 else k for k in shape)


def groups(a: tuple[int, ...], b: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Which dimensions of shape ``a`` become which of ``b``: the smallest runs with the same number of elements."""
    found, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        left, right = [], []
        m = n = 1
        if i < len(a):
            left, m, i = [i], a[i], i + 1
        if j < len(b):
            right, n, j = [j], b[j], j + 1
        while m != n:
            if m < n:
                if i == len(a):
                    break
                left, m, i = [*left, i], m * a[i], i + 1
            else:
                if j == len(b):
                    break
                right, n, j = [*right, j], n * b[j], j + 1
        found.append((left, right))
    return found


@rule("view", "_unsafe_view", "reshape", "_reshape_alias", "flatten", "unflatten")
def reshape(call: Any) -> Any:
    """The first dimension of a run may be shared, if the pieces are runs of the first dimension after it."""
    x = call.args[0]
    if len(call.args) < 2 or not isinstance(call.args[1], (tuple, list)):
        yield from waiting(call)
        return
    old, new = tuple(x.shape), resolved(call.args[1], x.numel())
    for left, right in groups(old, new):
        a = next((d for d in left if old[d] != 1), None)
        b = next((d for d in right if new[d] != 1), None)
        if a is None or b is None:
            continue
        n = call.pieces(x, a)
        if old[a] == new[b] or (old[a] % n == 0 and new[b] % n == 0):
            yield Shard(b), [Shard(a)]
    yield from waiting(call)


def local_shape(call: Any, plan: Any) -> tuple[int, ...]:
    """The shape of this process's piece of the result."""
    placements, shape, _ = plan.outs
    return compute_local_shape(shape, call.mesh, placements)


@run("view", "_unsafe_view", "reshape", "expand")
def run_shaped(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """The shape that is asked for is that of the whole."""
    if len(args) < 2 or not isinstance(args[1], (tuple, list)):
        return call.func(*args, **kwargs)
    x, _, *rest = args
    mine = list(local_shape(call, plan))
    if call.base == "view" and not x.is_contiguous():
        return x.reshape(mine)
    return call.func(x, mine, *rest, **kwargs)


@run("new_zeros", "new_ones", "new_empty", "new_full")
def run_new(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """The size that is asked for is that of the whole."""
    return call.func(args[0], list(local_shape(call, plan)), *args[2:], **kwargs)


@run("new_empty_strided")
def run_new_strided(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """The size that is asked for is that of the whole, strides are those of a new tensor."""
    return args[0].new_empty(local_shape(call, plan), **kwargs)


@run("select_backward", "slice_backward")
def run_put_back(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """The size that is asked for is that of the whole."""
    return call.func(args[0], list(local_shape(call, plan)), *args[2:], **kwargs)


@rule("repeat", "tile")
def repeat(call: Any) -> Any:
    """Shared along dimensions that are not repeated."""
    x, times = call.args[0], tuple(call.args[1])
    lead = len(times) - x.ndim
    return moved(call, {d: d + lead for d in range(x.ndim) if times[d + lead] == 1})


__all__ = ["R", "RULES"]
