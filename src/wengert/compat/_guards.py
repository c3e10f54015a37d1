"""``torch._guards``: which fake mode some values belong to."""

from __future__ import annotations

from typing import Any

from ..library.fake_tensor import FakeTensor, FakeTensorMode
from ..names.absent import absent_from
from ..utils._python_dispatch import _get_current_dispatch_mode_stack
from ..utils._pytree import tree_leaves

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost fake mode that is active."""
    return next((mode for mode in reversed(_get_current_dispatch_mode_stack()) if isinstance(mode, FakeTensorMode)),
        None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The fake mode that is active, or that tensors of ``inputs`` were made in; ``AssertionError`` for several."""
    found = [mode for mode in [active_fake_mode()] if mode is not None]
    found += [t.fake_mode for t in tree_leaves(inputs) if isinstance(t, FakeTensor)]
    for mode in found[1:]:
        if mode is not found[0]:
            raise AssertionError(f"fake mode ({found[0]}) from fake tensor input 0 doesn't match mode ({mode}) from "
                "another")
    return found[0] if found else None

__getattr__ = absent_from(__name__)
