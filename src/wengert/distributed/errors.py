"""The exceptions of process groups and stores."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Something between processes has failed."""


class DistBackendError(DistError):
    """... in the library that carries tensors."""


class DistNetworkError(DistError):
    """... in a connection to a store."""


class DistStoreError(DistError):
    """... in a store; most often, an entry did not come in time."""


class QueueEmptyError(DistStoreError):
    """There is nothing in a queue of a store."""
