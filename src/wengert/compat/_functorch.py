"""``torch._functorch``: a package of modules whose names are in ``func.functorch`` (see ``names.homes``)."""

from __future__ import annotations

from typing import Any

from ..names.missing import missing_from

_MODULES = ("apis", "batch_norm_replacement", "eager_transforms", "functional_call", "make_functional")


def __getattr__(name: str) -> Any:
    if name == "deprecated":
        from ..func import deprecated

        return deprecated
    if name == "vmap":
        from . import vmap_helpers

        return vmap_helpers
    if name in _MODULES:
        from ..func import functorch

        return functorch
    return missing_from(__name__)(name)
