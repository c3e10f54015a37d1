"""``backends``: switches of libraries underneath, and whether they are there.

Switches can be set, as scripts written for graphics cards do, and keep what was set; they change nothing here.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

__allow_nonbracketed_mutation = nullcontext  # MONAI: a scope that allows what is always allowed here
SUBMODULES = ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum")


def __getattr__(name: str) -> Any:
    import sys

    if name in SUBMODULES:
        from importlib import import_module

        return import_module(f".{name}", __name__)
    from ..names.missing import missing

    raise missing(sys.modules[__name__], name, SUBMODULES)
