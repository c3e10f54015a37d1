"""What programs ask of ``torch._dynamo``. Nothing is compiled here, so its decorators leave functions as they are."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from .compiler import allow_in_graph, disable, is_compiling, list_backends, reset

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["allow_in_graph", "config", "disable", "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "reset"]


def __getattr__(name: str) -> Any:
    from ._absent import absent_name

    return absent_name(__name__, name, "programs are not compiled")


class _Config:
    """Settings of the compiler: whatever is set can be read again, and nobody else reads it."""

    @contextlib.contextmanager
    def patch(self, *args: Any, **changes: Any) -> Iterator[None]:
        """Other settings inside the block, or in calls of the function decorated: names as keywords, a dictionary, or a name and a value."""
        if args:
            changes = {**(args[0] if isinstance(args[0], dict) else {args[0]: args[1]}), **changes}
        before = dict(vars(self))
        vars(self).update(changes)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


config = _Config()


def graph_break(msg: str = "") -> None:
    """There is no graph to break."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Sizes are never baked into a program."""


mark_static = maybe_mark_dynamic = mark_dynamic
