"""data-written: a value that the backward needs was overwritten past the version counter, so that no error is raised.

In detailed windows, the memory of every tensor is watched whose ``.data`` or NumPy array the program takes. A write
counts if a node had saved the memory before, and a backward comes to that node after.
"""

from __future__ import annotations

import ast
import weakref
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.engine import reachable_nodes
from ...tensor import Tensor
from ..findings import Finding
from ..places import Place, is_users
from ..rule import Rule
from ..statements import Statement, function_of, tree
from .writes import Saved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..places import Site
    from ..record import Backward, Event, Record

LARGE = 1 << 16  # elements of a memory that are watched
ROWS = 64  # memories that are watched at once
_FILLING = frozenset(("fill", "sort", "partition", "put", "itemset", "resize", "setfield"))
_INTO = frozenset(("copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "put_along_axis"))


class Watched:
    """A memory that the program has a way to that no version counter sees."""

    def __init__(self, array: np.ndarray, counter: Any, event: Event) -> None:
        self.array, self.counter, self.event = weakref.ref(array), counter, event
        self.before = self.looked_at().copy()

    def looked_at(self) -> Any:
        """The elements that are compared: of a large memory every few; None when it is gone."""
        array = self.array()
        if array is None or array.size <= LARGE or not array.flags.c_contiguous:
            return array
        return array.reshape(-1)[:: array.size // LARGE + 1]

    def changed(self) -> int:
        """How many of them are not what they were."""
        array = self.looked_at()
        if array is None:
            return 0
        same = (array == self.before) | ((array != array) & (self.before != self.before))
        return int(array.size - np.count_nonzero(same))

    def renew(self) -> None:
        """Take what is there now for unwritten."""
        array = self.looked_at()
        if array is not None and array.shape == self.before.shape:
            self.before[...] = array


class Change:
    """A write that was noticed: nodes that were made before it have numbers from ``seq`` on."""

    def __init__(self, row: Watched, name: str, place: Place | None, seq: float, count: int) -> None:
        self.array, self.event, self.name, self.place = row.array, row.event, name, place
        self.seq, self.count = seq, count


class DataWritten(Rule):
    """Finds writes to saved values that no version counter has noticed."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.rows: list[Watched] = []
        self.changes: list[Change] = []
        self.newest = inf  # the number of the newest node

    def cut(self, event: Event, source: Any, result: Any) -> None:
        """Watch the memory that the program can write to now."""
        if not self.record.detailed or event.name not in ("data", "numpy", "__array__", "detach"):
            return
        array = source._wg_data
        other = result if type(result) is np.ndarray else getattr(result, "_wg_data", None)
        if type(array) is not np.ndarray or type(other) is not np.ndarray or (
                not np.may_share_memory(array, other)):
            return
        if source._wg_edge is not None:
            self.newest = min(self.newest, source._wg_edge[0].seq)
        self.rows = [row for row in self.rows[-ROWS:] if row.array() is not None]
        if event.name != "detach":  # which has the same counter
            self.rows.append(Watched(array, source._wg_vc, event))

    def calling(self, call: Any) -> None:
        """See whether NumPy has written something since the last call."""
        if self.rows:
            self._compare()

    def called(self, event: Event, call: Any, result: Any) -> None:
        """Note the newest node."""
        edge = result._wg_edge if isinstance(result, Tensor) else None
        if edge is not None and edge[0].seq < self.newest:
            self.newest = edge[0].seq

    def wrote(self, tensor: Any, name: str, site: Site | None) -> None:
        """See whether this was a write past the counter of what it wrote to."""
        array = tensor._wg_data
        for row in self.rows:
            old = row.array()
            if old is None or not np.may_share_memory(old, array):
                continue
            count = row.changed() if row.counter is not tensor._wg_vc else 0
            if count:
                from ..places import place

                self.changes.append(Change(row, name, place(site), self.newest, count))
            row.renew()

    def _compare(self) -> None:
        for row in self.rows:
            count = row.changed() if row.event.name in ("numpy", "__array__") else 0
            if count:
                self.changes.append(Change(row, "NumPy", written(row.event), self.newest, count))
                row.renew()

    def step_begins(self, step: Any) -> None:
        """What was written before is no matter of the next forward pass."""
        self.changes.clear()

    def step_ended(self, step: Any) -> None:
        """An optimizer has written."""
        for row in self.rows:
            row.renew()

    def window_ended(self) -> None:
        """Watch no longer."""
        self.rows.clear()
        self.changes.clear()

    def backward_begins(self, backward: Backward) -> Iterable[Finding] | None:
        """See whether this backward comes to what was written to."""
        if not self.rows:
            return None
        self._compare()
        changes, self.changes = self.changes, []
        if not changes:
            return None
        nodes = sorted(reachable_nodes([edge for edge, _ in backward.roots]), key=lambda node: node.seq)
        found = [_finding(self.record, change, saved, backward) for change in changes
            for saved in _savers(nodes, change)[:1] if is_users(change.place)]
        if not found:
            self.changes = changes  # another backward may come to them
        return found


def _savers(nodes: list[Any], change: Change) -> list[Saved]:
    """The nodes that had saved what was written to."""
    array = change.array()
    if array is None:
        return []
    return [Saved(node, name, None, 0, node._edge_to(name) if hasattr(node, "_edge_to") else None)
        for node in nodes if not node.is_leaf and node.seq >= change.seq
        for name, kept in _kept(node) if np.may_share_memory(kept, array)]


def _kept(node: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that a node has saved."""
    op, saved = getattr(node, "op", None), node.saved
    if op is not None and type(saved) is tuple:
        for i, name in enumerate(op.saved):
            rows = saved[3 * i] if type(saved[3 * i]) is list else (saved[3 * i],)
            yield from ((name, a) for a in rows if type(a) is np.ndarray)
    for s in getattr(getattr(node, "_wg_context", None), "_wg_saved", None) or ():
        array = getattr(s, "array", None)
        if type(array) is np.ndarray:
            yield "", array
    for part in getattr(node, "parts", ()):
        yield from _kept(part)


def _finding(record: Record, change: Change, saved: Saved, backward: Backward) -> Finding:
    leaf = saved.leaf
    name = record.name_of(leaf) if leaf is not None else ""
    how = "NumPy" if change.name == "NumPy" else f"{change.name} on .data"
    return Finding("data-written", change.place, f"{how} overwrites {name or 'a value'} after the forward pass has "
        f"saved it for the backward() at {backward.place}, and past the version counter: no error is raised, and the "
        "gradient is wrong.", parameters=[name] if name else [], evidence=[
            f"{saved.text} before the write", f"{change.count} of its elements were changed; the way to its memory was "
            f"taken by {change.event.name} at {change.event.place}"],
        fix="Write after backward(), or before the forward pass; or compute a new value (x = x.clamp(...)), whose "
            "gradient is known; torch.no_grad() instead of .data lets the version counter notice such writes.")


# -- where NumPy wrote ------------------------------------------------------------------------------------------------


def written(event: Event) -> Place | None:
    """The statement that writes to the array that was made at ``event``; where it was made, if it is not found."""
    where = event.place
    if where is None or event.site is None:
        return where
    function = function_of(event.site[0])
    for node in _statements(function if function is not None else tree(where.file)):
        statement = Statement(where.file, node)
        if not statement.covers(where):
            continue
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            named = ast.unparse(node.targets[0])
            later = [n for n in _statements(function) if n.lineno > node.lineno and _writes(n, named)]
            earlier = [n for n in _statements(function) if n.lineno <= node.lineno and _writes(n, named)]
            for found in (later + earlier)[:1]:
                return Place(where.file, found.lineno, where.function)
    return where


def _statements(region: Any) -> list[Any]:
    return [n for n in ast.walk(region) if isinstance(n, (ast.Assign, ast.AugAssign, ast.Expr))]


def _writes(node: Any, name: str) -> bool:
    """Whether a statement writes to the elements of the array in the variable ``name``."""
    def is_it(e: Any) -> bool:
        while isinstance(e, ast.Subscript):
            e = e.value
        return ast.unparse(e) == name

    if isinstance(node, ast.AugAssign):
        return is_it(node.target)
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Subscript) and is_it(t) for t in node.targets):
        return True
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
        f = call.func
        called = f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")
        if isinstance(f, ast.Attribute) and called in _FILLING and is_it(f.value):
            return True
        if called in _INTO and any(map(is_it, call.args[:1])):
            return True
        if any(k.arg == "out" and is_it(k.value) for k in call.keywords):
            return True
    return False
