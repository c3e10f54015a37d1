"""The order of bytes in files, and in files that do not say."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class LoadEndianness(Enum):
    """The byte order that ``load`` assumes where a file does not say."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_assumed: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed where a file does not say; None (little) unless set."""
    return _assumed


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order to assume where a file does not say."""
    global _assumed
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _assumed = endianness


def default() -> bytes:
    """The assumed byte order, as files spell it."""
    if _assumed is LoadEndianness.NATIVE:
        return sys.byteorder.encode()
    return b"big" if _assumed is LoadEndianness.BIG else b"little"


def swapped(array: np.ndarray) -> np.ndarray:
    """The array with the bytes of each number reversed, in its own memory where that may be written."""
    if array.dtype.kind == "c":
        array.view(f"f{array.itemsize // 2}").byteswap(inplace=True)
    elif array.itemsize > 1:
        array.view(f"u{array.itemsize}").byteswap(inplace=True)
    return array
