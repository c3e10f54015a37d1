"""Operators of a higher order for generated tests: none, for programs are not traced."""

from __future__ import annotations

from typing import Any

hop_db: list[Any] = []


def __getattr__(name: str) -> Any:
    from ..._absent import absent_name

    return absent_name(__name__, name)
