"""What a tensor is inside of transformed functions, by the names of ``torch._C._functorch``: for looking, not for computing.

PyTorch wraps a tensor once for each transform that it belongs to; here a map has tensors of its own (``Batched``), and a
derivative knows its tensors (``tensor.captured``). Levels count the transforms around, from 1.
"""

from __future__ import annotations

from typing import Any

from ..graph.modes import map_levels, modes, transforming, transforms
from ..tensor.batching import Batched, Level, decomposed, dispatch, expanded, wrapped
from ..tensor.functions import function
from .gradients import _history, recorded
from .gradients import debug_unwrap as _debug_unwrap

__all__ = [
    "current_level", "dlevel", "get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor",
    "maybe_current_level", "maybe_get_bdim", "maybe_get_level", "reshape_dim_into", "reshape_dim_outof",
]  # fmt: skip


def _levels(tensor: Any) -> tuple[int, int]:
    """The level of the outermost map and of the outermost derivative that the tensor belongs to; -1 for none."""
    inside = modes().inside
    home = None if inside is None else inside.home(tensor)
    return tensor.level.depth if isinstance(tensor, Batched) else -1, -1 if home is None else home.number


def maybe_get_level(tensor: Any) -> int:
    """The level of the innermost transform that the tensor belongs to; -1 for none, -2 for a derivative that is over.

    >>> import wengert as torch
    >>> levels = []
    >>> _ = torch.vmap(lambda x: levels.append(maybe_get_level(x)) or x)(torch.ones(2))
    >>> levels, maybe_get_level(torch.ones(2))
    ([1], -1)
    """
    found = max(_levels(tensor))
    return -2 if found < 0 and dlevel(tensor) < 0 else found


def is_batchedtensor(tensor: Any) -> bool:
    """Whether the innermost transform that the tensor belongs to is a map."""
    batch, derivative = _levels(tensor)
    return batch > derivative


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether the innermost transform that the tensor belongs to, or has escaped from, is a derivative."""
    batch, derivative = _levels(tensor)
    return derivative > batch or (batch < 0 and dlevel(tensor) < 0)


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether the tensor belongs to any transform."""
    return maybe_get_level(tensor) > 0


def maybe_get_bdim(tensor: Any) -> int:
    """The dimension of the batch below a tensor of a map, -1 for others."""
    return (tensor.given or (None, 0))[1] if is_batchedtensor(tensor) else -1


def get_unwrapped(tensor: Any) -> Any:
    """What is below the innermost transform that the tensor belongs to.

    Raises:
        RuntimeError: it belongs to none.
    """
    if not is_functorch_wrapped_tensor(tensor):
        raise RuntimeError("No wrappers present!")
    if is_batchedtensor(tensor) and tensor.given:
        return tensor.given[0]
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


def dlevel(tensor: Any) -> int:
    """The level of the derivative that a tensor belongs to, 0 for none; -1 if that is over, and the tensor has escaped from it."""
    if isinstance(tensor, Batched):
        return 0
    inside = modes().inside
    home = None if inside is None else inside.home(tensor)
    if home is not None:
        return home.number
    made = type(tensor._vc) is list and len(tensor._vc) > 1 and recorded(tensor)
    return -1 if made and not tensor._vc[1].foreign(_history([tensor])) else 0


def unwrap_if_dead(tensor: Any) -> Any:
    """What is below a tensor that has escaped from a derivative; any other tensor itself."""
    return tensor.detach() if dlevel(tensor) < 0 else tensor


def get_dynamic_layer_stack_depth() -> int:
    """How many transforms run around this code."""
    return transforms.get()[0]


def get_inplace_requires_grad_allowed() -> bool:
    """Whether ``requires_grad_()`` may be called inside of transforms: it may not."""
    return False


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is one of the map that was there before this one: there are none."""
    return False


def is_functionaltensor(tensor: Any) -> bool:
    """Whether a tensor is wrapped so that writes to it become values of their own: none is."""
    return False


# -- a map that is entered and left by hand ---------------------------------------------------------------------------

_entered: list[tuple[Level, transforming]] = []


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Enter a map, which ``_vmap_decrement_nesting`` leaves; gives its level.

    >>> import wengert as torch
    >>> level = _vmap_increment_nesting(3, "error")
    >>> x = _add_batch_dim(torch.arange(6.0).view(2, 3), 1, level)
    >>> _remove_batch_dim(x.sum(), level, 3, 0), _vmap_decrement_nesting()
    (tensor([3., 5., 7.]), 1)
    """
    level, around = Level(batch_size, randomness), transforming()
    around.__enter__()
    level.__enter__()
    _entered.append((level, around))
    return level.depth


def _vmap_decrement_nesting() -> int:
    """Leave the map that was entered last; gives its level."""
    level, around = _entered.pop()
    level.__exit__()
    around.__exit__()
    return level.depth


def _level(number: int) -> Level:
    found: Level = next(level for level in map_levels.get() if level.depth == number)
    return found


def _add_batch_dim(tensor: Any, batch_dim: int, level: int) -> Any:
    """What the map at ``level`` shows of a tensor whose dimension ``batch_dim`` is the batch."""
    found = wrapped(function("movedim")(tensor, batch_dim, 0), _level(level))
    if batch_dim:
        found.given = (tensor, batch_dim % tensor.dim())
    return found


def _remove_batch_dim(tensor: Any, level: int, batch_size: int, out_dim: int) -> Any:
    """The tensor below, with the batch of the map at ``level`` in dimension ``out_dim``; repeated where it does not vary."""
    return function("movedim")(expanded(tensor, _level(level)), 0, out_dim)


def _unwrap_batched(tensor: Any, level: int) -> tuple[Any, int | None]:
    """The tensor below that of the map at ``level``, and the dimension of its batch there; None where it has none."""
    at = _level(level)
    if at not in decomposed(tensor)[1]:
        return tensor, None
    return (type(tensor) is Batched and tensor.level is at and tensor.given) or (expanded(tensor, at), 0)


def get_single_level_autograd_function_allowed() -> bool:
    """Whether ``enable_single_level_autograd_function`` is in force."""
    from .custom import single_level_allowed

    return single_level_allowed[0]


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Whether to warn of operators that a map does example by example."""
    dispatch.fallback_warnings = enabled


def _is_vmap_fallback_enabled() -> bool:
    """Whether a map does operators without a rule example by example: it does."""
    return True
