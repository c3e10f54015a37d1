"""Kinds of numbers that an operator does not take, refused in PyTorch's words.

A kind is NumPy's letter: ``b`` truth values, ``i`` and ``u`` whole numbers, ``f`` and ``V`` (bfloat16) real, ``c``
complex ones.
"""

from __future__ import annotations

from typing import Any

from ..arrays.dtypes import scalar_name


def unsupported(kernel: str, d: Any) -> NotImplementedError:
    """PyTorch's complaint about a data type that its kernel was not written for."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(d)}'")


def only(kinds: str, kernel: str, x: Any) -> Any:
    """``x``, refused unless it is of one of ``kinds``."""
    if x.dtype.kind not in kinds:
        raise unsupported(kernel, x.dtype)
    return x


def same_width(wanted: Any, found: Any) -> None:
    """Refuse two data types that differ."""
    if wanted != found:
        raise RuntimeError(f"expected scalar type {scalar_name(wanted)} but found {scalar_name(found)}")


def inexact(name: str, d: Any) -> None:
    """Refuse a data type that is neither floating-point nor complex."""
    if d.kind not in "fcVW":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_name(d)}")


def real(kernel: str, x: Any) -> Any:
    """``x``, refused when complex."""
    return only("fViub", kernel, x)


def floating(kernel: str, x: Any) -> Any:
    """``x``, refused unless it holds real floating-point numbers."""
    return only("fV", kernel, x)


def without(kinds: str, x: Any, message: str, error: type[Exception] = RuntimeError) -> Any:
    """``x``, refused with a text of its own when it is of one of ``kinds``."""
    if x.dtype.kind in kinds:
        raise error(message)
    return x
