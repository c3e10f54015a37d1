"""From ``torch._C._autograd``: saved-tensor hooks that are pushed and popped, and the next sequence number."""

from __future__ import annotations

from copy import copy
from typing import Any

from ..graph.modes import change, modes
from ..graph.node import next_sequence
from .graph import saved_tensors_hooks


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether no ``disable_saved_tensors_hooks`` is in force."""
    return modes().saved_tensor_hooks_disabled is None


def _push_saved_tensors_default_hooks(pack_hook: Any, unpack_hook: Any) -> None:
    """From now on, tensors are saved by these hooks."""
    saved_tensors_hooks(pack_hook, unpack_hook).__enter__()


def _pop_saved_tensors_default_hooks() -> None:
    """Back to the hooks that were in force before the last were pushed."""
    change(saved_tensor_hooks=getattr(modes().saved_tensor_hooks, "outer", None))


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> Any:
    """The hooks in force, a pair; None if there are none."""
    saved_tensor_hooks = modes().saved_tensor_hooks
    return None if saved_tensor_hooks is None else tuple(saved_tensor_hooks)


def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    """From now on, saved-tensor hooks are refused with that message."""
    if fail_if_non_empty and modes().saved_tensor_hooks is not None:
        raise RuntimeError(error_message)
    change(saved_tensor_hooks_disabled=error_message)


def _saved_tensors_hooks_enable() -> None:
    """Saved-tensor hooks are allowed again."""
    change(saved_tensor_hooks_disabled=None)


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """Why saved-tensor hooks are refused; None if they are not."""
    return modes().saved_tensor_hooks_disabled


def _get_sequence_nr() -> int:
    """The sequence number that the next node will have."""
    return -next(copy(next_sequence.__self__))  # type: ignore[attr-defined]
