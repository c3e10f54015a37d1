"""The instruction at which a caller stands, and its module.

``a, b = proxy`` asks the proxy for an iterator and not for two values, and ``wrap("len")`` is about the module that it
stands in. Nothing but the caller's frame tells either.
"""

from __future__ import annotations

import dis
from typing import Any

from ..arrays.errors import callers


def calling_module(depth: int) -> dict[str, Any]:
    """The namespace of the module whose own code called; an error if a function did."""
    frame = next(callers(depth + 1))
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    return frame.f_globals


def _instructions(depth: int) -> tuple[list[dis.Instruction], int]:
    frame = next(callers(depth + 2))
    row = list(dis.get_instructions(frame.f_code))
    return row, next(i for i, step in enumerate(row) if step.offset == frame.f_lasti)


def unpacked_into(depth: int) -> int | None:
    """How many names the caller unpacks a value into (``a, b = value``); None if it does something else."""
    row, at = _instructions(depth)
    return row[at].argval if row[at].opname == "UNPACK_SEQUENCE" else None


def asserts(depth: int) -> bool:
    """Whether the caller is an ``assert`` statement that tests a value."""
    row, at = _instructions(depth)
    while row[at].opname in ("COMPARE_OP", "TO_BOOL", "COPY"):  # which ask for the truth value in later versions
        at += 1
    return row[at].opname.startswith("POP_JUMP") and row[at].opname.endswith("IF_TRUE") and (
        row[at + 1].opname == "LOAD_ASSERTION_ERROR"
        or (row[at + 1].opname in ("LOAD_COMMON_CONSTANT", "LOAD_GLOBAL") and "AssertionError" in row[at + 1].argrepr))
