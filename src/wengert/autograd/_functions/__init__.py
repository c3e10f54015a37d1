"""``torch.autograd._functions``: the Functions that PyTorch itself writes in Python."""

from __future__ import annotations

from .tensor import Resize, Type

__all__ = ["Resize", "Type"]
