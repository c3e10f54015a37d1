"""Optimizers for several processes."""

from __future__ import annotations

from .apply_optimizer_in_backward import (  # noqa: F401
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
)
from .optimizer import DistributedOptimizer
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
