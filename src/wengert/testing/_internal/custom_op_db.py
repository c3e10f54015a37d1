"""Custom operators for generated tests: none of PyTorch's, which are written against its own registrations."""

from __future__ import annotations

from typing import Any

custom_op_db: list[Any] = []


def __getattr__(name: str) -> Any:
    from ..._absent import absent_name

    return absent_name(__name__, name)
