"""Families of dtypes, as tuples."""

from __future__ import annotations

from typing import Any

from ...arrays.dtypes import NAMES

_FLOATING = tuple(NAMES[n] for n in ("float32", "float64"))
_COMPLEX = tuple(NAMES[n] for n in ("complex64", "complex128"))
_INTEGRAL = tuple(NAMES[n] for n in ("uint8", "int8", "int16", "int32", "int64"))


def floating_types() -> tuple[Any, ...]:
    """float32 and float64."""
    return _FLOATING


def floating_types_and(*dtypes: Any) -> tuple[Any, ...]:
    """The floating types, and ``dtypes``."""
    return _FLOATING + dtypes


def floating_types_and_half() -> tuple[Any, ...]:
    """The floating types, and float16."""
    return (*_FLOATING, NAMES["float16"])


def complex_types() -> tuple[Any, ...]:
    """complex64 and complex128."""
    return _COMPLEX


def floating_and_complex_types() -> tuple[Any, ...]:
    """The floating and the complex types."""
    return _FLOATING + _COMPLEX


def floating_and_complex_types_and(*dtypes: Any) -> tuple[Any, ...]:
    """The floating and the complex types, and ``dtypes``."""
    return _FLOATING + _COMPLEX + dtypes


def integral_types() -> tuple[Any, ...]:
    """The integers up to 64 bits."""
    return _INTEGRAL


def integral_types_and(*dtypes: Any) -> tuple[Any, ...]:
    """The integers, and ``dtypes``."""
    return _INTEGRAL + dtypes


def all_types() -> tuple[Any, ...]:
    """The floating types and the integers."""
    return _FLOATING + _INTEGRAL


def all_types_and(*dtypes: Any) -> tuple[Any, ...]:
    """The floating types, the integers, and ``dtypes``."""
    return _FLOATING + _INTEGRAL + dtypes


def all_types_and_complex() -> tuple[Any, ...]:
    """The floating types, the integers, and the complex types."""
    return _FLOATING + _INTEGRAL + _COMPLEX


def all_types_and_complex_and(*dtypes: Any) -> tuple[Any, ...]:
    """The floating types, the integers, the complex types, and ``dtypes``."""
    return _FLOATING + _INTEGRAL + _COMPLEX + dtypes


def get_all_dtypes(include_half: bool = True, include_bfloat16: bool = True, include_bool: bool = True, include_complex: bool = True) -> list[Any]:
    """Every dtype, without the families that are not wanted."""
    further = (("float16", include_half), ("bfloat16", include_bfloat16), ("bool", include_bool))
    return [*all_types(), *(NAMES[n] for n, wanted in further if wanted), *(_COMPLEX if include_complex else ())]
