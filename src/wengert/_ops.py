"""``torch._ops``: what the names under ``torch.ops`` are."""

from __future__ import annotations

from .tensor.dispatch import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket"]
