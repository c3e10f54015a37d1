"""Switches of cuDNN, which is not there."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """``False``."""
    return False


def version() -> int | None:
    """``None``."""
    return None


@contextmanager
def flags(**switches: Any) -> Iterator[None]:
    """Set switches inside a ``with`` block: ``flags(enabled=False, deterministic=True)``."""
    here = globals()
    for name in switches:
        if name not in ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32"):
            raise TypeError(f"flags() got an unexpected keyword argument {name!r}")
    before = {name: here[name] for name in switches}
    here.update(switches)
    try:
        yield
    finally:
        here.update(before)
