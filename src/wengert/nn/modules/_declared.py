"""Modules that say in their class statement what they compute, or over how many dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from wengert.nn import functional as F

from .module import Module


class OverDims(Module):
    """A layer that works on the last ``dims`` dimensions, as ``class Conv1d(_Conv, dims=1)`` says."""

    _dims = 0

    def __init_subclass__(cls, dims: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if dims is not None:
            cls._dims = dims


class Declared(Module):
    """A module that applies a function of ``nn.functional``: ``forward`` and ``extra_repr`` follow from its statement.

    ``function`` is the function's name; ``takes`` names the attributes that it gets behind the input;
    ``shows`` names those that ``repr`` shows (``inplace`` only where it is set), by default those that it takes. A
    subclass inherits what it does not declare.
    """

    _shows: Sequence[str] | None = None

    def __init_subclass__(cls, function: str | None = None, takes: Sequence[str] = (),
            shows: Sequence[str] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if function is not None:
            cls.forward = _apply_function(function, takes)  # type: ignore[method-assign]
            cls.forward.__qualname__ = f"{cls.__qualname__}.forward"
            if cls._shows is None and shows is None:
                shows = takes
        if shows is not None:
            cls._shows = shows

    def extra_repr(self) -> str:
        values = [(name, getattr(self, name)) for name in self._shows or ()]
        return ", ".join(f"{name}={value!r}" for name, value in values if name != "inplace" or value)


def _apply_function(function: str, takes: Sequence[str]) -> Callable[..., Any]:
    """``forward`` of a declared module. The function is looked up at each call, so that it can be replaced."""
    if not takes:

        def forward(self: Any, input: Any) -> Any:
            return getattr(F, function)(input)

    elif len(takes) == 1:
        name = takes[0]

        def forward(self: Any, input: Any) -> Any:
            return getattr(F, function)(input, getattr(self, name))

    else:
        settings = attrgetter(*takes)

        def forward(self: Any, input: Any) -> Any:
            return getattr(F, function)(input, *settings(self))

    return forward
