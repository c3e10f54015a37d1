"""The fastest schedule within a budget, by dynamic programming over heterogeneous chains.

After Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal checkpointing for heterogeneous chains: how to train
deep neural networks with limited memory" (2019). A problem ``(i, j)`` begins with the input of block ``i`` and the
gradient of the output of block ``j``, and ends with the gradient of that input. It is solved for every memory at once,
a row of a table, by what is kept first on the way from ``i`` to ``j``:

- the plain output of ``k - 1``: then ``(k, j)`` has so much less memory, and ``(i, k - 1)`` all of it again;
- what block ``k`` saves: ``(k + 1, j)`` has so much less, and what remains is ``(i, k)`` *with block k saved already*.
  With ``k > i`` the input of ``k`` is not kept, which the paper leaves out; it spares the recomputation of ``k``.

So there are tables for "nothing saved" (``held = 0``), and for each option of which block ``j`` is saved already.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .chain import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .chain import Chain, Cost, Operation

WORK = 5e8  # additions that a table may cost
STEPS = 4000  # more steps of memory are not worth their time
EXACT = 200_000  # a table of so many numbers is made of doubles
FAR = 80  # in longer chains no saved block outlives its input


def solve_chain(chain: Chain, budget: int, unit: int | None = None) -> list[Operation] | None:
    """The fastest schedule that holds at most ``budget`` bytes; None where there is none."""
    budget = math.floor(budget)
    best: list[Operation] | None = None
    sizes = Sizes(chain)
    plain = chain.plain()
    cost = simulate(chain, plain)
    if cost.peak <= budget and cost.time <= sizes.quickest() * (1 + 1e-12):
        return plain
    if chain.early and least(chain) > budget:
        return None
    step = unit or _unit(sizes, budget)
    if budget >= step:
        best = _fastest(chain, Table(sizes, budget + chain.early, step), budget)
    if best is None:
        schedule = Lowest(sizes).schedule()
        best = schedule if simulate(chain, schedule).peak <= budget else None
    return best


def least(chain: Chain) -> int:
    """The fewest bytes in which a step can be made."""
    lowest = Lowest(Sizes(chain))
    return simulate(chain, lowest.schedule()).peak if chain.early else lowest.least


def _fastest(chain: Chain, table: Table, budget: int) -> list[Operation] | None:
    """Rounded sizes may promise too much or too little: the schedules for a little more and less memory are tried. The
    table does not know what is let go early, for which it has more memory.
    """
    best: tuple[float, list[Operation]] | None = None
    tried: list[Operation] | None = None
    top = len(table) - 1
    for m in range(top, -1, -1):
        schedule = table.schedule(m)
        if schedule is None:
            break
        if schedule != tried:  # a step less seldom makes another
            tried = schedule
            cost: Cost = simulate(chain, schedule)
            if cost.peak <= budget and (best is None or cost.time < best[0]):
                top = m if chain.early and best is None else top
                best = cost.time, schedule
        if best is not None and (table.exact or m < top - 2 * table.slack):
            break
    return best and best[1]


def _unit(sizes: Sizes, budget: int) -> int:
    """The greatest common divisor of all sizes if that makes few steps, else what time allows."""
    n = sizes.n
    tables = (1 + len(sizes.far(True))) ** 2
    steps = int(max(200, min(STEPS, WORK / (tables * n**3 / 6 + n))))
    common = math.gcd(*(int(x) for x in sizes.all() if math.isfinite(x) and x == int(x)), 0)
    whole = all(x == int(x) for x in sizes.all() if math.isfinite(x))
    if whole and common and budget // common <= steps:
        return common
    return max(1, math.ceil(budget / steps))


class Sizes:
    """The numbers of a chain, as arrays: bytes and seconds."""

    def __init__(self, chain: Chain) -> None:
        blocks = chain.blocks
        self.n = n = len(blocks)
        self.output = np.array([b.output for b in blocks], float)
        self.gradient = np.array([b.gradient for b in blocks], float)
        self.gradients = np.array([b.gradients for b in blocks], float)
        self.forward_temp = np.array([b.forward_temp for b in blocks], float)
        again = np.array([math.isfinite(b.forward_time) for b in blocks])
        self.forward_temp[~again] = math.inf  # such a block runs once
        times = np.array([b.forward_time if ok else 0.0 for b, ok in zip(blocks, again)])
        self.before = np.concatenate([[0.0], np.cumsum(times)])  # seconds of all blocks before one
        self.count = max(len(b.options) for b in blocks)
        shape = n, self.count
        self.saved, self.save_temp, self.backward_temp = (np.full(shape, math.inf) for _ in range(3))
        self.save_time, self.again_time, self.backward_time = (np.full(shape, math.inf) for _ in range(3))
        for i, b in enumerate(blocks):
            for o, option in enumerate(b.options):
                self.saved[i, o], self.save_time[i, o] = option.saved, option.forward_time
                self.save_temp[i, o], self.backward_temp[i, o] = option.forward_temp, option.backward_temp
                self.backward_time[i, o] = option.backward_time
                self.again_time[i, o] = option.forward_time if i == n - 1 else option.again

    def all(self) -> Iterator[float]:
        """All sizes."""
        for row in (self.output, self.gradient, self.gradients, self.forward_temp, self.saved, self.save_temp,
                self.backward_temp):
            yield from map(float, row.ravel())

    def quickest(self) -> float:
        """No schedule takes fewer seconds."""
        forward = np.diff(self.before)[:, None] + self.again_time
        return float((np.minimum(self.save_time, forward) + self.backward_time).min(1).sum())

    def far(self, exact: bool = False) -> list[np.ndarray]:
        """The options in which a block may be saved without its input: for each of them the number by block."""
        n, numbers = self.n, np.arange(self.n)
        if n <= 2 or n > FAR:
            return []
        if n**3 * self.count**2 < 40_000:
            return [np.where(np.isfinite(self.saved[:, o]), o, 0) for o in range(self.count)]
        lightest = self.saved.argmin(1)
        worth = self.saved[numbers, lightest] < 4 * self.output
        return [lightest] if worth[:-1].any() else []


class Needs:
    """What a chain's parts need, in steps of memory (or bytes): limits under which a choice is not possible."""

    def __init__(self, s: Sizes, output: np.ndarray, saved: np.ndarray, scale: Any) -> None:
        n = s.n
        self.output, self.saved = output, saved
        behind = np.concatenate([np.cumsum(s.gradients[::-1])[::-1][1:], [0.0]])
        seed = s.gradient.copy()
        seed[-1] = 0.0
        self.held = behind + seed  # gradients that are held while problem (i, j) is worked on, by j
        before = np.concatenate([[0.0], s.gradient[:-1]])
        self.backward = scale((behind + s.gradient + before + s.gradients)[:, None] + s.saved + s.backward_temp)
        enter = s.output + s.forward_temp
        through = enter + np.concatenate([[0.0], s.output[:-1]])
        self.sweep = np.full((n, n + 1), -math.inf)  # from i up to before k
        for i in range(n):
            row = through[i:].copy()
            row[0] = enter[i]
            self.sweep[i, i + 1 :] = np.maximum.accumulate(row)
        self.save = s.saved + s.save_temp
        self.far = np.concatenate([[0.0], s.output[:-1]])[:, None] + self.save
        self.scale = scale


class Table:
    """For each problem the least seconds by steps of memory. ``schedule(m)`` reads a schedule from it."""

    def __init__(self, sizes: Sizes, budget: int, unit: int) -> None:
        self.s = s = sizes
        self.exact = all(x % unit == 0 for x in s.all() if math.isfinite(x))
        self.slack = 0 if self.exact else 2 + s.n // 8
        self.steps = budget // unit + self.slack + 1
        saved = np.stack([_rounded(s.saved[:, o], unit) for o in range(s.count)], 1)
        limit = float(self.steps)
        self.need = Needs(s, _rounded(s.output, unit), saved, lambda x: np.minimum(np.floor(x / unit + 0.5), limit))
        self.unit = unit
        self.options: list[Any] = [None, *s.far()]  # by ``held``
        self.parts: dict[tuple[int, int, int], tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]] = {}
        self._make()

    def __len__(self) -> int:
        return self.steps

    def _make(self) -> None:
        n, kinds = self.s.n, len(self.options)
        kind = np.float64 if n * n * self.steps * kinds < EXACT * 10 else np.float32
        self.t = np.empty((kinds, n, n, self.steps), kind)
        # by j and the block that begins: the same seconds, with so many fewer steps of memory as are kept before it
        self.after_plain = np.empty((kinds, n, n, self.steps), kind)
        self.after_saved = np.empty((kinds, kinds, n, n, self.steps), kind)  # [held, option]
        self.buffer = np.empty((n, self.steps), kind)
        for d in range(n):
            for i in range(n - d):
                for held in range(kinds if i + d < n - 1 else 1):
                    self._fill(held, i, i + d)

    def _fill(self, held: int, i: int, j: int) -> None:
        row = self.t[held, i, j]
        row[:] = math.inf
        for low, value in self._ends(held, i) if i == j else self._near(held, i, j):
            np.minimum(row[low:], value[low:] if isinstance(value, np.ndarray) else value, out=row[low:])
        if i < j:
            for first, second, limits in self._splits(held, i, j):
                total = np.add(first, second, out=self.buffer[: len(first)])
                for r in np.flatnonzero(limits > 0):
                    total[r, : int(limits[r])] = math.inf
                np.minimum(row, total.min(0) - row.dtype.type(self.s.before[i]), out=row)
        self._shift(held, i, j)

    def _ends(self, held: int, i: int) -> list[tuple[int, float]]:
        """A single block: where it is saved already its backward remains."""
        need, s = self.need, self.s
        if held:
            o = self.options[held][i]
            return [(int(need.backward[i, o]), s.backward_time[i, o])]
        limits = np.maximum(need.backward[i], need.scale(need.held[i] + need.save[i]))
        return [(int(limits[o]), s.again_time[i, o] + s.backward_time[i, o]) for o in range(s.count)]

    def _base(self, held: int, j: int) -> float:
        """Bytes of gradients, and of what is saved already."""
        return self.need.held[j] + (self.s.saved[j, self.options[held][j]] if held else 0.0)

    def _near_limit(self, held: int, i: int, j: int) -> np.ndarray:
        return np.maximum(self.need.backward[i], self.need.scale(self._base(held, j) + self.need.save[i]))

    def _near(self, held: int, i: int, j: int) -> Iterator[tuple[int, np.ndarray]]:
        """Save block ``i``."""
        limits = self._near_limit(held, i, j)
        for o in range(self.s.count):
            taken = self.need.saved[i, o]
            if limits[o] < self.steps and taken < self.steps:
                after = self.t[held, i + 1, j]
                value = np.full(self.steps, math.inf, after.dtype)
                value[int(taken) :] = after[: self.steps - int(taken)]
                yield int(limits[o]), value + after.dtype.type(self.s.save_time[i, o] + self.s.backward_time[i, o])

    def _splits(self, held: int, i: int, j: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Keep a plain output, or a saved block without its input: rows of seconds to add, and limits."""
        yield self.t[0, i, i:j], self.after_plain[held, j, i + 1 : j + 1], self._plain_limits(held, i, j)
        if j - i > 1:
            for f in range(1, len(self.options)):
                yield self.t[f, i, i + 1 : j], self.after_saved[held, f, j, i + 1 : j], self._far_limits(held, f, i, j)

    def _plain_limits(self, held: int, i: int, j: int) -> np.ndarray:
        return self.need.scale(self._base(held, j) + self.need.sweep[i, i + 1 : j + 1])

    def _far_limits(self, held: int, f: int, i: int, j: int) -> np.ndarray:
        blocks = np.arange(i + 1, j)
        most = np.maximum(self.need.sweep[i, i + 1 : j], self.need.far[blocks, self.options[f][i + 1 : j]])
        return self.need.scale(self._base(held, j) + most)

    def _shift(self, held: int, i: int, j: int) -> None:
        """Write what comes of this problem when something is kept before it."""
        row, s = self.t[held, i, j], self.s
        if i == 0:
            return
        self._put(self.after_plain[held, j, i], row, self.need.output[i - 1], s.before[i])
        for f in range(1, len(self.options)):
            o = self.options[f][i - 1]
            self._put(self.after_saved[held, f, j, i - 1], row, self.need.saved[i - 1, o],
                s.before[i - 1] + s.save_time[i - 1, o])

    def _put(self, target: np.ndarray, row: np.ndarray, taken: float, more: float) -> None:
        taken = int(min(taken, self.steps))
        target[:taken] = math.inf
        np.add(row[: self.steps - taken], row.dtype.type(more), out=target[taken:])

    # -- reading ------------------------------------------------------------------------------------------------------

    def schedule(self, m: int) -> list[Operation] | None:
        """The schedule for ``m`` steps of memory."""
        if not math.isfinite(self.t[0, 0, self.s.n - 1, m]):
            return None
        return _emit(self, m, self.s.n)

    def choice(self, held: int, i: int, j: int, m: int) -> tuple[str, int, int, int, int]:
        """What is best: (what is kept, block, its option, memory that follows, held then)."""
        s, need = self.s, self.need
        found: list[tuple[float, tuple[str, int, int, int, int]]] = []
        if (held, i, j) not in self.parts:
            self.parts[held, i, j] = self._near_limit(held, i, j), list(self._splits(held, i, j))
        limits, splits = self.parts[held, i, j]
        for o in range(s.count):
            rest = m - need.saved[i, o]
            if m >= limits[o] and rest >= 0:
                time = self.t[held, i + 1, j, int(rest)] + s.save_time[i, o] + s.backward_time[i, o]
                found.append((time, ("saved", i, o, int(rest), 0)))
        for kind, (first, second, low) in enumerate(splits):
            times = np.where(low > m, math.inf, first[:, m] + second[:, m] - s.before[i])
            at = int(times.argmin())
            k = i + 1 + at
            if kind == 0:
                found.append((times[at], ("plain", k, 0, int(m - need.output[k - 1]), 0)))
            else:
                o = int(self.options[kind][k])
                found.append((times[at], ("saved", k, o, int(m - need.saved[k, o]), kind)))
        return min(found, key=lambda pair: pair[0])[1]

    def end(self, i: int, m: int) -> int:
        """The option in which the last block of a part is saved."""
        ends = self._ends(0, i)
        fits = [o for o in range(len(ends)) if ends[o][0] <= m]
        quickest = min(ends[o][1] for o in fits) * (1 + 1e-12)
        return min((o for o in fits if ends[o][1] <= quickest), key=lambda o: ends[o][0])  # where equal: fewer bytes


def _rounded(sizes: np.ndarray, unit: int) -> np.ndarray:
    """Sizes in steps, so that sums of neighbours are right to a step."""
    finite = np.where(np.isfinite(sizes), sizes, 0.0)
    ends = np.floor(np.cumsum(finite) / unit + 0.5)
    return np.where(np.isfinite(sizes), np.diff(ends, prepend=0.0), math.inf)


def _emit(table: Any, memory: Any, n: int) -> list[Operation]:
    """The operations that follow from the choices of a table."""
    schedule: list[Operation] = []
    todo: list[Any] = [(0, 0, n - 1, memory)]
    while todo:
        item = todo.pop()
        if isinstance(item[0], str):
            schedule.append(item)
            continue
        held, i, j, m = item
        if i == j:
            if not held:
                schedule.append(("forward", i, table.end(i, m)))
            schedule.append(("backward", i, None))
            continue
        what, k, o, rest, then = table.choice(held, i, j, m)
        for p in range(i, k):
            schedule.append(("forward", p, None))
            if p > i:
                schedule.append(("free", p - 1, None))
        if what == "plain":
            todo += [(0, i, k - 1, m), ("free", k - 1, None), (held, k, j, rest)]
            continue
        schedule.append(("forward", k, o))
        if k > i:
            schedule.append(("free", k - 1, None))
            todo += [(then, i, k, m), (held, k + 1, j, rest)]
        else:
            todo += [("backward", i, None), (held, i + 1, j, rest)]
    return schedule


class Lowest:
    """For each problem the fewest bytes, exactly; ``schedule()`` is one that holds no more."""

    def __init__(self, sizes: Sizes) -> None:
        self.s = s = sizes
        self.need = Needs(s, s.output, s.saved, lambda x: x)
        self.options: list[Any] = [None, *s.far()]
        n, kinds = s.n, len(self.options)
        self.t = np.full((kinds, n, n), math.inf)
        self.before = np.concatenate([[0.0], s.output[:-1]])  # by block: the bytes of its input
        for d in range(n):
            for i in range(n - d):
                for held in range(kinds if i + d < n - 1 else 1):
                    self.t[held, i, i + d] = self._end(held, i)[0] if d == 0 else self._best(held, i, i + d)[0]

    @cached_property
    def least(self) -> int:
        return math.ceil(self.t[0, 0, self.s.n - 1])

    def schedule(self) -> list[Operation]:
        return _emit(self, 0, self.s.n)

    def _end(self, held: int, i: int) -> tuple[float, int]:
        if held:
            o = self.options[held][i]
            return self.need.backward[i, o], o
        limits = np.maximum(self.need.backward[i], self.need.held[i] + self.need.save[i])
        limits = np.where(np.isfinite(self.s.again_time[i]), limits, math.inf)
        o = int(limits.argmin())
        return float(limits[o]), o

    def end(self, i: int, m: Any) -> int:
        """The option in which the last block of a part is saved."""
        return self._end(0, i)[1]

    def choice(self, held: int, i: int, j: int, m: Any) -> tuple[str, int, int, int, int]:
        """What needs the fewest bytes, as for ``Table``."""
        return self._best(held, i, j)[1]

    def _best(self, held: int, i: int, j: int) -> tuple[float, tuple[str, int, int, int, int]]:
        s, need, t = self.s, self.need, self.t
        base = need.held[j] + (s.saved[j, self.options[held][j]] if held else 0.0)
        near = np.maximum(np.maximum(need.backward[i], base + need.save[i]), s.saved[i] + t[held, i + 1, j])
        o = int(near.argmin())
        best: tuple[float, tuple[str, int, int, int, int]] = (float(near[o]), ("saved", i, o, 0, 0))
        plain = np.maximum(np.maximum(t[0, i, i:j], self.before[i + 1 : j + 1] + t[held, i + 1 : j + 1, j]),
            base + need.sweep[i, i + 1 : j + 1])
        at = int(plain.argmin())
        if plain[at] < best[0]:
            best = float(plain[at]), ("plain", i + 1 + at, 0, 0, 0)
        for f in range(1, len(self.options)) if j - i > 1 else ():
            blocks = np.arange(i + 1, j)
            chosen = self.options[f][i + 1 : j]
            far = np.maximum(np.maximum(t[f, i, i + 1 : j], s.saved[blocks, chosen] + t[held, i + 2 : j + 1, j]),
                base + np.maximum(need.sweep[i, i + 1 : j], need.far[blocks, chosen]))
            at = int(far.argmin())
            if far[at] < best[0]:
                best = float(far[at]), ("saved", i + 1 + at, int(chosen[at]), 0, f)
        return best
