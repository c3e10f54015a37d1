"""Switches of cuDNN, which is not there."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..utils._become import become

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
    try:
        for name, value in switches.items():
            setattr(sys.modules[__name__], name, value)
        yield
    finally:
        here.update(before)


class _Module(ModuleType):
    """So that a switch takes nothing but what it can be."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("enabled", "benchmark", "deterministic", "allow_tf32") and not isinstance(value, bool):
            library = "cublas" if name == "allow_tf32" else "cudnn"  # PyTorch's word for it
            raise RuntimeError(f"set_{name}_{library} expects a bool, but got {type(value).__name__}")
        super().__setattr__(name, value)


become(sys.modules[__name__], _Module)
