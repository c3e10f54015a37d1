"""``reduction`` as a number, and the two flags from before there was one."""

from __future__ import annotations

import warnings


def get_enum(reduction: str) -> int:
    """0 for ``none``, 1 for ``mean``, 2 for ``sum``."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ("none", "mean", "sum").index(reduction)


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The ``reduction`` that the deprecated flags mean."""
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3)
    return reduction


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """``legacy_get_string`` as a number."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
