"""What a file may not cause: work out of proportion to its size, and nests that Python goes through by recursion in C.

A pickle can name one object twice in the next, and that one twice in the one after it: forty such steps are a hundred
bytes, and hashing the last takes years. Keys can be chosen to have one hash, and to fill a dict with them takes
quadratic time. A tuple that is nested deeply crashes the process when it is hashed, and so does a deque when it is
freed.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from pickle import UnpicklingError
from typing import Any

import numpy as np

from ..tensor.tensor import Tensor

_FLAT = frozenset({type(None), bool, int, float, complex})
_TEXTS = (str, bytes, bytearray)
_UNFORESEEN = frozenset({str, bytes, bool, float, type(None)})  # texts, and what has few values of one hash
_PRIME = sys.hash_info.modulus  # smaller integers are their own hashes
# levels of tuples; of lists and dicts, which are not hashed, but gone through by what is called
_DEEPEST, _LISTS = 200, 4


class Budget:
    """What is left to spend, in visits of an object; a file of ``size`` bytes has some per byte."""

    def __init__(self, size: int) -> None:
        self.left = 1_000_000 + 4 * size
        self._hashes: dict[int, list[Any]] = {}  # the first key of each hash, and how many others have it too

    def spend(self, things: Any) -> None:
        """Count the hashing of ``things``, or a call with them. Raises ``UnpicklingError`` if that costs too much."""
        level = list(things)
        self._pay(len(level))
        for depth in range(_DEEPEST):
            below: list[Any] = []
            for thing in level:
                kind = type(thing)
                if kind in _FLAT:
                    continue
                if isinstance(thing, _TEXTS):
                    self._pay(len(thing) >> 4)
                    continue
                inner = _parts(thing, kind, depth)
                if inner:
                    self._pay(len(inner))
                    below.extend(inner)
            if not below:
                return
            level = below
        raise UnpicklingError("the pickle is damaged, or an attack: what it uses as a key is nested more than "
            f"{_DEEPEST} deep")

    def tell_apart(self, keys: Any) -> None:
        """Pay for keys of one hash: each is compared with all before it. Call ``spend`` first, which sees what a hash
        costs.

        The hashes of texts cannot be foreseen; those of numbers and of tuples can, so that a file can choose its keys
        by them.
        """
        for key in keys:
            kind = type(key)
            if (kind in _UNFORESEEN or (kind is int and -_PRIME < key < _PRIME)
                    or kind.__hash__ in (None, object.__hash__)):
                continue
            known = self._hashes.setdefault(hash(key), [key, 0])
            if known[0] is not key and known[0] != key:
                known[1] += 1
                self._pay(known[1])

    def _pay(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise UnpicklingError("the pickle is damaged, or an attack: it repeats its objects in each other beyond "
                "what its size allows")


def _parts(thing: Any, kind: type, depth: int) -> Any:
    """What is gone through when ``thing`` is."""
    if isinstance(thing, (tuple, frozenset)):
        return thing
    if isinstance(thing, (list, set)):
        return thing if depth < _LISTS else ()
    if isinstance(thing, dict):
        return (*thing, *thing.values()) if depth < _LISTS else ()
    if kind.__hash__ in (None, object.__hash__) or isinstance(thing, (type, Tensor)):
        return ()
    return tuple(getattr(thing, "__dict__", {}).values())  # a dataclass is hashed by its fields


def keys_for(kind: Any, args: tuple[Any, ...]) -> list[Any]:
    """What is hashed when ``kind`` is called with ``args``, but for what was in a dict or a set already."""
    row = args[-1] if args and kind in (set, frozenset, Counter, dict, OrderedDict, defaultdict) else ()
    if type(row) not in (list, tuple):
        return []
    if kind in (set, frozenset, Counter):
        return list(row)
    return [pair[0] for pair in row if type(pair) in (list, tuple) and pair]


_MOST_LINKS = 1000  # fewer cannot be nested too deeply


class Nests:
    """The containers in containers of kinds that are freed by recursion: deques, defaultdicts and arrays of objects."""

    def __init__(self) -> None:
        self.links: list[tuple[Any, Any]] = []

    def note(self, outer: Any, inner: Any) -> None:
        """``outer`` holds the objects ``inner`` from now on."""
        if isinstance(outer, (deque, defaultdict, np.ndarray)):
            self.links += [(outer, x) for x in inner if isinstance(x, (deque, defaultdict, np.ndarray))]

    def check(self) -> None:
        """Raises ``UnpicklingError`` if they are nested so deeply that to free them could crash."""
        if len(self.links) > _MOST_LINKS and self._depth() > _MOST_LINKS:
            raise UnpicklingError("the pickle is damaged, or an attack: its containers are nested more than "
                f"{_MOST_LINKS} deep")

    def undo(self) -> None:
        """Take the nests apart."""
        for outer, _ in self.links if len(self.links) > _MOST_LINKS else ():
            if isinstance(outer, np.ndarray):
                outer[...] = np.zeros((), outer.dtype)
            else:
                outer.clear()

    def _depth(self) -> int:
        """The length of the longest chain; of those that are closed in themselves, all their members count."""
        waiting: dict[int, int] = {}
        inner: dict[int, list[int]] = {}
        for a, b in self.links:
            waiting.setdefault(id(a), 0)
            waiting[id(b)] = waiting.get(id(b), 0) + 1
            inner.setdefault(id(a), []).append(id(b))
        level, depth, seen = [x for x, n in waiting.items() if not n], 0, 0
        while level:
            below = []
            depth, seen = depth + 1, seen + len(level)
            for x in level:
                for y in inner.get(x, ()):
                    waiting[y] -= 1
                    if not waiting[y]:
                        below.append(y)
            level = below
        return depth + len(waiting) - seen
