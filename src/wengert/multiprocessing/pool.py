"""``torch.multiprocessing.pool``: Python's pools, whose tasks and results hold tensors in shared memory."""

from __future__ import annotations

from multiprocessing.pool import Pool, ThreadPool

__all__ = ["Pool", "ThreadPool"]
