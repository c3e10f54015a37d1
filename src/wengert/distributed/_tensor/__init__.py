"""``torch.distributed._tensor``: the older name of ``torch.distributed.tensor``."""

from __future__ import annotations

from ..tensor import *  # noqa: F403
from ..tensor import __all__  # noqa: F401
