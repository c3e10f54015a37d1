"""Operators that reduce dimensions."""

from __future__ import annotations

from typing import Any

from .._collectives import lengths
from ..placement_types import Partial, Shard, _NormPartial
from .table import along, rule, sizes

# name -> by what pieces are reduced, and the places of ``dim`` and ``keepdim``
_REDUCTIONS: dict[str, tuple[str | None, int, int]] = {
    "sum": ("sum", 1, 2), "mean": ("avg", 1, 2), "amax": ("max", 1, 2), "amin": ("min", 1, 2),
    "prod": ("product", 1, 2),
    "max": ("max", 1, 2), "min": ("min", 1, 2), "nansum": ("sum", 1, 2), "logsumexp": (None, 1, 2), "any": (None, 1, 2),
    "all": (None, 1, 2), "argmax": (None, 1, 2), "argmin": (None, 1, 2), "var": (None, 1, 3), "std": (None, 1, 3),
    "var_mean": (None, 1, 3), "std_mean": (None, 1, 3), "median": (None, 1, 2), "count_nonzero": ("sum", 1, 9),
    "linalg_vector_norm": ("norm", 2, 3),
}


@rule(*_REDUCTIONS)
def reduction(call: Any) -> Any:
    """Shared along what stays; along what is reduced the result is partial, if pieces can be reduced."""
    x = call.args[0]
    how, at, keep = _REDUCTIONS[call.base]
    dim = call.arg(at, "dim")
    if isinstance(dim, bool):
        dim = None
    gone = {along(d, x.ndim) for d in (range(x.ndim) if dim is None or dim == [] else sizes(dim))}
    kept = bool(call.arg(keep, "keepdim", False))
    several = call.base in ("max", "min", "median") and dim is not None
    for d in range(x.ndim):
        if d not in gone:
            yield Shard(d if kept else d - sum(g < d for g in gone)), [Shard(d)]
        elif how is not None and not several:
            waiting = _partial(call, x, d, how)
            if waiting is not None:
                yield waiting, [Shard(d)]
    if how in ("sum", "avg"):
        for op in ("sum", "avg"):
            yield Partial(op), [Partial(op)]


def _partial(call: Any, x: Any, d: int, how: str) -> Any:
    if how == "norm":
        return _NormPartial(call.arg(1, "ord", 2))
    if how == "avg" and any(x.shape[d] % call.mesh.size(i) for i in range(call.mesh.ndim)):
        return None
    if how in ("max", "min") and any(not lengths(x.shape[d], call.mesh.size(i))[-1] for i in range(call.mesh.ndim)):
        return None  # there is no extreme of nothing
    return Partial(how)
