"""A plugin of pytest (``-p tests.doctests``): in the examples of docstrings, ``torch`` is this package."""

from __future__ import annotations

import pytest

import wengert
import wengert.draw  # it puts another module in its place, which pytest's way of importing would not see
from wengert import ops
from wengert.compat import vmap_helpers

for module in ops, vmap_helpers:  # they answer any name, and pytest asks each module for these
    module.pytest_plugins, module.pytestmark = [], []


@pytest.fixture(autouse=True)
def _torch(doctest_namespace):
    doctest_namespace["torch"] = wengert


def pytest_ignore_collect(collection_path):
    # Importing it makes ``import torch`` this package for the rest of the process.
    return True if collection_path.name == "pytest_alias.py" else None
