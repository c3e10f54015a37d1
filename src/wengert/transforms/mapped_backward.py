"""Gradients through maps: several vectors in one walk (``is_grads_batched``), and gradients of mapped tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.errors import show
from ..tensor import classes
from ..tensor.backward import GradientEdge, as_row, grad, no_gradient, place_of
from ..tensor.tensor import Tensor


def gradients(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, allow_unused: bool = False, materialize_grads: bool = False,
        batched: bool = False) -> tuple[Any, ...]:
    """``tensor.backward.grad``, of mapped tensors too; ``batched``: for several vectors."""
    rows, wanted = as_row(outputs), as_row(inputs)
    if classes.Batched_ is not None and any(type(t) is classes.Batched_ for t in (*rows, *wanted)):
        return inside_maps(rows, wanted, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    how = of_several if batched else grad
    return how(rows, wanted, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)


def of_several(rows: Any, wanted: Any, vectors: Any, retain: Any, create_graph: bool, allow_unused: bool,
        materialize: bool) -> Any:
    """One walk for several vectors: they go through as a map's batch, and every gradient comes out with theirs."""
    from .vmap import VmapLevel, expanded, wrapped

    vectors = as_row(vectors) if vectors is not None else [None] * len(rows)
    if len(vectors) != len(rows):
        raise RuntimeError(f"got {len(rows)} tensors and {len(vectors)} gradients")
    for v in vectors:
        if v is None:  # the 1 that stands for it has no dimension to map over
            raise ValueError("vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a "
                "Tensor of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0. With is_grads_batched=True "
                "every output needs its batch of gradients.")
        if not v._wg_data.ndim:
            raise IndexError("invalid index of a 0-dim tensor: with is_grads_batched=True the first dimension of a "
                "gradient counts the batch")
    counts = [v.shape[0] for v in vectors]
    if not counts or min(counts) != max(counts):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{counts} for the mapped dimension")
    count = counts[0]
    for i, (t, v) in enumerate(zip(rows, vectors)):
        if v._wg_data.shape[1:] != place_of(t)[0]:
            if isinstance(t, GradientEdge):
                raise RuntimeError("Batched grads are not supported with GradientEdge: the sizes differ, and cannot be "
                    "told apart")
            raise unfit(i, v._wg_data.shape[1:], place_of(t)[0])
    with VmapLevel(count, "different") as level:
        given = [wrapped(v, level) for v in vectors]
        found = gradients(rows, wanted, given, retain, create_graph, allow_unused)
        found = tuple(None if g is None else expanded(g, level) for g in found)
    return tuple(no_gradient(t, create_graph) if g is None and materialize else g for t, g in zip(wanted, found))


def unfit(i: int, found: Any, wanted: Any) -> RuntimeError:
    """What to raise about a batch of gradients that does not have the shape of its output."""
    return RuntimeError("If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
        "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding output, but "
        f"a mismatch was detected: grad_output[{i}] has a shape of {show(found)} and output[{i}] has a shape of "
        f"{show(wanted)}. If you only want some tensors in `grad_output` to be considered batched, consider using "
        "vmap.")


def inside_maps(rows: Any, wanted: Any, vectors: Any, retain_graph: Any, create_graph: bool, allow_unused: Any,
        materialize_grads: bool) -> Any:
    """The gradients inside of maps: those of the tensors below, for each example its own."""
    from . import vmap as batching

    for i, t in enumerate(rows):
        # as it shows itself in the map
        if type(t) is classes.Batched_ and t._innermost() and not t.level.directions and not t.user_requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    levels: list[Any] = []
    for t in (*rows, *wanted):
        levels += [x for x in batching.unwrap_all(t)[1] if x not in levels]
    below = [[batching.unwrap_levels(t, levels) for t in row] for row in (rows, wanted)]
    given = [None] * len(rows) if vectors is None else as_row(vectors)
    seeds = [
        _ones_like(r) if v is None and not o._wg_data.ndim else v if v is None else batching.unwrap_levels(v, levels)
        for r, o, v in zip(below[0], rows, given)]
    found = gradients(below[0], below[1], seeds, retain_graph, create_graph, allow_unused, materialize_grads)
    return tuple(None if g is None else batching.wrap_levels(g, levels) for g in found)


def _ones_like(t: Any) -> Any:
    return Tensor._wg_wrap(np.ones(t._wg_data.shape, t._wg_data.dtype))
