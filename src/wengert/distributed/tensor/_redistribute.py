"""From one way of lying on a mesh to another, step by step on the dimensions of the mesh."""

from __future__ import annotations

from typing import Any

from ...autograd import Function
from . import _collectives as C
from ._spec import DTensorSpec, order_of_cuts, piece
from .placement_types import Partial, Replicate, Shard, _StridedShard


def redistribute_local_tensor(local: Any, current: DTensorSpec, target: DTensorSpec) -> Any:
    """The piece of ``target``, from that of ``current``, without gradients."""
    if current.mesh is not target.mesh and current.mesh != target.mesh:
        raise NotImplementedError("Cross device mesh comm not supported yet!")
    if current.placements == target.placements or current.mesh.get_coordinate() is None:
        return local
    now, to = list(current.placements), target.placements
    if local.is_meta or (current.mesh.size() == 1 and not local.is_meta):
        return _without_others(local, target)
    for i in reversed(order_of_cuts(now)):
        if _stays(i, now, to):
            continue
        cut, size = now[i], piece(current.shape[now[i].dim], now[i].dim, current.mesh, now, i)[0]
        if _moves(i, now, to):
            local = C.all_to_all(local, cut.dim, to[i].dim, size, current.mesh, i)
            now[i] = to[i]
        else:
            local = C.all_gather(local, cut.dim, size, current.mesh, i)
            now[i] = Replicate()
    order = order_of_cuts(to)
    for i in [i for i in range(len(to)) if i not in order] + order:
        if now[i] != to[i]:
            local = _step(local, now[i], to[i], current.mesh, i)
            now[i] = to[i]
    return local


def _without_others(local: Any, target: DTensorSpec) -> Any:
    """On a mesh of one process every piece is the whole; on the device ``meta`` only the shape counts."""
    from ._spec import compute_local_shape

    if local.is_meta:
        return local.new_empty(compute_local_shape(target.shape, target.mesh, target.placements))
    return local


def _stays(i: int, now: list[Any], to: Any) -> bool:
    """Whether the cut by mesh dimension ``i``, and all that were made before it there, are wanted."""
    dim = now[i].dim
    before = [j for j in order_of_cuts(now) if now[j].dim == dim]
    wanted = [j for j in order_of_cuts(to) if to[j].dim == dim]
    upto = before.index(i) + 1
    return before[:upto] == wanted[:upto] and all(now[j] == to[j] for j in before[:upto])


def _moves(i: int, now: list[Any], to: Any) -> bool:
    """Whether the cut is exchanged for one of another dimension, and neither is cut by others."""
    if type(now[i]) is not Shard or type(to[i]) is not Shard or now[i].dim == to[i].dim:
        return False
    dims = {now[i].dim, to[i].dim}
    return not any(isinstance(p, Shard) and p.dim in dims for row in (now, to) for j, p in enumerate(row) if j != i)


def _step(local: Any, now: Any, to: Any, mesh: Any, i: int) -> Any:
    if isinstance(now, Partial):
        if isinstance(to, Shard):
            return now.after(C.reduce_scatter(now.before(local), now.reduce_op, to.dim, mesh, i))
        if isinstance(to, Partial):
            raise RuntimeError(f"redistribute from {now} to {to} not supported yet")
        return now.after(C.all_reduce(now.before(local), now.reduce_op, mesh, i))
    if isinstance(to, Partial):
        return to.parts(local, mesh.size(i))
    if isinstance(to, Shard):
        length, start = Shard.local_shard_size_and_offset(local.shape[to.dim], mesh.size(i), mesh.get_local_rank(i))
        return local.narrow(to.dim, start, length).clone()
    raise RuntimeError(f"redistribute from {now} to {to} not supported yet")


def without_partial(placements: Any) -> tuple[Any, ...]:
    """The placements of a gradient: of what is to be reduced, everyone gets the gradient whole."""
    return tuple(Replicate() if isinstance(p, Partial) else p for p in placements)


class Redistribute(Function):
    """``DTensor.redistribute``, with the redistribution back as its gradient."""

    @staticmethod
    def forward(ctx: Any, dtensor: Any, mesh: Any, placements: Any, forward_dtype: Any,  # type: ignore[override]
            backward_dtype: Any) -> Any:
        ctx.placements, ctx.dtype, ctx.backward_dtype = dtensor.placements, dtensor.dtype, backward_dtype
        ctx.mesh = dtensor.device_mesh
        local = dtensor._local_tensor if forward_dtype is None else dtensor._local_tensor.to(forward_dtype)
        spec = dtensor._spec
        found = redistribute_local_tensor(local, spec, DTensorSpec(mesh, placements, tensor_meta=spec.tensor_meta))
        return type(dtensor)._around(found.view_as(found), mesh, placements, spec.shape, spec.stride)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        if ctx.backward_dtype is not None:
            grad = grad.to(ctx.backward_dtype)
        back = without_partial(ctx.placements)
        if back != grad.placements:
            grad = grad.redistribute(ctx.mesh, back)
        return grad.to(ctx.dtype), None, None, None, None


__all__ = ["Redistribute", "_StridedShard", "redistribute_local_tensor", "without_partial"]
