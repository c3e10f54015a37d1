"""Operators that treat every row for itself: softmax, norms, sorting; and those that take rows: embedding, gather."""

from __future__ import annotations

from typing import Any

from .._collectives import all_reduce
from ..placement_types import Partial, Shard
from .table import R, along, given, rule, run

# name -> the place of ``dim``, its default, and the number of results
_ROWS: dict[str, tuple[int, Any, int]] = {
    "_softmax": (1, -1, 1), "_log_softmax": (1, -1, 1), "_safe_softmax": (1, -1, 1),
    "_softmax_backward_data": (2, -1, 1),
    "_log_softmax_backward_data": (2, -1, 1), "cumsum": (1, None, 1), "cumprod": (1, None, 1), "cummax": (1, None, 2),
    "cummin": (1, None, 2), "logcumsumexp": (1, None, 1), "sort": (1, -1, 2), "argsort": (1, -1, 1), "topk": (2, -1, 2),
    "kthvalue": (2, -1, 2), "flip": (1, None, 1), "roll": (2, None, 1), "tril": (-1, (-2, -1), 1),
    "triu": (-1, (-2, -1), 1), "index_select": (1, None, 1), "view_as_complex": (-1, -1, 1),
    "view_as_real": (-1, (), 1), "glu": (1, -1, 1), "renorm": (2, None, 1),
}


@rule(*_ROWS)
def row_by_row(call: Any) -> Any:
    """Shared along any dimension but that of the rows."""
    at, default, results = _ROWS[call.base]
    dim = call.arg(at, "dim", default) if at >= 0 else default
    x = call.args[0]
    if dim is None or isinstance(dim, bool):
        return
    whole = {along(d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim)}
    if ALONG_CLASSES and call.base in ("_log_softmax", "_log_softmax_backward_data"):
        whole = set()
    for d in range(x.ndim):
        if d not in whole:
            row = [Shard(d) if t.ndim == x.ndim else R for t in call.tensors]
            yield [Shard(d)] * results, row


ALONG_CLASSES: list[bool] = []  # not empty inside ``loss_parallel()``


def _shared(call: Any, plan: Any, at: int) -> tuple[int, list[int]]:
    """The dimension of the rows, and the dimensions of the mesh that cut it."""
    dim = along(call.args[at], call.args[0].ndim)
    return dim, [i for i, p in enumerate(plan.targets[0]) if isinstance(p, Shard) and p.dim == dim]


def _over(x: Any, op: str, call: Any, meshes: list[int]) -> Any:
    for i in meshes:
        x = all_reduce(x, op, call.mesh, i)
    return x


@run("_log_softmax")
def run_log_softmax(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """Of rows that several processes share: the largest and the sum are those of all."""
    dim, meshes = _shared(call, plan, 1)
    if not meshes:
        return call.func(*args, **kwargs)
    x = args[0] - _over(args[0].amax(dim, keepdim=True), "max", call, meshes)
    return x - _over(x.exp().sum(dim, keepdim=True), "sum", call, meshes).log()


@run("_log_softmax_backward_data")
def run_log_softmax_backward(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """Its gradient."""
    dim, meshes = _shared(call, plan, 2)
    if not meshes:
        return call.func(*args, **kwargs)
    g, y = args[:2]
    return g - y.exp() * _over(g.sum(dim, keepdim=True), "sum", call, meshes)


# -- norms ------------------------------------------------------------------------------------------------------------


@rule("native_layer_norm", "_fused_rms_norm")
def norm(call: Any) -> Any:
    """Shared along what is not normalised; weight and bias are everywhere."""
    x = call.args[0]
    weights = [t for t in call.tensors if t is not x]
    inner = max((t.ndim for t in weights), default=0) or _normalised(call)
    for d in range(x.ndim - inner):
        yield [Shard(d)] * 3, [Shard(d), *[R] * len(weights)]


def _normalised(call: Any) -> int:
    found = next((a for a in call.args[1:] if isinstance(a, (tuple, list, int))), None)
    return found if isinstance(found, int) else len(found) if found is not None else call.args[0].ndim


@rule("native_layer_norm_backward")
def norm_backward(call: Any) -> Any:
    """The gradients of weight and bias are partial."""
    g, x, mean, rstd, weight, bias = call.args[:6]
    dims = call.args[6]
    inner = dims if isinstance(dims, int) else len(dims)
    for d in range(x.ndim - inner):
        cut = Shard(d)
        yield ([cut, Partial(), Partial()],
            given((g, cut), (x, cut), (mean, cut), (rstd, cut), (weight, R), (bias, R)))


# -- rows of a table --------------------------------------------------------------------------------------------------


@rule("embedding")
def embedding(call: Any) -> Any:
    """Shared along the features, the indices, or the rows: then each process has the rows that it has, and zeros."""
    _w, indices = call.args[:2]
    rest = [R] * (len(call.tensors) - 2)
    yield Shard(indices.ndim), [Shard(1), R, *rest]
    yield Partial(), [Shard(0), R, *rest]
    for d in range(indices.ndim):
        yield Shard(d), [R, Shard(d), *rest]


def _own(call: Any, plan: Any, which: int, dim: int) -> list[tuple[int, int]]:
    """(length, start) of this process's piece of tensor ``which`` along ``dim``, if that is cut."""
    from .._spec import piece

    placements = plan.targets[which]
    if not any(isinstance(p, Shard) and p.dim == dim for p in placements):
        return []
    return [piece(call.tensors[which].shape[dim], dim, call.mesh, placements)]


def _masked(index: Any, length: int, start: int) -> tuple[Any, Any]:
    there = (index >= start) & (index < start + length)
    return there, (index - start) * there


@run("embedding")
def run_embedding(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """The rows that this process has."""
    w, indices, *rest = args
    for length, start in _own(call, plan, 0, 0):
        there, indices = _masked(indices, length, start)
        if not length:
            return w.new_zeros((*indices.shape, w.shape[1]))
        return call.func(w, indices, *([-1] if rest else []), *rest[1:], **kwargs) * there.unsqueeze(-1)
    return call.func(*args, **kwargs)


@rule("embedding_scatter")
def embedding_scatter(call: Any) -> Any:
    """The gradient of ``embedding``: partial if the indices are shared."""
    _g, indices = call.args[:2]
    yield Shard(1), [Shard(indices.ndim), R]
    for d in range(indices.ndim):
        yield Partial(), [Shard(d), Shard(d)]
    yield Partial(), [Partial(), R]


@rule("gather")
def gather(call: Any) -> Any:
    """Shared along other dimensions; along that of the index each process gives what it has, and zeros."""
    x, dim, index = call.args[:3]
    dim = along(dim, x.ndim)
    for d in range(x.ndim):
        if d != dim and x.shape[d] == index.shape[d]:
            yield Shard(d), [Shard(d), Shard(d)]
    if x.ndim:
        yield Partial(), [Shard(dim), R]


@run("gather")
def run_gather(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """What this process has."""
    x, dim, index, *rest = args
    for length, start in _own(call, plan, 0, along(dim, x.ndim)):
        there, index = _masked(index, length, start)
        if not length:
            return x.new_zeros(index.shape)
        return call.func(x, dim, index, *rest, **kwargs) * there
    return call.func(*args, **kwargs)


@rule("scattered", "scatter", "scatter_add", "index_add", "index_copy", "index_fill")
def scatter(call: Any) -> Any:
    """Shared along other dimensions than that of the index."""
    x, dim = call.args[0], call.args[1]
    dim = along(dim, x.ndim)
    if not all(t.shape[:dim] == x.shape[:dim] and t.ndim == x.ndim and t.shape[dim + 1 :] == x.shape[dim + 1 :]
            for t in call.tensors):
        return
    for d in range(x.ndim):
        if d != dim:
            yield Shard(d), [Shard(d)] * len(call.tensors)


@run("scattered")
def run_scattered(call: Any, plan: Any, args: Any, kwargs: Any) -> Any:
    """The whole size is an argument: here it is that of the piece."""
    g, dim, index, size, *rest = args
    if isinstance(size, (tuple, list)):
        size = type(size)(n if d == along(dim, g.ndim) else g.shape[d] for d, n in enumerate(size))
    return call.func(g, dim, index, size, *rest, **kwargs)
