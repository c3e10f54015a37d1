"""A version that compares with other versions, and is still a string."""

from __future__ import annotations

import re
from typing import Any

# Stages before a release, in order; a release without a stage comes after all of them.
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "preview": -1}


def _comparison(method: str) -> Any:
    def compare(self: str, other: Any) -> Any:
        text = ".".join(map(str, other)) if isinstance(other, (tuple, list)) else str(other)
        mine, theirs = version_key(str(self)), version_key(text)
        if mine is None or theirs is None:
            return getattr(str, method)(self, other)
        return getattr(mine, method)(theirs)

    return compare


class TorchVersion(str):
    """A version string that compares by number: with strings, with tuples and with ``packaging``'s versions.

    What is no version is compared as text.

    >>> TorchVersion("2.13.0+wengert") >= (2, 4)
    True
    >>> TorchVersion("2.13.0+wengert") < "2.4.0"
    False
    >>> TorchVersion("2.13.0+wengert").split("+")[0]
    '2.13.0'
    """

    __slots__ = ()

    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("__lt__", "__le__", "__gt__", "__ge__"))
    __eq__ = _comparison("__eq__")  # and != compares as text, as in PyTorch
    __hash__ = str.__hash__


__version__ = TorchVersion("2.13.0+wengert")


def version_key(text: str) -> tuple[Any, ...] | None:
    """What PEP 440 sorts versions by, for release, pre-release, post-release, development and local parts."""
    found = re.fullmatch(
        r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)"  # epoch and release
        r"(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
        r"(?:-(\d+)|[-_.]?(?:post|rev|r)[-_.]?(\d*))?"
        r"(?:[-_.]?(dev)[-_.]?(\d*))?"
        r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
        text.strip().lower(),
    )
    if found is None:
        return None
    epoch, release, stage, stage_number, post1, post2, dev, dev_number, local = found.groups()
    numbers = tuple(map(int, release.split(".")))
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]
    post = next((int(p or 0) for p in (post1, post2) if p is not None), -1)
    if stage is None and post == -1 and dev is not None:
        stage = "dev"  # 1.0.dev1 comes before 1.0a1
    before = (_STAGES[stage], int(stage_number or 0)) if stage else (0, 0)
    development = (0, int(dev_number or 0)) if dev is not None else (1, 0)
    # A local version comes after the same version without one; its numbers come after its words.
    parts = (() if local is None
        else tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"[-_.]", local)))
    return (int(epoch or 0), numbers, before, post, development, local is not None, parts)
