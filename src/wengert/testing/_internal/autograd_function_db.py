"""Custom functions for generated tests of torch.func: none of PyTorch's."""

from __future__ import annotations

from typing import Any

autograd_function_db: list[Any] = []


def __getattr__(name: str) -> Any:
    from ..._absent import absent_name

    return absent_name(__name__, name)
