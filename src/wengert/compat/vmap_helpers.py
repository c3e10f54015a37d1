"""``torch._functorch.vmap`` and ``torch._C._functorch``: steps of ``vmap`` that tensordict takes by itself."""

from __future__ import annotations

from typing import Any

from ..func import functorch
from ..func.mapping import name_of as _get_name
from ..func.mapping import vmap
from ..graph.modes import modes
from ..names.absent import absent
from ..names.missing import AREAS
from ..tensor import Tensor
from ..tensor.functions import function
from ..transforms.vmap.batched import Batched, expanded, map_levels, wrapped
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["Tensor", "_broadcast_to_and_flatten", "_get_name", "tree_flatten", "tree_unflatten", "vmap"]


def _add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """A tensor whose dimension ``batch_dim`` is that of the running map number ``level``, the outermost being 1."""
    return wrapped(function("movedim")(self, batch_dim, 0), map_levels.get()[level - 1])


def _remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """The values for all examples of the map number ``level``, which are the dimension ``out_dim``."""
    return function("movedim")(expanded(self, map_levels.get()[level - 1]), 0, out_dim)


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int,
        out_dim: int | None) -> Any:
    """``_remove_batch_dim`` of what a mapped function returned; ``out_dim=None``: of what does not vary."""
    if out_dim is None:
        if is_batchedtensor(batched_output):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did "
            f"you mean to set out_dims= to None for output?")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor holds the values of all examples of a running map."""
    return type(tensor) is Batched


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """``False``: there is one kind of maps."""
    return False


def get_unwrapped(tensor: Any) -> Any:
    """The tensor with the examples of the innermost map as its first dimension; one that does not vary itself."""
    return tensor.value if is_batchedtensor(tensor) else tensor


def are_transforms_active() -> bool:
    """Whether a map or a derivative of ``torch.func`` is running; kornia and tensordict ask."""
    return bool(map_levels.get()) or modes().grad_scope is not None


def __getattr__(name: str) -> Any:
    try:
        return getattr(functorch, name)
    except AttributeError:
        if name.startswith("__"):
            raise
        return absent(f"torch._C._functorch.{name}", AREAS["_functorch"])
