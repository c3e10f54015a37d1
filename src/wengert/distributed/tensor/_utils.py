"""PyTorch's ``torch.distributed.tensor._utils``: shapes of pieces, where libraries look for them."""

from __future__ import annotations

from ._spec import compute_local_shape, compute_local_shape_and_global_offset

__all__ = ["compute_local_shape", "compute_local_shape_and_global_offset"]
