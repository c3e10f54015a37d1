"""Where a leaf stands in a tree: the keys that lead to it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class KeyEntry(Protocol):
    """One step into a container."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __str__(self) -> str: ...

    def get(self, parent: Any) -> Any:
        """The part of ``parent`` that the step leads to."""


KeyPath = tuple[KeyEntry, ...]


class SequenceKey(NamedTuple):
    """The place in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Any) -> Any:
        """The element."""
        return parent[self.idx]


class MappingKey(NamedTuple):
    """The key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        """The value."""
        return parent[self.key]


class GetAttrKey(NamedTuple):
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """The attribute."""
        return getattr(parent, self.name)


def keystr(kp: KeyPath) -> str:
    """A path as it would be written: ``['a'][0].x``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands in ``obj`` at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
