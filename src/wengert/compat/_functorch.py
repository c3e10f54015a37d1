"""``torch._functorch``: a package of modules whose names are all in ``func.functorch`` (see ``names.homes``)."""

from __future__ import annotations

from typing import Any

_MODULES = ("apis", "batch_norm_replacement", "eager_transforms", "functional_call", "make_functional", "vmap")


def __getattr__(name: str) -> Any:
    if name == "deprecated":
        from ..func import deprecated

        return deprecated
    if name in _MODULES:
        from ..func import functorch

        return functorch
    import sys

    from ..names.missing import missing

    raise missing(sys.modules[__name__], name)
