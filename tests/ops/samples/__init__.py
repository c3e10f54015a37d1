"""Sample calls of every operator that has a gradient, family by family, and what is special about them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from wengert.ops.operator import TABLE, Operator

from ..sampling import Sample, usual

SAMPLES: dict[str, list[Sample]] = {}
NO_SECOND: set[str] = set()  # operators whose second derivatives are not checked
ANY_VALUE: set[str] = set()  # random results: nothing to compare
BY_MEMORY: set[str] = set()  # speak of the memory of their arguments: strides do matter
for _info in iter_modules(__path__):
    _module: Any = import_module(f"{__name__}.{_info.name}")
    SAMPLES.update(_module.SAMPLES)
    NO_SECOND |= set(getattr(_module, "NO_SECOND", ()))
    ANY_VALUE |= set(getattr(_module, "RANDOM", ()))
    BY_MEMORY |= set(getattr(_module, "BY_MEMORY", ()))
for _name, _op in TABLE.items():
    if _name not in SAMPLES and isinstance(_op, Operator) and _op.wrt and _op.places and usual(_op):
        SAMPLES[_name] = usual(_op)
