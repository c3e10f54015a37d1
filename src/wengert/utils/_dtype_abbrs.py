"""Short names of dtypes, for texts: ``f32`` for float32."""

from __future__ import annotations

from ..arrays.dtypes import NAMES

_LETTERS = {"float": "f", "bfloat": "bf", "complex": "c", "int": "i", "uint": "u"}
dtype_abbrs = {NAMES["bool"]: "b8"} | {
    NAMES[name + bits]: letter + bits for name, letter in _LETTERS.items() for bits in ("8", "16", "32", "64", "128")
    if name + bits in NAMES
}
