"""Operators that treat every number for itself, with broadcasting."""

from __future__ import annotations

from typing import Any

from ..placement_types import Partial, Shard
from .table import R, rule

# Of what is still to be reduced, by which these operators may be computed.
_ANY = ("sum", "avg", "max", "min", "product")
_KEPT = {"clone": _ANY, "_to_copy": _ANY, "contiguous": _ANY, "lift_fresh": _ANY, "copy": _ANY, "neg": ("sum", "avg"),
    "masked_scale": ("sum", "avg")}
_FRESH = frozenset(("ones_like", "zeros_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like"))


def elementwise(call: Any) -> Any:
    """Shared along a dimension by all that have it; sums may wait where the operator is linear."""
    shapes = [tuple(t.shape) for t in call.tensors]
    ndim = max(map(len, shapes))
    for d in range(ndim):
        size = max((s[d - ndim + len(s)] for s in shapes if d - ndim + len(s) >= 0), key=lambda n: (n != 1, n))
        row = []
        for s in shapes:
            at = d - ndim + len(s)
            row.append(Shard(at) if at >= 0 and s[at] == size else R)
        if any(isinstance(p, Shard) for p in row):
            yield Shard(d), row
    yield from _waiting(call, len(shapes))


def _waiting(call: Any, n: int) -> Any:
    present = {p for t in call.spread for p in t._spec.placements if isinstance(p, Partial)}
    for p in sorted(present, key=str):
        linear = p.reduce_op in ("sum", "avg") and type(p) is Partial
        if call.base in _FRESH:
            yield R, [p]
        elif type(p) is not Partial and call.base not in ("clone", "copy"):
            continue
        elif p.reduce_op in _KEPT.get(call.base, ()):
            yield p, [p] * n
        elif linear and call.base in ("add", "sub", "rsub") and n == 2:
            yield p, [p, p]
        elif linear and call.base in ("mul", "div", "true_divide"):
            yield p, [p] if n == 1 else [p, R]
            if call.base == "mul" and n == 2:
                yield p, [R, p]


@rule("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
def new(call: Any) -> Any:
    """A new tensor lies as the example does if it has its shape, everywhere otherwise."""
    x = call.args[0]
    same = tuple(call.args[1]) == tuple(x.shape)
    for p in {p for t in call.spread for p in t._spec.placements}:
        if same and (not isinstance(p, Partial) or call.base in ("new_empty", "new_empty_strided")):
            yield p, [p]
        else:
            yield R, [p]
