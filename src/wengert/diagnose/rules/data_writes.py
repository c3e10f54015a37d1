"""data-written: a value that the backward needs was overwritten past the version counter, so that no error is raised.

In detailed windows, the memory of every tensor is watched whose ``.data`` or NumPy array the program takes, or that was
made of a NumPy array. A write counts if a node had saved the memory before, and a backward comes to that node after.
Between windows, ``.data`` and NumPy arrays are watched for one backward each time that a line has taken them in twice
as many rounds as before: what is done only now and then is seen, too.
"""

from __future__ import annotations

import weakref
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ...functions.creation import from_numpy, frombuffer
from ...graph.engine import reachable_nodes
from ...graph.node import next_sequence
from ...tensor import Tensor
from ..findings import Finding
from ..places import called_by_library, is_users, user_site
from ..record import Event
from ..rule import Rule
from .data_places import written
from .writes import Saved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..places import Place, Site
    from ..record import Backward, Record
    from ..watching import Watching

LARGE = 1 << 16  # elements of a memory that are watched
ROWS = 64  # memories that are watched at once
SHARED = 32  # memories of NumPy arrays that are known
TOLERANCE = 1e-6  # of rounding in a write and its undoing, of the largest element
PASSED = 2  # backwards for which a memory is watched outside of windows


def version_of(counter: Any) -> int | None:
    """What a version counter counts; None if there is none, as in inference tensors."""
    try:
        return counter[0]  # type: ignore[no-any-return]
    except (RuntimeError, TypeError):
        return None


class Watched:
    """A memory that the program has a way to that no version counter sees."""

    def __init__(self, array: np.ndarray, counter: Any, event: Event, number: int = 0) -> None:
        self.array, self.counter, self.event = weakref.ref(array), counter, event
        self.before, self.version = self.looked_at().copy(), version_of(counter)
        self.number = number  # outside of windows: how many backwards there were
        self.seq = next_sequence() if number else inf  # and the number of the newest node

    def looked_at(self) -> Any:
        """The elements that are compared: of a large memory every few; None when it is gone."""
        array = self.array()
        if array is None or array.size <= LARGE or not array.flags.c_contiguous:
            return array
        return array.reshape(-1)[:: array.size // LARGE + 1]

    def changed(self, before: Any = None, tolerance: float = 0.0) -> int:
        """How many of them are not what they were, by more than this part of the largest."""
        array, before = self.looked_at(), self.before if before is None else before
        if array is None:
            return 0
        same = (array == before) | ((array != array) & (before != before))
        if tolerance and array.dtype.kind in "fc" and not same.all():
            with np.errstate(all="ignore"):
                same |= np.abs(array - before) <= tolerance * np.abs(before).max()
        return int(array.size - np.count_nonzero(same))

    def renew(self) -> None:
        """Take what is there now for unwritten."""
        array = self.looked_at()
        if array is not None and array.shape == self.before.shape:
            self.before[...] = array
        self.version = version_of(self.counter)


class Change:
    """A write that was noticed: nodes that were made before it have numbers from ``seq`` on."""

    def __init__(self, row: Watched, name: str, place: Place | None, seq: float) -> None:
        self.array, self.event, self.name, self.place = row.array, row.event, name, place
        self.row, self.before, self.seq = row, row.before.copy(), seq

    def lasting(self) -> int:
        """How many elements are not what they were before it: it may have been undone."""
        return self.row.changed(self.before, TOLERANCE)


class DataWritten(Rule):
    """Finds writes to saved values that no version counter has noticed."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.rows: list[Watched] = []
        self.changes: list[Change] = []
        self.newest = inf  # the number of the newest node
        self.said: set[tuple[Any, ...]] = set()
        self.shared: deque[tuple[weakref.ref[Any], Event]] = deque(maxlen=SHARED)  # memories of NumPy arrays
        self.rounds: dict[Any, list[int]] = {}  # by site: the backward before it was last used, and how many there were

    def begins(self, watching: Watching) -> None:
        """Tensors made of NumPy arrays are noted."""
        for f in (from_numpy, frombuffer):
            watching.around(f, self._making)

    def _making(self, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            t = original(*args, **kwargs)
            self.shared.append((weakref.ref(t._wg_data), Event(original.__name__, "function", user_site())))
            return t

        return call

    def cut(self, event: Event, source: Any, result: Any) -> None:
        """Watch the memory that the program can write to now."""
        detailed = self.record.detailed
        if event.name not in ("data", "numpy", "__array__") or not (self._due(event.site) or detailed):
            return
        if called_by_library():  # which knows what it does: it writes to parts that nothing has saved, as a rule
            return
        array = source._wg_data
        other = result if type(result) is np.ndarray else getattr(result, "_wg_data", None)
        if type(array) is not np.ndarray or type(other) is not np.ndarray or (
                not np.may_share_memory(array, other)):
            return
        if source._wg_edge is not None:
            self.newest = min(self.newest, source._wg_edge[0].seq)
        self._watch(array, source, event, 0 if detailed else self.record.backward_count)

    def _watch(self, array: np.ndarray, t: Any, event: Event, number: int) -> None:
        if version_of(t._wg_vc) is not None:
            self.rows = [row for row in self.rows[-ROWS:] if row.array() is not None]
            self.rows.append(Watched(array, t._wg_vc, event, number))

    def _due(self, site: Site | None) -> bool:
        """Whether the round of this backward is the first, second, fourth, eighth ... in which the site is used."""
        row = self.rounds.setdefault(site, [-1, 0])
        if row[0] != self.record.backward_count:
            row[0], row[1] = self.record.backward_count, row[1] + 1
        return not row[1] & (row[1] - 1)

    def calling(self, call: Any) -> None:
        """See whether NumPy has written something since the last call."""
        if self.rows:
            self._compare()

    def called(self, event: Event, call: Any, result: Any) -> None:
        """Note the newest node."""
        edge = result._wg_edge if isinstance(result, Tensor) else None
        if edge is not None and edge[0].seq < self.newest:
            self.newest = edge[0].seq
        if edge is not None and self.shared:
            for t in call.args:
                if isinstance(t, Tensor) and type(t._wg_data) is np.ndarray:
                    self._takes(t)

    def _takes(self, t: Any) -> None:
        """A node has saved ``t``, it may be: watch its memory if NumPy can write to it."""
        for ref, event in self.shared:
            array = ref()
            if array is not None and np.may_share_memory(array, t._wg_data) and not any(
                    row.array() is array for row in self.rows):
                self._watch(array, t, event, 0)

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

                self.changes.append(Change(row, name, place(site), self.newest))
            row.renew()

    def _compare(self) -> None:
        found: dict[int, Change] = {}
        for row in self.rows:
            if version_of(row.counter) != row.version:  # something else has written, and was noticed
                row.renew()
            elif row.number or row.event.name != "data":
                count = row.changed()
                if not count:
                    continue
                place = written(row.event, row.array())
                if place is not None or id(row.counter) not in found:  # rather than a line that only reads
                    name = "A write" if row.event.name == "data" else "NumPy"
                    found[id(row.counter)] = Change(row, name, place or row.event.place,
                        row.seq if row.number else self.newest)
                row.renew()
        self.changes += found.values()

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
        self.rows = [row for row in self.rows if not row.number or backward.number - row.number < PASSED]
        changes, self.changes = self.changes, []
        if not changes:
            return None
        nodes = sorted(reachable_nodes([edge for edge, _ in backward.roots]), key=lambda node: node.seq)
        found = list(self._found(changes, nodes, backward))
        if not found:
            self.changes = changes  # another backward may come to them
        found = [f for f in found if (f.place, *f.parameters) not in self.said]
        self.said.update((f.place, *f.parameters) for f in found)
        return found

    def _found(self, changes: list[Change], nodes: list[Any], backward: Backward) -> Iterator[Finding]:
        done: set[tuple[Any, int]] = set()  # nodes, and memories that an earlier write has changed for them
        for change in changes:
            savers = [s for s in _savers(nodes, change) if (s.node, id(change.row.counter)) not in done]
            done.update((s.node, id(change.row.counter)) for s in savers)
            count = change.lasting() if savers and is_users(change.place) else 0
            if count:
                yield _finding(self.record, change, savers[0], backward, count)


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


def _finding(record: Record, change: Change, saved: Saved, backward: Backward, count: int) -> Finding:
    leaf = saved.leaf
    name = record.name_of(leaf) if leaf is not None else ""
    how = change.name if change.event.name != "data" else f"{change.name} on .data"
    return Finding("data-written", change.place, f"{how} overwrites {name or 'a value'} after the forward pass has "
        f"saved it for the backward() at {backward.place}, and past the version counter: no error is raised, and the "
        "gradient is wrong.", parameters=[name] if name else [], evidence=[
            f"{saved.text} before the write", f"{count} of its elements were changed; the way to its memory was "
            f"taken by {change.event.name} at {change.event.place}"],
        fix="Write after backward(), or before the forward pass; or compute a new value (x = x.clamp(...)), whose "
            "gradient is known; torch.no_grad() instead of .data lets the version counter notice such writes.")
