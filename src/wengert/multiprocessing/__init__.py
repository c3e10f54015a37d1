"""``multiprocessing``: Python's own module, tensors in shared memory, and ``spawn``, which starts a function often.

Tensors that are put into queues and pipes, or given to processes that are spawned, move to memory that both processes
see: what one writes in place, the other reads. ``share_memory_()``, or ``share_memory()`` of a whole module, does so
before processes are forked. See ``docs/multiprocessing.md``.
"""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403  this module is that one, and more
from typing import Any

from ..names.missing import missing_from
from .reductions import init_reductions
from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    *_python.__all__,  # type: ignore[attr-defined]
    "ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "init_reductions", "set_sharing_strategy",
    "spawn", "start_processes",
]

_all_sharing_strategies = {"file_descriptor", "file_system"}
_sharing_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """PyTorch's names of the ways in which shared tensors pass to other processes."""
    return _all_sharing_strategies


def get_sharing_strategy() -> str:
    """The last :func:`set_sharing_strategy`, ``"file_descriptor"`` at first: how shared tensors always pass."""
    return _sharing_strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept one of PyTorch's strategies, ``AssertionError`` for others; shared tensors pass as open files anyway."""
    global _sharing_strategy
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_all_sharing_strategies}")
    _sharing_strategy = new_strategy


init_reductions()


def __getattr__(name: str) -> Any:
    return getattr(_python, name) if hasattr(_python, name) else missing_from(__name__)(name)
