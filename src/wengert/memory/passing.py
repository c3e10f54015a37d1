"""What blocks give to later ones, and how long it stays: values that no graph keeps are let go in the forward, by the
last block that takes them, unless something will be computed from them again.

The sizes of blocks count such values for as long as they could be needed. ``unheld`` says when they are not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .chain import Chain, Operation


class Passing(NamedTuple):
    """A part of what a block gives: its bytes, the last block that takes it, and the blocks whose graphs keep it.

    A skip connection, which is taken beyond the next block, is counted with all forwards, and with the backwards of the
    block that makes it and of later ones. Anything else is counted with what its block saves. That block's backward is
    measured without it.
    """

    size: int
    last: int
    keepers: tuple[int, ...]


def quiet(schedule: Sequence[Operation], count: int) -> set[int]:
    """The blocks that run as without a plan: saved whole, once, before whose backward nothing is done. They need no
    input but what their graph has. The loss is one.
    """
    found = set(range(count + 1))
    forwards: dict[int, int] = {}
    before = ""
    for at, (op, i, o) in enumerate(schedule):
        if op == "forward":
            forwards[i] = forwards.get(i, 0) + 1
            if o != 0 or forwards[i] > 1 or before == "backward":
                found.discard(i)
        elif op == "free":
            found.discard(i + 1)  # whose input goes
        elif schedule[at - 1][0] != "backward" and i < count:
            found.discard(i)
        if op == "backward":
            before = op
    return found


def unheld(chain: Chain, schedule: Sequence[Operation]) -> list[int]:
    """By operation of a valid schedule the bytes that the sizes of blocks count, and that are not there."""
    rows = [0] * len(schedule)
    parts = [(k, part) for k, block in enumerate(chain.blocks) for part in block.passing]
    if not parts:
        return rows
    alone = quiet(schedule, len(chain) - 1)
    first: dict[int, int] = {}
    again: set[int] = set()
    for at, (op, i, _) in enumerate(schedule):
        if op == "forward":
            again |= {i} & first.keys()
            first.setdefault(i, at)
    plain: set[int] = set()
    saved: set[int] = set()
    for at, (op, i, o) in enumerate(schedule):
        if op == "forward":
            (plain if o is None else saved).add(i)
        inputs = plain | {j for j in saved if j + 1 not in alone}  # whose outputs wait for a forward or backward
        for k, (size, last, keepers) in parts:
            counted = (op != "backward" or k < i) and (last > k + 1 or (k in saved and k not in again))
            held = first[k] <= at <= first[last] or not inputs.isdisjoint(range(k, last)) or not saved.isdisjoint(
                keepers)
            if counted and not held:
                rows[at] += size
        if op == "free":
            plain.discard(i)
        elif op == "backward":
            saved.discard(i)
    return rows
