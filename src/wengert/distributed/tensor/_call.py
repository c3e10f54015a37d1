"""A call of an operator on DTensors, as rules see it, and the plan that is made of it."""

from __future__ import annotations

from typing import Any

from ...functions.creation import empty_strided
from ...tensor import Tensor, classes
from .placement_types import Partial, Replicate, Shard, _StridedShard


def swap(v: Any, f: Any) -> Any:
    """``v`` with ``f`` of each tensor in it."""
    if isinstance(v, classes.Tensor_):
        return f(v)
    if type(v) in (list, tuple):
        return type(v)(swap(x, f) for x in v)
    return v


class Call:
    """``func(*args, **kwargs)``; ``tensors``: those among the arguments, in order, a plain one as it is."""

    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs
        self.name: str = func._opname
        self.inplace = self.name.endswith("_") and not self.name.endswith("__")
        self.base = self.name[:-1] if self.inplace else self.name
        self.tensors: list[Any] = []
        swap((args, tuple(kwargs.values())), self.tensors.append)
        self.spread = [t for t in self.tensors if hasattr(t, "_spec")]
        self.mesh = self.spread[0]._spec.mesh

    def arg(self, at: int, name: str, default: Any = None) -> Any:
        """The argument at a place, or of a name."""
        return self.args[at] if len(self.args) > at else self.kwargs.get(name, default)

    def placements(self, t: Any) -> tuple[Any, ...]:
        """How an argument lies: a plain one is everywhere."""
        return t._spec.placements if hasattr(t, "_spec") else (Replicate(),) * self.mesh.ndim

    def replaced(self, tensors: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other tensors in their places."""
        rest = iter(tensors)
        args = swap(self.args, lambda t: next(rest))
        return args, {k: swap(v, lambda t: next(rest)) for k, v in self.kwargs.items()}

    def pieces(self, t: Any, dim: int) -> int:
        """By how many processes dimension ``dim`` of an argument is shared."""
        n = 1
        for i, p in enumerate(self.placements(t)):
            if isinstance(p, Shard) and p.dim == dim:
                n *= self.mesh.size(i)
        return n


def key_of(v: Any) -> Any:
    """What a plan depends on, of an argument; ``TypeError`` if that cannot be hashed."""
    if isinstance(v, classes.Tensor_):
        return v._spec.key() if hasattr(v, "_spec") else (tuple(v.shape), v.dtype)
    if type(v) in (list, tuple):
        return tuple(map(key_of, v))
    if type(v) is slice:
        return ("slice", v.start, v.stop, v.step)
    if v is None or isinstance(v, (bool, int, float, complex, str)):
        return (type(v), v)
    hash(v)
    return v


class Plan:
    """How a call is run: where its tensors must lie, and how its results do (placements, shape, strides of each)."""

    def __init__(self, targets: list[tuple[Any, ...]], outs: Any) -> None:
        self.targets, self.outs = targets, outs


def geometry_of_results(call: Call) -> Any:
    """Shape and strides of each result, of the call on tensors without numbers."""
    def without(t: Any) -> Any:
        return empty_strided(tuple(t.shape), t.stride(), dtype=t.dtype, device="meta")

    args, kwargs = call.replaced([without(t) for t in call.tensors])
    if kwargs.get("device") is not None:
        kwargs["device"] = "meta"
    found = call.func(*args, **kwargs)
    if isinstance(found, (tuple, list)):
        return [_geometry(t) for t in found]
    return _geometry(found)


def _geometry(t: Any) -> Any:
    return (t.shape, t.stride()) if isinstance(t, Tensor) else None


def choose(call: Call, candidates: list[tuple[Any, Any]]) -> tuple[list[Any], list[list[Any]]]:
    """For each dimension of the mesh the cheapest candidate: results and arguments, by dimension of the mesh."""
    outs, ins = [], []
    if not any(isinstance(p, Shard) for t in call.spread for p in t._spec.placements):
        candidates = [c for c in candidates if not any(isinstance(p, Shard) for p in c[1])]
    for i in range(call.mesh.ndim):
        now = [call.placements(t)[i] for t in call.tensors]
        best, least = None, float("inf")
        for out, given in candidates:
            out, given = as_cut(out, given, now)
            if call.inplace and (out[0] if isinstance(out, (list, tuple)) else out) != now[0]:
                continue
            price = sum(cost(t, a, b, call.mesh.size(i)) for t, a, b in zip(call.tensors, now, given))
            if price < least:
                best, least = (out, given), price
        if best is None:
            raise RuntimeError(f"{call.func}: in-place operations that require placement changes are not supported. "
                f"The operation would change placement from {now[0]}, which requires redistribution and breaks "
                "aliasing semantics. Please use the out-of-place version of this operation instead.")
        outs.append(best[0])
        ins.append(list(best[1]))
    return outs, ins


def as_cut(out: Any, given: Any, now: list[Any]) -> tuple[Any, Any]:
    """A candidate of ``Shard``, in terms of how an argument that it takes as it is has been cut."""
    strided = next((a for a, b in zip(now, given)
        if isinstance(a, _StridedShard) and type(b) is Shard and b.dim == a.dim), None)
    if strided is None:
        return out, given

    def cut(p: Any) -> Any:
        return _StridedShard(p.dim, split_factor=strided.split_factor) if type(p) is Shard else p

    return [cut(p) for p in out] if isinstance(out, (list, tuple)) else cut(out), [cut(p) for p in given]


def cost(t: Any, now: Any, to: Any, size: int) -> float:
    """Microseconds to bring a piece from ``now`` to ``to`` among ``size`` processes, roughly, as PyTorch reckons."""
    if now == to:
        return 0.0
    if isinstance(to, Shard) and t.shape[to.dim] < size:
        return float("inf")
    if isinstance(now, Replicate):
        return 0.0
    if isinstance(to, Partial):
        return float("inf")
    hops = size - 1
    if isinstance(now, Partial) and not isinstance(to, Shard):
        hops *= 2
    if not hasattr(t, "_spec"):
        return float("inf")
    shared = t.numel() * t.element_size()  # of the whole: all processes must reckon alike
    for i, p in enumerate(t._spec.placements):
        if isinstance(p, Shard) and p is not now:
            shared /= t._spec.mesh.size(i)
    return 6.6 + 0.6 * hops + shared * hops / size / 94e3 + (isinstance(now, Shard) and isinstance(to, Shard))
