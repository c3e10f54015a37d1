"""Modules that are declared by their class statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from wengert.nn import functional as F

from .module import Module


class Declared(Module):
    """A module of which the class statement says how many dimensions it works on, what it computes, and its ``repr``.

    ``dims`` is that number, in ``Conv1d`` one. ``function`` is the name of a function of ``nn.functional``, which makes
    ``forward``; ``takes`` names the attributes that it gets behind the input. ``shows`` names those that ``repr`` shows
    (``inplace`` only where it is set), by default those that it takes. A subclass inherits what it does not declare.
    """

    _dims = 0
    _shows: Sequence[str] | None = None

    def __init_subclass__(cls, dims: int | None = None, function: str | None = None, takes: Sequence[str] = (),
            shows: Sequence[str] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if dims is not None:
            cls._dims = dims
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
