"""``torch._ops``: what the names under ``torch.ops`` are."""

from __future__ import annotations

from typing import Any

from ..dispatch.torch_dispatch import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket"]


def __getattr__(name: str) -> Any:
    from ..names.absent import absent_name

    return absent_name(__name__, name)
