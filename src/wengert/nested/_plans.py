"""How the parts of a nested tensor lie in its one array of numbers: see ``arrays.nested``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays.nested import Nested, Sizes
from ..tensor.tensor import wrap
from ._internal.nested_int import NestedInt, symbol_of

if TYPE_CHECKING:
    from ..tensor import Tensor


class Rows:
    """Where each part begins and how long it is, along the ragged dimension; shared by all tensors with the same parts.

    ``offsets``: int64, ``(parts + 1,)``; ``lengths``: ``(parts,)``, or None where each part reaches to the next.
    ``least`` and ``most``: of the lengths, if they are known beforehand.
    """

    __slots__ = ("__weakref__", "_found", "least", "lengths", "most", "offsets", "symbol")

    def __init__(self, offsets: Tensor, lengths: Tensor | None = None, least: int | None = None,
            most: int | None = None) -> None:
        self.offsets, self.lengths, self.least, self.most = offsets, lengths, least, most
        self.symbol: NestedInt = symbol_of(offsets if lengths is None else lengths)
        self._found: dict[Any, Any] = {}

    @property
    def count(self) -> int:
        return len(self.offsets._wg_data) - 1

    @property
    def starts(self) -> np.ndarray:
        return self.offsets._wg_data[:-1]

    @property
    def counts(self) -> np.ndarray:
        return np.diff(self.offsets._wg_data) if self.lengths is None else self.lengths._wg_data

    def longest(self) -> int:
        if self.most is None:
            self.most = int(self.counts.max(initial=0))
        return self.most

    def shortest(self) -> int:
        if self.least is None:
            self.least = int(self.counts.min()) if self.count else 0
        return self.least

    def places(self, total: int) -> tuple[np.ndarray, np.ndarray]:
        """``(part, place in it)`` of each of the ``total`` rows; ``(0, 0)`` for those that belong to none."""
        found = self._found.get(total)
        if found is None:
            part, place = np.zeros((2, total), np.int64)
            counts = self.counts
            rows = self.rows()
            part[rows] = np.repeat(np.arange(self.count), counts)
            place[rows] = rows - np.repeat(self.starts, counts)
            found = self._found[total] = part, place
        return found  # type: ignore[no-any-return]

    def rows(self) -> np.ndarray:
        """The rows of numbers that belong to some part, in the order of the parts."""
        counts = self.counts
        before = np.cumsum(counts) - counts
        return np.arange(int(counts.sum())) + np.repeat(self.starts - before, counts)


class Jagged:
    """One ragged dimension, number ``ragged``: the numbers lie as those of a tensor without the batch's dimension."""

    __slots__ = ("ragged", "rows")

    tensor: ClassVar[Any] = None  # the class of such nested tensors, which registers itself

    def __init__(self, rows: Rows, ragged: int = 1) -> None:
        self.rows, self.ragged = rows, ragged

    def shape(self, packed: Any) -> tuple[Any, ...]:
        r = self.ragged
        return (self.rows.count, *packed.shape[: r - 1], self.rows.symbol, *packed.shape[r:])

    def strides(self, packed: Any) -> tuple[Any, ...]:
        return (self.rows.symbol * packed.strides[self.ragged - 1], *packed.strides)

    def ndim(self, packed: Any) -> int:
        return packed.ndim + 1  # type: ignore[no-any-return]

    def size(self, packed: Any) -> int:
        if self.rows.lengths is None:
            return packed.size  # type: ignore[no-any-return]
        rest = packed.size // max(packed.shape[self.ragged - 1], 1)
        return int(self.rows.counts.sum()) * rest

    def at(self, ragged: int) -> Jagged:
        """The same parts, ragged in another dimension."""
        return self if ragged == self.ragged else Jagged(self.rows, ragged)

    def wrap(self, array: Nested) -> Any:
        return self.tensor._around(array)


class Apart:
    """Parts with their own sizes in one flat array: ``sizes`` and ``strides`` have a row each, ``starts`` a number."""

    __slots__ = ("sizes", "starts", "steps")

    tensor: ClassVar[Any] = None  # the class of such nested tensors, which registers itself

    def __init__(self, sizes: Any, steps: Any = None, starts: Any = None) -> None:
        self.sizes = [tuple(int(n) for n in row) for row in sizes]
        self.steps = [_in_order(row) for row in self.sizes] if steps is None else [tuple(row) for row in steps]
        if starts is None:
            counts = np.array([np.prod(row, dtype=np.int64) for row in self.sizes], np.int64)
            starts = np.cumsum(counts) - counts
        self.starts = [int(n) for n in starts]

    def shape(self, packed: Any) -> Sizes:
        return Sizes(self.sizes)

    def strides(self, packed: Any) -> tuple[Any, ...]:
        return ()  # there is one row for each part

    def ndim(self, packed: Any) -> int:
        return 1 + (len(self.sizes[0]) if self.sizes else 0)

    def size(self, packed: Any) -> int:
        return int(sum(np.prod(row, dtype=np.int64) for row in self.sizes))

    def contiguous(self) -> bool:
        """Whether part follows on part, each row by row."""
        plain = Apart(self.sizes)
        return self.starts == plain.starts and all(all(a == b or n == 1 for a, b, n in zip(mine, theirs, row)) for mine,
            theirs, row in zip(self.steps, plain.steps, self.sizes))

    def moved(self, sizes: Any, steps: Any, starts: Any = None) -> Apart:
        """Other windows of the same numbers."""
        return Apart(sizes, steps, self.starts if starts is None else starts)

    def common(self, dim: int) -> int | None:
        """The size of a dimension of the parts, if all have the same."""
        found = {row[dim] for row in self.sizes}
        return found.pop() if len(found) == 1 else None

    def wrap(self, array: Nested) -> Any:
        return self.tensor._around(array)


def _in_order(sizes: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for n in reversed(sizes):
        steps.append(step)
        step *= max(n, 1)
    return tuple(reversed(steps))


def offsets_from(counts: Any) -> Tensor:
    """The offsets of parts of these lengths that follow on each other."""
    return wrap(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64))
