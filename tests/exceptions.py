"""Lists of exceptions to what tests assert. An entry that is no longer needed fails the suite.

Every list says why its entries are there, and what an entry excuses is tried all the same: ``excused`` around a check
demands that it fails, ``all_needed`` after a loop that each entry was of use.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_FAILED = pytest.fail.Exception  # of ``pytest.raises`` too, if nothing was raised


@contextmanager
def excused(entry: object, *errors: type[Exception]) -> Iterator[None]:
    """A check that must fail where a list has an ``entry`` for it (which is true), and must not fail otherwise.

    ``errors`` are what it may fail with, beside failed assertions.
    """
    if not entry:
        yield
        return
    try:
        yield
    except (AssertionError, _FAILED, *errors):
        return
    pytest.fail(f"passes without its exception: take it out of the list ({entry})", pytrace=False)


def all_needed(entries: Collection[Any], used: Collection[Any], of: str) -> None:
    """Every entry of a list of exceptions was used: what did not fail, or does not exist, need not be listed."""
    left = [e for e in entries if e not in used]
    assert not left, f"no longer needed in {of}: {left}"
