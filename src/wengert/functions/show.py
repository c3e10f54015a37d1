"""A tensor as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.devices import class_of, on_cpu
from ..arrays.lazy import plain
from ..graph.modes import modes
from ..tensor.classes import PLAIN
from .parameter import Parameter


def show(t: Any, contents: str | None = None) -> str:
    """``repr`` of a tensor, as PyTorch prints it; ``contents``: what to say in place of the numbers."""
    if contents is not None:
        return written(t, contents)
    if modes().grad_scope is not None:
        from ..transforms.grad_scope import shown

        return shown(t, written)
    return written(t)


def written(t: Any, contents: str | None = None) -> str:
    """The text of an ordinary tensor, outside of transforms."""
    from .printing import format_tensor

    try:
        node = t.grad_fn
        name = None if node is None else node.name().rpartition("::")[2]
    except RuntimeError:  # a view whose base was written to, made where that cannot be recorded
        name = "Invalid"
    kind = "tensor" if type(t) in PLAIN else type(t).__name__
    meta, on_device = contents is None and t.is_meta, class_of(t._wg_data) is not np.ndarray
    numbers = (np.broadcast_to(np.zeros((), t._wg_data.dtype), t._wg_data.shape) if meta or contents is not None
        else on_cpu(plain(t._wg_data)))
    text = format_tensor(numbers, dtype_name=t.dtype.name if t._wg_data.dtype.type is np.void else None,
        default_dtype=dt.default_float(), grad_fn_name=name, requires_grad=name is None and t.requires_grad,
        prefix=kind, contents=contents, device=str(t.device) if meta or on_device else None,
        tangent=_tangent(t))
    return f"Parameter({text})" if type(t) not in PLAIN and isinstance(t, Parameter) else text


def _tangent(t: Any) -> str | None:
    """The innermost tangent that can be seen, as text."""
    for level in reversed(modes().levels):
        found = level.tangent(t) if hasattr(level, "tangent") else None
        if found is not None:
            return show(found)
    return None
