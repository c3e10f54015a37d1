"""``torch._VF``: the functions of ``torch`` under the name by which PyTorch's own modules reach them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._VF' has no attribute {name!r}")
    return getattr(import_module(__name__.partition(".")[0]), name)
