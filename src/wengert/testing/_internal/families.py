"""Names that come in families, and by the dozen: which devices and builds there are, and decorators that ask for them.

A test file takes from ``common_utils`` and its neighbours whatever ``TEST_…``, ``IS_…`` and ``skipIf…`` it needs, and
one that is missing would cost all of the file's tests. A module that has no such name of its own asks here.
"""

from __future__ import annotations

import re
import unittest
from typing import Any

from ..._absent import absent_name

_NOT_THERE = re.compile(r"(TEST|IS|HAS|PLATFORM_SUPPORTS|SM\d+)_?\w*|(SM\d+|CDNA\d)\w*|\w+_ARCH|RUN_CUDA\w*")
_ONLY = re.compile(r"only\w+|skipIfNo[A-Z]\w+|skipUnless\w+|runOn\w+|requires_(cuda|xpu|mps|gpu|accelerator|triton|mkl|onednn)\w*|largeTensorTest")
_EVERYWHERE = re.compile(
    r"(skip|xfail|xpass|expectedFailure|runWithout|dontSuppress|unMark|markDynamo|serialTest|make_dynamo|reset_)\w*"
    r"|\w+ToDefaultFinally|enable_profiling_mode\w*"
)


def resolve(module: str, name: str) -> Any:
    """What ``name`` in ``module`` is on a CPU with nothing else around.

    A device or build that one may test on: False. A decorator for tests that cannot run on some device or build: leaves the
    test as it is. One for tests of some other device only: skips the test.

    A name of no family: something that says on use that it is not here.
    """
    if _NOT_THERE.fullmatch(name):
        return False
    if _ONLY.fullmatch(name):
        return _Skipping(name)
    if _EVERYWHERE.fullmatch(name):
        return unchanged_with
    return absent_name(module, name)


def unchanged(test: Any) -> Any:
    """A decorator without arguments that leaves the test as it is."""
    return test


def unchanged_with(*args: Any, **kwargs: Any) -> Any:
    """A decorator with or without arguments that leaves the test as it is."""
    return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else unchanged


class _Skipping:
    """A decorator with or without arguments that skips the test."""

    def __init__(self, name: str) -> None:
        self.skip = unittest.skip(f"{name}: not here")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.skip(args[0]) if len(args) == 1 and not kwargs and callable(args[0]) else self.skip
