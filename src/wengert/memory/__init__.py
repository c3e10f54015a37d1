"""Memory of training: ``report`` says who holds it over a step, ``utils.checkpoint.plan`` fits a step into less.

The planner lies here: ``chain`` is its model of a step, ``solver`` finds the fastest schedule, ``measure`` the numbers
of a model, ``execute`` runs a step as a schedule says. See ``docs/memory.md``.
"""

from __future__ import annotations

from typing import Any

from .report import MemoryReport, report

__all__ = ["MemoryReport", "memory_summary", "report"]


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counts of memory as a table to print: see ``torch.cpu.memory_summary``."""
    from ..cpu import memory_summary

    return memory_summary(device, abbreviated)
