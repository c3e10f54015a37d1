"""What redistribution asks of the processes of one dimension of a mesh: local tensors in, local tensors out."""

from __future__ import annotations

from typing import Any

from ... import distributed as dist
from ...functions.places import PLACES
from ...tensor.types import contiguous_format
from .placement_types import Shard

T = PLACES["torch"]
OPERATIONS = {"sum": "SUM", "avg": "AVG", "max": "MAX", "min": "MIN", "product": "PRODUCT", "band": "BAND",
    "bor": "BOR", "bxor": "BXOR"}


def watched(name: str, count: int = 1) -> None:
    """Tell the watchers, if there are any, of a collective."""
    for watch in WATCHERS:
        watch(name, count)


WATCHERS: list[Any] = []


def lengths(size: int, n: int) -> list[int]:
    """The lengths of the pieces of a dimension that ``n`` processes share."""
    return [Shard.local_shard_size_and_offset(size, n, r)[0] for r in range(n)]


def all_reduce(local: Any, op: str, mesh: Any, at: int) -> Any:
    """The reduction of everyone's ``local``, for everyone."""
    found = local.clone(memory_format=contiguous_format)
    watched("all_reduce")
    dist.all_reduce(found, getattr(dist.ReduceOp, OPERATIONS[op]), group=mesh.get_group(at))
    return found


def all_gather(local: Any, dim: int, size: int, mesh: Any, at: int) -> Any:
    """The whole of which everyone has a piece along ``dim``; its length there is ``size``."""
    n = mesh.size(at)
    if n == 1:
        return local
    parts = lengths(size, n)
    padded = _padded(local, dim, parts[0])
    gathered = padded.new_empty((n, *padded.shape))
    watched("all_gather_into_tensor")
    dist.all_gather_into_tensor(gathered.view(n * padded.shape[0], *padded.shape[1:]), padded,
        group=mesh.get_group(at))
    if dim == 0 and parts[-1] == parts[0]:
        return gathered.view(size, *local.shape[1:])
    return T["cat"]([gathered[r].narrow(dim, 0, k) for r, k in enumerate(parts) if k], dim)


def _padded(local: Any, dim: int, length: int) -> Any:
    if local.shape[dim] == length:
        return local.contiguous()
    padded = local.new_zeros((*local.shape[:dim], length, *local.shape[dim + 1 :]))
    padded.narrow(dim, 0, local.shape[dim]).copy_(local)
    return padded


def reduce_scatter(local: Any, op: str, dim: int, mesh: Any, at: int) -> Any:
    """This process's piece along ``dim`` of the reduction of everyone's ``local``."""
    n = mesh.size(at)
    if n == 1:
        return local
    parts = lengths(local.shape[dim], n)
    pieces = [_padded(p, dim, parts[0]) for p in local.split(parts, dim)]
    found = pieces[0].new_empty(pieces[0].shape)
    given = T["cat"](pieces, 0)
    watched("reduce_scatter_tensor")
    dist.reduce_scatter_tensor(found, given, getattr(dist.ReduceOp, OPERATIONS[op]), group=mesh.get_group(at))
    return found.narrow(dim, 0, parts[mesh.get_local_rank(at)])


def all_to_all(local: Any, source: int, target: int, size: int, mesh: Any, at: int) -> Any:
    """From a piece along ``source``, where the whole has ``size``, to one along ``target``."""
    n, me = mesh.size(at), mesh.get_local_rank(at)
    if n == 1:
        return local
    theirs, mine = lengths(size, n), lengths(local.shape[target], n)
    given = [p.contiguous() for p in local.split(mine, target)]
    shapes = [[mine[me] if d == target else k if d == source else s for d, s in enumerate(local.shape)] for k in theirs]
    counts = [_count(s) for s in shapes]
    found = local.new_empty((sum(counts),))
    watched("all_to_all_single")
    dist.all_to_all_single(found, T["cat"]([p.view(-1) for p in given]), counts, [p.numel() for p in given],
        group=mesh.get_group(at))
    return T["cat"]([p.view(s) for p, s in zip(found.split(counts), shapes)], source)


def _count(shape: Any) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


def broadcast(local: Any, mesh: Any, at: int, source: int = 0) -> Any:
    """The tensor of process ``source`` of this dimension, for all."""
    found = local.contiguous()
    watched("broadcast")
    dist.broadcast(found, group_src=source, group=mesh.get_group(at))
    return found


def scatter(whole: Any, dim: int, mesh: Any, at: int, source: int = 0) -> Any:
    """This process's piece along ``dim`` of the tensor that process ``source`` of this dimension has."""
    n, me = mesh.size(at), mesh.get_local_rank(at)
    parts = lengths(whole.shape[dim], n)
    pieces = [_padded(p, dim, parts[0]) for p in whole.split(parts, dim)]
    found = pieces[0].new_empty(pieces[0].shape)
    watched("scatter")
    dist.scatter(found, pieces if me == source else None, group_src=source, group=mesh.get_group(at))
    return found.narrow(dim, 0, parts[me])
