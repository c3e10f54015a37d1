"""What a tensor is inside of transformed functions, by the names of ``torch._C._functorch``: for looking, not for computing.

PyTorch wraps a tensor once for each transform that it belongs to; here a map has tensors of its own (``Batched``), and a
derivative knows its tensors (``tensor.captured``). Levels count the transforms around, from 1.
"""

from __future__ import annotations

from typing import Any

from ..graph.modes import modes, transforms
from ..tensor.batching import Batched
from .gradients import debug_unwrap as _debug_unwrap

__all__ = [
    "current_level", "get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor", "maybe_current_level",
    "maybe_get_bdim", "maybe_get_level", "reshape_dim_into", "reshape_dim_outof",
]  # fmt: skip


def _levels(tensor: Any) -> tuple[int, int]:
    """The level of the outermost map and of the outermost derivative that the tensor belongs to; -1 for none."""
    inside = modes().inside
    home = None if inside is None else inside.home(tensor)
    return tensor.level.depth if isinstance(tensor, Batched) else -1, -1 if home is None else home.number


def maybe_get_level(tensor: Any) -> int:
    """The level of the innermost transform that the tensor belongs to; -1 for none.

    >>> import wengert as torch
    >>> levels = []
    >>> _ = torch.vmap(lambda x: levels.append(maybe_get_level(x)) or x)(torch.ones(2))
    >>> levels, maybe_get_level(torch.ones(2))
    ([1], -1)
    """
    return max(_levels(tensor))


def is_batchedtensor(tensor: Any) -> bool:
    """Whether the innermost transform that the tensor belongs to is a map."""
    batch, derivative = _levels(tensor)
    return batch > derivative


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether the innermost transform that the tensor belongs to is a derivative."""
    batch, derivative = _levels(tensor)
    return derivative > batch


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether the tensor belongs to any transform."""
    return maybe_get_level(tensor) > 0


def maybe_get_bdim(tensor: Any) -> int:
    """The dimension of the batch below a tensor of a map, -1 for others."""
    return 0 if is_batchedtensor(tensor) else -1


def get_unwrapped(tensor: Any) -> Any:
    """What is below the innermost transform that the tensor belongs to.

    Raises:
        RuntimeError: it belongs to none.
    """
    if not is_functorch_wrapped_tensor(tensor):
        raise RuntimeError("No wrappers present!")
    return _debug_unwrap(tensor, recurse=False)


def maybe_current_level() -> int | None:
    """How many transforms run around this code; None: none."""
    return transforms.get()[0] or None


def current_level() -> int:
    """How many transforms run around this code.

    Raises:
        RuntimeError: none.
    """
    level = maybe_current_level()
    if level is None:
        raise RuntimeError("maybe_layer.has_value() INTERNAL ASSERT FAILED: no transform of torch.func is running")
    return level


def reshape_dim_into(src: int, dst: int, x: Any) -> Any:
    """Dimension ``src`` becomes the slower part of dimension ``dst`` of what is left.

    >>> import wengert as torch
    >>> reshape_dim_into(0, 1, torch.zeros(5, 2, 3)).shape
    torch.Size([2, 15])
    """
    src, dst = src % x.ndim, dst % (x.ndim - 1)
    return x.movedim(src, dst).flatten(dst, dst + 1)


def reshape_dim_outof(src: int, size1: int, x: Any) -> Any:
    """Dimension ``src`` in two, the first of size ``size1``.

    >>> import wengert as torch
    >>> reshape_dim_outof(1, 5, torch.zeros(2, 15)).shape
    torch.Size([2, 5, 3])
    """
    return x.unflatten(src, (size1, -1))
