"""PyTorch's ``torch.distributed.elastic.utils.distributed``."""

from __future__ import annotations

import socket

__all__ = ["get_free_port", "get_socket_with_port"]


def get_socket_with_port() -> socket.socket:
    """A socket that listens at a free port of this machine.

    >>> from wengert.distributed.elastic.utils.distributed import get_free_port
    >>> get_free_port() > 0
    True
    """
    return socket.create_server(("localhost", 0))


def get_free_port() -> int:
    """A port of this machine that nothing listens at."""
    with get_socket_with_port() as found:
        return int(found.getsockname()[1])
