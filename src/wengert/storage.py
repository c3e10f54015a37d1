"""``torch.storage``: the memory that tensors look at."""

from __future__ import annotations

from .tensor.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
