"""Collections of tensors that ``vmap`` leaves to themselves: their shape, the ``batch_size``, loses the mapped
dimension too, which nothing done to the tensors alone could see to. tensordict's are such.

They bring two methods. ``_add_batch_dim(in_dim=, vmap_level=)`` gives one example of the collection in the map of that
number, ``_maybe_remove_batch_dim(name, vmap_level=, batch_size=, out_dim=)`` all examples of a result; the name is that
of the mapped function. ``torch._C._functorch`` has the functions of these names for the tensors within.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor

if TYPE_CHECKING:
    from ..transforms.vmap import VmapLevel


def maps_itself(x: Any) -> bool:
    """Whether ``x`` brings the methods."""
    return hasattr(type(x), "_maybe_remove_batch_dim")


def one(x: Any, d: int | None, level: VmapLevel) -> Any:
    """What a mapped function sees of ``x``, whose dimension ``d`` is mapped over; None: the whole.

    A collection is a copy, for what the function enters there is nobody else's.
    """
    if d is None:
        return x if isinstance(x, Tensor) else copy.copy(x)
    return x._add_batch_dim(in_dim=d, vmap_level=level.number)


def all_of(name: str, x: Any, d: int | None, level: VmapLevel) -> Any:
    """What ``x``, an answer of the function ``name``, is for all examples: they are the dimension ``d``."""
    return x._maybe_remove_batch_dim(name, vmap_level=level.number, batch_size=level.size, out_dim=d)
