"""A plugin of pytest (``-p tests.doctests``): in the examples of docstrings, ``torch`` is this package."""

from __future__ import annotations

import pytest

import wengert


@pytest.fixture(autouse=True)
def _torch(doctest_namespace):
    doctest_namespace["torch"] = wengert
