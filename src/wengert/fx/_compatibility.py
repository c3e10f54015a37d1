"""The mark of PyTorch's functions that stay as they are; libraries put it on their own tracers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """A decorator that notes whether something stays as it is.

    >>> from wengert.fx._compatibility import compatibility
    >>> compatibility(is_backward_compatible=True)(print) is print
    True
    """

    def mark(thing: T) -> T:
        _MARKED_WITH_COMPATIBILITY.setdefault(thing)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(thing)
        return thing

    return mark
