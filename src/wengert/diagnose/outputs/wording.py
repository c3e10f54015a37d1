"""Words that reports for people share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import SEVERITIES

if TYPE_CHECKING:
    from ..findings import Report

MOST = 6  # parameters are named up to this number; JSON has all


def heading(report: Report) -> str:
    """One line about the whole of it."""
    counts = [(s, len([f for f in report if f.severity == s])) for s in reversed(SEVERITIES)]
    said = [counted(n, s, "info" if s == "info" else "") for s, n in counts if n]
    return f"wengert: {', '.join(said) or 'no findings'}{_extent(report)}"


def _extent(report: Report) -> str:
    steps, backwards = report.summary.get("steps", 0), report.summary.get("backwards", 0)
    if not steps and not backwards:
        return " (there was no backward() and no optimizer step)"
    return f" in {counted(backwards, 'backward pass', 'backward passes')} and {counted(steps, 'optimizer step')}"


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def named(parameters: list[str]) -> str:
    """Names of parameters, in few words."""
    if len(parameters) <= MOST:
        return ", ".join(parameters)
    return f"{', '.join(parameters[: MOST - 1])} and {len(parameters) - MOST + 1} more"
