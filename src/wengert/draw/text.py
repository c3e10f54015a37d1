"""Short texts about numbers, shapes and bytes, and how wide text is."""

from __future__ import annotations

import linecache
import os
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..diagnose.places import Place

# The widths of Helvetica's letters, in thousandths of the font's size; Arial and Liberation Sans have the same.
_WIDTHS = {width: letters for letters, width in ((" !,./:;I[\\]ft", 278), ("\"", 355), ("ijl", 222), ("'", 191),
    ("()-r`", 333), ("*", 389), ("+<=>~", 584), ("%", 889), ("&ABEKPSVXY", 667), ("@", 1015), ("CDHNRUw", 722),
    ("FTZ", 611), ("GOQ", 778), ("Jcksvxyz", 500), ("Mm", 833), ("W", 944), ("^", 469), ("{}", 334), ("|", 260))}
WIDER, WIDER_BOLD = 1.15, 1.27  # what Linux shows without them (DejaVu Sans) is wider
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}


def width(text: str, points: float, bold: bool = False) -> float:
    """How wide ``text`` is at most in a font of this size, where a page has none of these, too.

    >>> width("ill", 10) < width("www", 10)
    True
    """
    total = sum(_WIDTH.get(c, 556 if c < "\u2e80" else 1000) for c in text)
    return total * points / 1000 * (WIDER_BOLD if bold else WIDER)


def cut(text: str, most: int) -> str:
    """``text`` with dots in place of what goes beyond ``most`` letters.

    >>> cut("a long line", 7)
    'a long…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def size(count: int) -> str:
    """Bytes as people read them.

    >>> size(31400), size(12)
    ('30.7 KiB', '12 B')
    """
    if count < 1024:
        return f"{count} B"
    number, unit = float(count), "B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):  # noqa: B007
        number /= 1024
        if number < 1000:
            break
    return f"{number:.3g} {unit}" if number < 100 else f"{number:.0f} {unit}"


def duration(time: float) -> str:
    """Seconds as people read them.

    >>> duration(2.5), duration(0.0031), duration(4e-6)
    ('2.50 s', '3.10 ms', '4 µs')
    """
    return f"{time:.2f} s" if time >= 1 else f"{time * 1e3:.2f} ms" if time >= 1e-3 else f"{time * 1e6:.0f} µs"


def number(x: float) -> str:
    """A number in three digits, or all that stand before the point.

    >>> number(0.31415), number(2e-9), number(6000.2)
    ('0.314', '2e-09', '6000')
    """
    if 1000 <= abs(x) < 1e5:
        return f"{x:.0f}"
    return f"{x:.3g}" if isfinite(x) else "NaN" if x != x else "∞" if x > 0 else "-∞"


_PLURALS = {"leaf": "leaves", "box": "boxes", "matrix": "matrices"}


def many(count: int, what: str) -> str:
    """How many of something.

    >>> many(1, "leaf"), many(2, "leaf"), many(1200, "operation")
    ('1 leaf', '2 leaves', '1,200 operations')
    """
    return f"{count:,} {what if count == 1 else _PLURALS.get(what, f'{what}s')}"


def shape_text(shape: Any) -> str:
    """A shape as Python writes it; of several results all of them.

    >>> shape_text((3,)), shape_text(())
    ('(3,)', '()')
    """
    return str(tuple(shape)) if shape is not None else "?"


def where(place: Place) -> str:
    """A line, without the folders of its file."""
    return f"{os.path.basename(place.file)}:{place.line}"


def source(place: Place | None) -> str:
    """The source of a line; empty where it is not known."""
    return "" if place is None else linecache.getline(place.file, place.line).strip()
