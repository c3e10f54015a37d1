"""``torch._ops``: what the names under ``torch.ops`` are."""

from __future__ import annotations

from ..dispatch.torch_dispatch import OpOverload, OpOverloadPacket
from ..names.absent import absent_from

__all__ = ["OpOverload", "OpOverloadPacket"]

__getattr__ = absent_from(__name__)
