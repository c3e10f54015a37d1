"""Objects that take another class: the only place.

PyTorch documents it of lazy modules and parameters, of modules with parametrizations and of swapped tensors; and it is
Python's way to give a module attributes that do something when they are set, as ``torch.backends.cudnn.enabled`` does.
"""

from __future__ import annotations

from typing import Any


def become(x: Any, kind: type) -> None:
    """Make ``x``, with all that it holds, an object of the class ``kind``."""
    x.__class__ = kind
