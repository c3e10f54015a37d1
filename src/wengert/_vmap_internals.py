"""``torch._vmap_internals``: the older map, which gradients of batches and their tests were written with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .func.older import _vmap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["_vmap", "vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """``torch.vmap`` by its old name, with a warning that says so."""
    import warnings

    warnings.warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning, stacklevel=2)
    return _vmap(func, in_dims, out_dims)
