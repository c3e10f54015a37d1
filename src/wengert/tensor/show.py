"""A tensor as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.lazy import plain
from ..graph.modes import modes
from .call import PLAIN


def show(t: Any) -> str:
    """``repr`` of a tensor, as PyTorch prints it."""
    if modes().inside is not None:
        from .captured import shown

        return shown(t, written)
    return written(t)


def written(t: Any) -> str:
    """The text of an ordinary tensor, outside of transforms."""
    from .printing import format_tensor

    try:
        node = t.grad_fn
        name = None if node is None else node.name().rpartition("::")[2]
    except RuntimeError:  # a view whose base was written to, made where that cannot be recorded
        name = "Invalid"
    kind = "tensor" if type(t) in PLAIN else type(t).__name__
    if t.is_meta:
        said = t._data.dtype in (dt.default_float(), dt.default_complex(), dt.B1)
        rest = ("" if said else f", dtype={t.dtype}") + (
            f", grad_fn=<{name}>" if name is not None else ", requires_grad=True" if t.requires_grad else ""
        )
        return f"{kind}(..., device='meta', size={tuple(t.shape)}{rest})"
    return format_tensor(
        plain(t._data), dtype_name=t.dtype.name if t._data.dtype.type is np.void else None, default_dtype=dt.default_float(), grad_fn_name=name,
        requires_grad=name is None and t.requires_grad, prefix=kind,
        tangent=_tangent(t),
    )  # fmt: skip


def _tangent(t: Any) -> str | None:
    """The innermost tangent that can be seen, as text."""
    for level in reversed(modes().levels):
        found = level.tangent(t) if hasattr(level, "tangent") else None
        if found is not None:
            return show(found)
    return None
