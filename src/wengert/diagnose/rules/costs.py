"""What a step costs: the operation that keeps most of its memory, and the one that takes most of its time.

Both are read off the snapshots of ``picture``; they are hints, never warnings. Times are medians of several steps: in
any one of them a collection of garbage or a function's first call may fall on any operation.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

from ..findings import Finding
from ..places import is_users, place
from ..rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..places import Place
    from ..record import Backward, Record
    from ..snapshot import Row, Snapshot

#: What a step must cost, and what share of it one operation must have, to be worth a word.
BYTES, MEMORY_SHARE = 1 << 20, 0.35
NANOSECONDS, TIME_SHARE = 50_000_000, 0.4
#: The steps of which the median is taken: the last ones that were seen in detail.
STEPS = 5


class Part:
    """What the calls at one place in one module cost together."""

    def __init__(self, where: Any, module: str = "") -> None:
        self.where, self.module = where, module
        self.names: dict[str, int] = {}
        self.cost = self.calls = 0

    def add(self, name: str, cost: int, calls: int = 1) -> None:
        """Take in a cost."""
        self.names[name] = self.names.get(name, 0) + cost
        self.cost += cost
        self.calls += calls

    def __str__(self) -> str:
        name = max(self.names, key=lambda n: self.names[n], default="")
        return f"{name} in {self.module}" if self.module else name


class Costs(Rule):
    """``memory-hotspot`` and ``slow-node``."""

    in_windows = ("backward_ended",)

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.times: dict[Any, deque[dict[Any, Part]]] = {}  # by the place of backward()

    def backward_ended(self, backward: Backward) -> None:
        picture = self.record.picture
        snapshot = None if picture is None else picture.snapshots.get(backward.site)
        # before the first one, the program makes its model
        if snapshot is not None and snapshot.number == backward.number > 1:
            self.times.setdefault(backward.site, deque(maxlen=STEPS)).append(time(snapshot))

    def ended(self) -> Iterable[Finding]:
        picture = self.record.picture
        snapshots: list[Snapshot] = [s for s in picture.snapshots.values() if s.rows] if picture is not None else []
        if snapshots:
            parts, total = max(map(memory, snapshots), key=lambda found: found[1])
            for i, part in enumerate(parts if total >= BYTES else ()):
                if part.cost >= MEMORY_SHARE * total:
                    yield _hotspot([part, *parts[:i], *parts[i + 1 :]], total)
        if self.times:
            parts, total = max(map(median, self.times.values()), key=lambda found: found[1])
            if parts and total >= NANOSECONDS and parts[0].cost >= TIME_SHARE * total:
                yield _slow(parts, total)


def memory(snapshot: Snapshot) -> tuple[list[Part], int]:
    """The bytes that a step's graph keeps by operation, the most first, and all together."""
    parts: dict[Any, Part] = {}
    seen: set[int] = set()
    for row in snapshot.rows:
        mine = [b for b in row.saved if b not in seen]
        seen.update(mine)
        kept = sum(snapshot.bytes[b] for b in mine)
        if kept and (part := _part(parts, row)) is not None:
            part.add(_name(row), kept)
    return _sorted(parts), sum(snapshot.bytes[b] for b in seen)


def time(snapshot: Snapshot) -> dict[Any, Part]:
    """The nanoseconds that a step's operations take, forward and backward; those of no known place under None."""
    parts: dict[Any, Part] = {}
    forward: dict[Place, int] = {}  # of the calls with a history, by place
    rest = Part(None)
    for row in snapshot.rows:
        if row.leaf < 0 and (part := _part(parts, row)) is not None:
            part.add(_name(row), (row.forward or 0) + (row.backward or 0))
            forward[part.where] = forward.get(part.where, 0) + (row.forward or 0)
        else:
            rest.cost += row.backward or 0
    first = {part.where: part for part in reversed(_sorted(parts))}
    others: dict[Place, Part] = {}
    for (site, name), (calls, nanoseconds) in snapshot.calls.items():
        where = place(site)
        if where is not None and is_users(where):
            others.setdefault(where, Part(where)).add(name, nanoseconds, calls)
        else:
            rest.cost += nanoseconds
    for where, part in others.items():
        if where in first:  # the rest has no history
            first[where].cost += max(part.cost - forward[where], 0)
        else:
            parts[where] = part
    return {**parts, None: rest}


def median(steps: Iterable[dict[Any, Part]]) -> tuple[list[Part], int]:
    """The parts of several steps with the medians of their times (the lower ones), the most first, and their sum."""
    rows = list(steps)
    found: dict[Any, Part] = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        mine = sorted((row[key] for row in rows if key in row), key=lambda part: part.cost)
        if 2 * len(mine) > len(rows):  # else it has no time in most steps
            found[key] = mine[(len(mine) - 1) // 2]
    total = sum(part.cost for part in found.values())
    found.pop(None, None)
    return _sorted(found), total


def _part(parts: dict[Any, Part], row: Row) -> Part | None:
    if row.place is None or not is_users(row.place):
        return None
    key = row.place, row.module
    found = parts.get(key)
    if found is None:
        found = parts[key] = Part(row.place, ".".join(row.module[1:]))
    return found


def _sorted(parts: dict[Any, Part]) -> list[Part]:
    return sorted(parts.values(), key=lambda part: -part.cost)


def _name(row: Row) -> str:
    """The operator of a node: ``LogSoftmaxBackward0`` is that of ``log_softmax``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"Backward\d*$", "", row.name)).lower()


def _hotspot(parts: list[Part], total: int) -> Finding:
    first, *rest = parts
    return Finding("memory-hotspot", first.where, f"{first} keeps {_size(first.cost)} for the backward: "
        f"{first.cost / total:.0%} of what the graph of a step holds.",
        "To need less: smaller batches or shapes here, or torch.utils.checkpoint around it, which computes it again "
        "in the backward.", evidence=list(_others(rest, total, _size, "keeps")))


def _slow(parts: list[Part], total: int) -> Finding:
    first, *rest = parts
    often = first.calls >= 100
    times = f" in {first.calls} calls" if first.calls > 1 else ""
    return Finding("slow-node", first.where, f"{first} takes {first.cost / total:.0%} of the time of a step's "
        f"operations, forward and backward: {_duration(first.cost)} of {_duration(total)}{times}.",
        "Replace the loop by one operation on the whole tensor (cumsum, stack, a batched product)." if often
        else "This is where a smaller shape, a smaller batch or another operation saves time.",
        evidence=list(_others(rest, total, _duration, "takes")))


def _others(parts: list[Part], total: int, show: Any, verb: str) -> Iterator[str]:
    """The next ones, for comparison."""
    for part in parts[:3]:
        if part.cost >= 0.02 * total:
            yield f"{part} at {part.where} {verb} {show(part.cost)} ({part.cost / total:.0%})"


def _size(n: int) -> str:
    return f"{n / (1 << 20):.1f} MiB" if n >= 1 << 20 else f"{n / 1024:.0f} KiB"


def _duration(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3g} ms" if nanoseconds < 1e9 else f"{nanoseconds / 1e9:.3g} s"
