"""How many threads array operations may use: BLAS and the native kernels."""

from __future__ import annotations

import os

from . import kernels

_chosen: int | None = None


def get() -> int:
    """The number of threads in use."""
    return (_chosen if _chosen is not None else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1)


def set(n: int) -> None:
    """Use ``n`` threads; BLAS follows where the library ``threadpoolctl`` is installed."""
    global _chosen
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _chosen = int(n)
    kernels.set_num_threads(_chosen)
    try:
        import threadpoolctl
    except ImportError:
        return
    threadpoolctl.threadpool_limits(_chosen, user_api="blas")
