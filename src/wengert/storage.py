"""``torch.storage``: the memory that tensors look at."""

from __future__ import annotations

from .tensor.storage import UntypedStorage
from .tensor.typed_storage import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
