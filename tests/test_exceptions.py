"""Lists of exceptions expire."""

from __future__ import annotations

import pytest

from tests.exceptions import all_needed, excused


def test_what_is_not_listed_must_pass():
    with excused(None):
        pass
    with pytest.raises(AssertionError), excused(False):
        raise AssertionError
    with pytest.raises(ZeroDivisionError), excused(""):
        raise ZeroDivisionError


def test_what_is_listed_must_fail():
    with excused("why"):
        raise AssertionError
    with excused("why"), pytest.raises(ValueError):
        pass
    with excused("why", ZeroDivisionError):
        raise ZeroDivisionError
    with pytest.raises(pytest.fail.Exception, match=r"take it out of the list \(why\)"), excused("why"):
        pass


def test_other_errors_are_not_excused():
    with pytest.raises(ZeroDivisionError), excused("why"):
        raise ZeroDivisionError


def test_entries_of_no_use():
    all_needed({"a", "b"}, ["b", "a", "c"], "LIST")
    with pytest.raises(AssertionError, match=r"no longer needed in LIST: \['b'\]"):
        all_needed({"a": 1, "b": 2}, {"a"}, "LIST")
