"""Modules with attributes that do something when they are set, as ``torch.backends.cudnn.enabled`` is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def of_class(name: str, kind: type[ModuleType]) -> None:
    """Give the module ``name`` the class ``kind``, whose properties are its attributes: Python's way to have such."""
    sys.modules[name].__class__ = kind
