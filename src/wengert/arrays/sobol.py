"""Sobol' points: direction numbers, the walk through them, and their scrambling, on arrays of integers of 30 bits.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol' sequences with better two-dimensional
projections", SIAM J. Sci. Comput. 30 (2008), for 21201 dimensions; ``joe_kuo.bin`` holds them (``tools/joe_kuo.py``
says how). The numbers are copyright (c) 2008, Frances Y. Kuo and Stephen Joe, under the BSD licence in
``LICENSE-joe-kuo``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

MAXDIM, MAXBIT = 21201, 30
_LARGEST_DEGREE = 18


def direction_numbers(dimension: int) -> np.ndarray:
    """The numbers of each dimension, ``(dimension, 30)``, of type int64.

    >>> direction_numbers(2)[:, :3]
    array([[536870912, 268435456, 134217728],
           [536870912, 805306368, 671088640]])
    """
    odd = np.ones((dimension, MAXBIT), np.int64)  # the first dimension: ones
    polynomials, initial = _table()
    for degree in range(1, _LARGEST_DEGREE + 1):
        rows = np.flatnonzero(polynomials[: dimension - 1] >> degree == 1)
        if not rows.size:
            continue
        m = [np.ones(rows.size, np.int64), *initial(degree, rows.size)]
        coefficients = polynomials[rows]
        for i in range(degree, MAXBIT):
            new = m[i - degree] ^ (m[i - degree] << degree)
            for k in range(1, degree):
                new = new ^ np.where(coefficients >> (degree - k) & 1, m[i - k] << k, 0)
            m.append(new)
        odd[rows + 1] = np.stack(m, 1)
    return odd << np.arange(MAXBIT - 1, -1, -1)


def _table() -> tuple[np.ndarray, Callable[[int, int], list[np.ndarray]]]:
    """The primitive polynomials from dimension 2 on, and what gives the initial numbers of a whole degree."""
    data = Path(__file__).with_name("joe_kuo.bin").read_bytes()
    steps = np.frombuffer(data, np.uint8, MAXDIM - 1)
    polynomials = 1 + 2 * np.cumsum(steps.astype(np.int64))
    bits = np.frombuffer(data, np.uint8, offset=MAXDIM - 1)
    counts = [int(np.count_nonzero(polynomials >> d == 1)) for d in range(_LARGEST_DEGREE + 1)]

    def initial(degree: int, count: int) -> list[np.ndarray]:
        start = sum(n * d * (d - 1) // 2 for d, n in enumerate(counts[:degree]))
        size = degree * (degree - 1) // 2
        part = bits[start // 8 : -(-(start + count * size) // 8)]
        rows = np.unpackbits(part)[start % 8 :][: count * size].reshape(count, size).astype(np.int64)
        found, at = [], 0
        for i in range(2, degree + 1):
            found.append(1 + (rows[:, at : at + i - 1] << np.arange(i - 1, 0, -1)).sum(1))
            at += i - 1
        return found

    return polynomials, initial


def walk(quasi: np.ndarray, state: np.ndarray, start: int, count: int) -> np.ndarray:
    """The ``count`` points after number ``start``, which is ``quasi``: ``(count, dimension)`` integers."""
    if not count:
        return np.empty((0, len(quasi)), np.int64)
    at = np.arange(start, start + count)
    lowest = np.bitwise_count(at ^ (at + 1)) - 1  # the lowest bit that is not set
    steps = state.T[lowest]
    steps[0] ^= quasi
    return np.bitwise_xor.accumulate(steps)


def leap(quasi: np.ndarray, state: np.ndarray, start: int, count: int) -> np.ndarray:
    """The numbers of the point ``count`` after point number ``start``, without those between."""
    changed = (start ^ start >> 1) ^ ((start + count) ^ (start + count) >> 1)  # of the Gray codes
    found = quasi.copy()
    for k in range(changed.bit_length()):
        if changed >> k & 1:
            found ^= state[:, k]
    return found


def scrambled(state: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Direction numbers, as bits, times lower triangular matrices ``(dimension, 30, 30)`` of bits."""
    places = np.arange(MAXBIT - 1, -1, -1)
    lower = matrices.copy()
    lower[:, range(MAXBIT), range(MAXBIT)] = 1
    found = np.empty_like(state)
    for at in range(0, len(state), 512):  # float32 counts 30 ones exactly, and BLAS does it
        bits = (state[at : at + 512, None, :] >> places[:, None] & 1).astype(np.float32)
        ones = np.matmul(lower[at : at + 512].astype(np.float32), bits).astype(np.int64) & 1
        found[at : at + 512] = (ones << places[:, None]).sum(1)
    return found
