"""Modules whose initial values do not matter."""

from __future__ import annotations

from typing import Any

from wengert.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """``module_cls(*args, **kwargs)`` for a module whose values will be loaded: the random stream stays where it is.

    >>> torch.nn.utils.skip_init(torch.nn.Linear, 5, 1).weight.shape
    torch.Size([1, 5])
    """
    from inspect import signature

    from wengert.random import get_rng_state, set_rng_state

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    before = get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        set_rng_state(before)
