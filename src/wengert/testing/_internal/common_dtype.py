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


def all_types_and_half() -> tuple[Any, ...]:
    """The floating types, the integers, and float16."""
    return (*all_types(), NAMES["float16"])


def complex_types_and(*dtypes: Any) -> tuple[Any, ...]:
    """The complex types, and ``dtypes``."""
    return _COMPLEX + dtypes


def double_types() -> tuple[Any, ...]:
    """float64 and complex128."""
    return (NAMES["float64"], NAMES["complex128"])


def empty_types() -> tuple[Any, ...]:
    """None."""
    return ()


def custom_types(*dtypes: Any) -> tuple[Any, ...]:
    """``dtypes``."""
    return dtypes


def get_all_int_dtypes() -> list[Any]:
    """The integers up to 64 bits."""
    return list(_INTEGRAL)


def get_all_complex_dtypes(include_complex32: bool = False) -> list[Any]:
    """complex64 and complex128."""
    return list(_COMPLEX)


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list[Any]:
    """The floating types, also those of 16 bits unless they are not wanted."""
    return [*_FLOATING, *(NAMES[n] for n, wanted in (("float16", include_half), ("bfloat16", include_bfloat16)) if wanted)]


def get_all_math_dtypes(device: Any) -> list[Any]:
    """The dtypes that arithmetic is tested with on a device: here without those of 16 bits."""
    return [*_INTEGRAL, *_FLOATING, *_COMPLEX]


def highest_precision_float(device: Any) -> Any:
    """float64."""
    return NAMES["float64"]


def highest_precision_complex(device: Any) -> Any:
    """complex128."""
    return NAMES["complex128"]


def get_all_qint_dtypes() -> list[Any]:
    """None: numbers are not quantized."""
    return []


def all_types_complex_float8_and(*dtypes: Any) -> tuple[Any, ...]:
    """The floating types, also those of 8 bits, the integers, the complex types, and ``dtypes``."""
    return all_types_and_complex_and(*float8_types(), *dtypes)


def all_mps_types() -> tuple[Any, ...]:
    """What Apple's cards know."""
    return tuple(NAMES[n] for n in ("float32", "float16", "uint8", "int8", "int16", "int32", "int64", "bfloat16"))


def all_mps_types_and(*dtypes: Any) -> tuple[Any, ...]:
    """What Apple's cards know, and ``dtypes``."""
    return (*all_mps_types(), *dtypes)


def float8_types() -> tuple[Any, ...]:
    """The floating types of 8 bits that products take."""
    return tuple(NAMES[n] for n in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"))


def float8_types_and(*dtypes: Any) -> tuple[Any, ...]:
    """``float8_types``, and ``dtypes``."""
    return (*float8_types(), *dtypes)


float_to_corresponding_complex_type_map = {NAMES["float32"]: NAMES["complex64"], NAMES["float64"]: NAMES["complex128"]}
