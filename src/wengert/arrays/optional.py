"""Optional libraries, imported when first needed, with a message that names the extra when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str) -> Any:
    """The module, or ``ImportError`` that says how to install it.

    >>> require("math", extra="none").pi > 3
    True
    """
    try:
        return import_module(module)
    except ImportError as e:
        package = module.partition(".")[0]
        raise ImportError(f"this needs {package}, which is not installed: pip install 'wengert[{extra}]'") from e
