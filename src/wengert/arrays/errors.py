"""Exceptions that floors above share."""

from __future__ import annotations


class LinAlgError(RuntimeError):
    """A decomposition that does not exist or did not converge, ``torch.linalg.LinAlgError``."""

    __module__ = "torch._C"


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
