"""``torch._vmap_internals``: names of ``vmap`` from before ``torch.func``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..func import vmap
from ..names.missing import missing_from

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["vmap"]


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """:func:`torch.func.vmap`."""
    return vmap(func, in_dims, out_dims)


__getattr__ = missing_from(__name__)
