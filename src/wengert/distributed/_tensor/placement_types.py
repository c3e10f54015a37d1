"""``torch.distributed._tensor.placement_types``: the older name of ``torch.distributed.tensor.placement_types``."""

from __future__ import annotations

from ..tensor.placement_types import *  # noqa: F403
from ..tensor.placement_types import _Partial, _StridedShard

__all__ = ["_Partial", "_StridedShard"]
