"""``torch.distributed.nn``: collectives that gradients pass through."""

from __future__ import annotations

from . import functional
from .functional import *  # noqa: F403
from .functional import __all__ as __all__

functional = functional
