"""Where NaN and inf come from: origins of values that are not finite, and the replay of a graph after the fact.

In detailed windows the rule ``nonfinite`` sees every result and makes an ``Origin`` of each that is not finite. In
other steps the graph below the loss is replayed from what its nodes have saved (``replay``): values that were not saved
are computed again where all arguments are known, oldest node first.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ....arrays.flags import IGNORED, quieten, restore
from ....graph.engine import reachable_nodes
from ...record import node_modules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...places import Site

#: Operators that put in a value that the program gives: the inf of a mask.
FILLS = frozenset(("masked_fill", "masked_fill_", "where", "fill_", "full", "full_like", "new_full", "tensor",
    "as_tensor", "from_numpy", "new_tensor", "masked_scatter", "masked_scatter_", "index_fill", "index_fill_"))
_SUMS = frozenset(("add", "sub", "add_", "sub_"))  # a mask of -inf may be added
_CHOICES = {"where": ("input", "other"), "masked_fill": ("value",)}
_MODERATE = 1e30


def is_finite(a: Any) -> bool:
    """Whether an array has neither NaN nor inf; True for what is no array of floats."""
    if type(a) is not np.ndarray:
        return bool(np.isfinite(a)) if isinstance(a, np.inexact) else True
    if a.dtype.kind not in "fcV" or not a.size:
        return True
    if a.dtype.kind == "V":
        with suppress(Exception):
            return bool(np.isfinite(a.astype("f4")).all())
        return True
    if a.dtype.itemsize >= 4 and a.dtype.kind == "f" and a.flags.c_contiguous:
        flat = a.reshape(-1)
        state = quieten(IGNORED)
        square = float(flat.dot(flat))
        restore(state)
        if square - square == 0.0:  # finite
            return True
    return bool(np.isfinite(a).all())


def largest(a: Any) -> float:
    """The largest finite magnitude in an array."""
    if type(a) is not np.ndarray or a.dtype.kind not in "fc":
        return 0.0
    x = np.abs(a[np.isfinite(a)])
    return float(x.max()) if x.size else 0.0


def range_of(a: Any) -> str:
    """In words: the shape and the range of an array."""
    if type(a) is not np.ndarray:
        return f"{a:.4g}" if isinstance(a, (int, float)) else str(a)[:40]
    if a.size == 0 or a.dtype.kind not in "fiub":
        return f"{a.dtype} {a.shape}"
    if a.dtype.kind != "f":
        return f"{a.dtype} {a.shape}, from {a.min()} to {a.max()}"
    bad, nan = int((~np.isfinite(a)).sum()), int(np.isnan(a).sum())
    fine = a[np.isfinite(a)]
    text = f"{a.dtype} {a.shape}" if a.ndim else f"{a.dtype}"
    if fine.size:
        text += f", from {fine.min():.4g} to {fine.max():.4g}" if a.ndim else f" {fine[0]:.4g}"
    zeros = int((a == 0).sum())
    parts = [f"{zeros} of {a.size} are 0"] if zeros and a.ndim and zeros < a.size else []
    parts += [f"{nan} NaN"] if nan else []
    parts += [f"{bad - nan} inf"] if bad > nan else []
    return f"{text} ({', '.join(parts)})" if parts else text


class Origin:
    """A value that is not finite. ``roots``: where its NaN or inf was born; perhaps itself, perhaps nowhere (an inf
    that the program gave, as that of a mask).

    ``name``: of the operator. ``inputs``: its arguments, by name. ``index``: the first element concerned. ``source``:
    ``"data"`` or ``"parameter"`` if the NaN was in an argument that no operation made.
    """

    __slots__ = ("data", "index", "inputs", "modules", "name", "nan", "number", "roots", "site", "source", "value")

    def __init__(self, name: str, site: Site | None, value: Any, modules: tuple[Any, ...] = ()) -> None:
        self.name, self.site, self.modules = name, site, modules
        self.inputs: list[tuple[str, Any]] = []
        self.roots: tuple[Origin, ...] = ()
        self.index: tuple[int, ...] = ()
        self.source, self.value, self.number = "", "inf", 0
        self.data: Any = None  # the argument that has it
        self.nan = True
        if value is not None:
            bad = ~np.isfinite(value)
            nan = np.isnan(value)
            self.nan = bool(nan.any())
            where = np.argwhere(nan if self.nan else bad)
            self.index = tuple(int(i) for i in where[0]) if len(where) else ()
            first = value[self.index] if len(where) else value
            self.value = "NaN" if self.nan else "-inf" if np.real(first) < 0 else "inf"

    def settle(self, parents: Iterable[Origin], given: bool) -> None:
        """Find the roots, from the origins of the arguments that are not finite; ``given``: an inf that the program
        gave.
        """
        parents = list(parents)
        found = {id(root): root for parent in parents for root in parent.roots if root.name != "leaf"}
        bare = [parent for parent in parents if parent.name == "leaf" and parent.roots]
        if found:
            self.roots = tuple(list(found.values())[:8])
        elif bare:  # the operation that takes it is named
            self.source, self.data, self.roots = bare[0].source, bare[0].data, (self,)
        elif parents:
            self.roots = (self,) if self.nan else ()
        elif not given:
            self.roots = (self,)

    def largest(self) -> float:
        """The largest magnitude among the inputs."""
        return max((largest(a) for _, a in self.inputs), default=0.0)


def leaf(value: Any, source: str) -> Origin:
    """The origin of a tensor that no operation made, which is not finite."""
    found = Origin("leaf", None, value)
    found.source, found.data = source, value
    if found.nan:
        found.roots = (found,)
    return found


def is_given(name: str, origin: Origin, numbers: Iterable[Any]) -> bool:
    """Whether an inf is one that the program gave, and no result."""
    return not origin.nan and (name in FILLS or any(isinstance(v, float) and v - v != 0 for v in numbers))


class _Replay:
    """The values of a graph, as far as they are known."""

    def __init__(self, edges: list[Any]) -> None:
        self.values: dict[tuple[int, int], Any] = {}
        self.origins: dict[int, Origin] = {}
        nodes = reachable_nodes(edges)
        inner: set[Any] = set()
        for node in list(nodes):
            if hasattr(node, "parts"):
                inner |= set(node.parts)
        self.nodes: list[Any] = sorted(nodes | inner, key=lambda n: -n.seq)

    def known(self) -> None:
        """Take in what nodes have saved."""
        for node in self.nodes:
            if node.is_leaf:
                self.values[id(node), 0] = node.variable._wg_data
                continue
            op = getattr(node, "op", None)
            if op is None or not node.saved or _in_lists(op):
                continue
            for name, array in _saved(node, op):
                if name in op.wrt and node.edges[op.wrt.index(name)] is not None:
                    edge = node.edges[op.wrt.index(name)]
                    self.values.setdefault((id(edge[0]), edge[1]), array)
                elif name in op.outputs:
                    shown = [o for o in op.outputs if o not in op.nondifferentiable]
                    if name in shown:
                        self.values[id(node), shown.index(name)] = array

    def run(self) -> None:
        """Visit the nodes, oldest first."""
        for node in self.nodes:
            if node.is_leaf:
                value = node.variable._wg_data
                if not is_finite(value):
                    self.origins[id(node)] = leaf(value, "parameter")
                continue
            parents = [self.origins[id(e[0])] for e in node.edges if e is not None and id(e[0]) in self.origins]
            value = self.values.get((id(node), 0))
            if value is None and getattr(node, "roots", None):  # a composite: its parts were visited
                to, nr = node.roots[0]
                value = self.values.get((id(to), nr))
                if id(to) in self.origins:
                    parents = [self.origins[id(to)]]
            if value is None:
                value = self._again(node)
            if value is not None and value.shape == node.shape:
                self.values[id(node), 0] = value
                if is_finite(value):
                    continue
            elif not parents and not _takes_nan(node):
                continue
            else:
                value = None
            self._add(node, value, parents)

    def _add(self, node: Any, value: Any, parents: list[Origin]) -> None:
        op = getattr(node, "op", None)
        name = op.name if op is not None else node.name()
        origin = Origin(name, node.__dict__.get("_wg_site"), value, node_modules(node))
        if value is None:
            origin.nan = not parents or any(p.nan for p in parents)
        origin.number = int(-node.seq)
        if op is not None and node.saved and not _in_lists(op):
            saved = dict(_saved(node, op))
            for p, edge in zip(op.wrt, node.edges):
                array = saved.get(p) if edge is None else self.values.get((id(edge[0]), edge[1]))
                if array is not None:
                    origin.inputs.append((p, array))
            origin.inputs += [(n, a) for n, a in saved.items() if n in op.tensors and n not in op.wrt]
        outside = [leaf(a, "data") for n, a in origin.inputs if op is not None and not is_finite(a)
            and not (n in op.wrt and node.edges[op.wrt.index(n)] is not None)]
        given = not origin.nan and (name in FILLS or (name in _SUMS and origin.largest() < _MODERATE))
        origin.settle([*parents, *outside], given)
        self.origins[id(node)] = origin

    def _again(self, node: Any) -> Any:
        """The result of a node, computed again; None if an argument is not known."""
        op = getattr(node, "op", None)
        if op is None or node.saved is None or _in_lists(op) or node.outputs != 1 or len(op.outputs) != 1:
            return None
        saved = dict(_saved(node, op, numbers=True))
        consts = dict(zip(op.consts, node.saved[3 * len(op.saved) :]))
        args: list[Any] = []
        for p in op.params:
            edge = node.edges[op.wrt.index(p)] if p in op.wrt else None
            value = self.values.get((id(edge[0]), edge[1])) if edge is not None else saved.get(p, consts.get(p))
            if value is None and edge is None and op.name in _CHOICES and p in _CHOICES[op.name]:
                value = np.zeros((), node.dtype)  # what a mask puts in: given by the program
            if value is None:
                if edge is not None or p not in op.defaults:
                    return None
                value = op.defaults[p]
            args.append(value)
        with suppress(Exception), np.errstate(all="ignore"):
            plain, named = (args[: -op.kwonly], args[-op.kwonly :]) if op.kwonly else (args, [])
            found = op.forward(*plain, **dict(zip(op.params[len(plain) :], named)))
            return found if type(found) is np.ndarray else np.asarray(found)  # a tuple gives another shape: unknown
        return None


def _takes_nan(node: Any) -> bool:
    """Whether a factor or divisor that no graph knows is NaN."""
    op = getattr(node, "op", None)
    return op is not None and op.name in ("mul", "div") and bool(node.saved) and None in node.edges and any(
        type(a) is np.ndarray and a.dtype.kind == "f" and bool(np.isnan(a).any()) for _, a in _saved(node, op))


def _in_lists(op: Any) -> bool:
    """Whether an operator's edges belong to lists of tensors (``cat``)."""
    return any(name in op.wrt for name in op.tensor_lists)


def _saved(node: Any, op: Any, numbers: bool = False) -> list[tuple[str, Any]]:
    """What a node has saved, by name, as far as nobody has written to it since."""
    rows: list[tuple[str, Any]] = []
    for i, name in enumerate(op.saved):
        array, counter, version = node.saved[3 * i : 3 * i + 3]
        if type(array) is list:
            if numbers and all(c[0] == v for c, v in zip(counter, version)):
                rows.append((name, array))
        elif (type(array) is np.ndarray and counter[0] == version) or (numbers and isinstance(array, (int, float))):
            rows.append((name, array))
    return rows


def _unknown(work: _Replay, node: Any) -> Any:
    """The last node of a way above ``node`` on which no result is known: where a NaN may have come in that
    is seen in the result of ``node`` alone.
    """
    while True:
        before = [e[0] for e in node.edges if e is not None and not e[0].is_leaf
            and work.values.get((id(e[0]), e[1])) is None]
        if not before:
            return node
        node = min(before, key=lambda n: n.seq)


def replay(edge: Any, certain: bool = True) -> Origin | None:
    """Why the value is not finite whose graph begins at ``edge``: an ``Origin`` with its roots, or None.

    ``certain``: whether it is known not to be finite, so that there is an origin.
    """
    work = _Replay([edge])
    work.known()
    work.run()
    found = work.origins.get(id(edge[0]))
    if found is None and certain and not edge[0].is_leaf:
        node = _unknown(work, edge[0])
        work._add(node, None, [])
        found = work.origins[id(node)]
        found.nan, found.value = True, "NaN or inf"
    return found
