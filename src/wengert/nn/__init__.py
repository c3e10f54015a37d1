"""Networks: parameters, modules, functions, initial values and helpers, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:
    from . import attention as attention
    from . import parallel as parallel
    from .parallel import DataParallel as DataParallel
else:
    from .modules import __all__ as _modules

    __all__ = [*_modules, "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init",
        "modules", "parameter", "utils"]


# name -> the module that it is or is in
_LATER = {"attention": "attention", "grad": "grad", "parallel": "parallel", "DataParallel": "parallel"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        module = import_module(f"{__name__}.{_LATER[name]}")
        return module if name == _LATER[name] else getattr(module, name)
    import sys

    from ..names.missing import missing

    raise missing(sys.modules[__name__], name)
