"""The functions of the public namespaces, by place and name: filled by ``surface``, read by the public packages."""

from __future__ import annotations

from typing import Any

PLACES: dict[str, dict[str, Any]] = {p: {} for p in ("torch", "functional", "linalg", "fft", "special", "sparse")}


def described(f: Any, name: str, doc: str | None) -> Any:
    """``f``, a function that another function made, with its public name and docstring."""
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f
