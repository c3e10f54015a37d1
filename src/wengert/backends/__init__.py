"""``backends``: switches of libraries underneath, and whether they are there.

Switches can be set, as scripts written for graphics cards do, and keep what was set; they change nothing here.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import cpu as cpu
    from . import cuda as cuda
    from . import cudnn as cudnn
    from . import mkl as mkl
    from . import mkldnn as mkldnn
    from . import mps as mps
    from . import openmp as openmp
    from . import opt_einsum as opt_einsum

__allow_nonbracketed_mutation = nullcontext  # MONAI: a scope that allows what is always allowed here
SUBMODULES = ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum")


def __getattr__(name: str) -> Any:
    import sys

    if name in SUBMODULES:
        from importlib import import_module

        return import_module(f".{name}", __name__)
    from ..names.missing import missing

    raise missing(sys.modules[__name__], name, SUBMODULES)
