"""``torch.multiprocessing.queue``: Python's queues, through which tensors pass as handles of shared memory."""

from __future__ import annotations

from multiprocessing.queues import Queue, SimpleQueue

__all__ = ["Queue", "SimpleQueue"]
