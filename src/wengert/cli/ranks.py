"""What ``wengert run`` does for a program that is one of several processes: tells it its rank, and others its end."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


def prepare() -> None:
    """Set ``RANK``, ``WORLD_SIZE`` and their like, which programs read, where ``mpiexec`` has started this process.
    Where there are others, print line by line: each line at once, and none within that of another.
    """
    launched_by_mpi = any(name.startswith(("PMI_", "PMIX_", "OMPI_")) for name in os.environ)
    if launched_by_mpi or "RANK" in os.environ:
        _print_by_lines()
    if "RANK" in os.environ or not launched_by_mpi:
        return
    from ..distributed.mpi.world import launched

    found = launched()
    if found is None:
        return
    rank, size, local_rank, on_node = found
    local_rank, on_node = rank if local_rank is None else local_rank, on_node or size
    node, nodes = (rank - local_rank) // on_node, -(-size // on_node)
    values = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": local_rank, "LOCAL_WORLD_SIZE": on_node,
        "GROUP_RANK": node, "GROUP_WORLD_SIZE": nodes, "ROLE_RANK": rank, "ROLE_WORLD_SIZE": size,
        "ROLE_NAME": "default", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500, "OMP_NUM_THREADS": 1}
    for name, value in values.items():
        os.environ.setdefault(name, str(value))


def _print_by_lines() -> None:
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    if not isinstance(sys.stdout.buffer, io.RawIOBase):
        sys.stdout.reconfigure(line_buffering=True)
        return
    old = sys.stdout  # it writes the words of a line one by one (PYTHONUNBUFFERED)
    encoding, errors = old.encoding, old.errors
    raw: Any = old.detach()
    new: Any = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)
    sys.stdout = sys.__stdout__ = new  # type: ignore[misc]


def ends(code: Any) -> None:
    """Say that the program ends with an exit code: if it is not 0, MPI does not wait for the other ranks."""
    _tell_world(code)
    if code not in (None, 0):
        _say(f"has ended with exit code {code}" if isinstance(code, int) else "has ended")


def fails(error: BaseException) -> None:
    """Say that the program ends with an exception: to the launcher, and on the terminal which rank it was."""
    _tell_world(1)
    if "TORCHELASTIC_ERROR_FILE" in os.environ:
        from ..distributed.elastic.multiprocessing.errors import write_error

        write_error(error)
    _say("has failed")


def _tell_world(code: Any) -> None:
    world = sys.modules.get(f"{__package__.partition('.')[0]}.distributed.mpi.world")
    if world is not None:
        world.program_ends(code)


def _say(what: str) -> None:
    """Which rank it was; ``torchrun`` says it itself."""
    told = os.environ
    if "TORCHELASTIC_ERROR_FILE" not in told and told.get("WORLD_SIZE", "1") != "1" and "RANK" in told:
        print(f"wengert: rank {told['RANK']} of {told['WORLD_SIZE']} {what}", file=sys.stderr)
