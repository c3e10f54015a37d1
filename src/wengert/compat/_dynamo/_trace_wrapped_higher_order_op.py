"""A mode for functions that are mapped."""

from __future__ import annotations

from typing import Any

from ...overrides import TorchFunctionMode


class TransformGetItemToIndex(TorchFunctionMode):
    """Inside, a subscript that is a tensor stays one. Under ``vmap`` it does so here anyway."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))
