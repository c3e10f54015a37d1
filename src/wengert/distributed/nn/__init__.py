"""``torch.distributed.nn``: collectives that gradients pass through."""

from __future__ import annotations

from . import functional
from .api.remote_module import RemoteModule
from .functional import *  # noqa: F403
from .functional import __all__ as _functions

__all__ = [*_functions, "RemoteModule"]

functional = functional
