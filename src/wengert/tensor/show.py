"""A tensor as text."""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes as dt
from ..arrays.lazy import plain
from ..graph.modes import modes
from .call import PLAIN


def show(t: Any) -> str:
    """``repr`` of a tensor, as PyTorch prints it."""
    from .printing import format_tensor

    try:
        node = t.grad_fn
        name = None if node is None else node.name().rpartition("::")[2]
    except RuntimeError:  # a view whose base was written to, made where that cannot be recorded
        name = "Invalid"
    return format_tensor(
        plain(t._data), default_dtype=dt.default_float(), grad_fn_name=name,
        requires_grad=name is None and t.requires_grad, prefix="tensor" if type(t) in PLAIN else type(t).__name__,
        tangent=_tangent(t),
    )  # fmt: skip


def _tangent(t: Any) -> str | None:
    """The innermost tangent that can be seen, as text."""
    for level in reversed(modes().levels):
        found = level.tangent(t) if hasattr(level, "tangent") else None
        if found is not None:
            return show(found)
    return None
