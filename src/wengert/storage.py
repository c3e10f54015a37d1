"""``torch.storage``: the memory that tensors look at."""

from __future__ import annotations

from .functions.storage import UntypedStorage
from .functions.typed_storage import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
