"""Keys of integers, slices, None and Ellipsis are read by a short cut: it says what the general reading says."""

from __future__ import annotations

import itertools

import pytest

import wengert as torch
from wengert.functions.indexing import _plain_key, split

PARTS = (0, -1, 2, slice(None), slice(1, None), slice(None, -1), slice(0, 9, 2), None, ...)


@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (3, 1, 4)])
def test_short_reading_of_keys(shape):
    t, read = torch.zeros(shape), 0
    for count in range(4):
        for row in itertools.product(PARTS, repeat=count):
            found = _plain_key(shape, row)
            if found is None:
                continue
            read += 1
            basic, advanced, last = split(t, row)
            assert advanced is None
            assert (basic, last) == found
            assert t._wg_data[found[0]].shape == t._wg_data[row].shape
    assert read > (2 if not shape else 40)


@pytest.mark.parametrize("key",
    [(True,), (torch.tensor(1),), (slice(None, None, -1),), ([0],), (..., ...), (7,), ("a",), (0,) * 4, (slice(None),)])
def test_left_to_the_general_reading(key):
    assert _plain_key((3, 1, 4), key) is None
