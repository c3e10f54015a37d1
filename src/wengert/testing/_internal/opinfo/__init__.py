"""Operators described for tests: names, dtypes, and calls to try. ``core`` says how, ``table`` has the operators."""

from __future__ import annotations

from . import core as core
