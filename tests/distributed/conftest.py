"""Programs in several processes: how they are started, and what they have printed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
WITHOUT_MPI = ("test_compression", "test_federated", "test_stores")
MPIEXEC = Path(sys.executable).with_name("mpiexec")


@pytest.fixture(autouse=True)
def _needs_mpi(request):
    if request.module.__name__.rpartition(".")[2] not in WITHOUT_MPI and find_spec("mpi4py") is None:
        assert "WENGERT_REQUIRE_MPI" not in os.environ, "mpi4py is required here"
        pytest.skip("mpi4py is missing; the extra wengert[mpi] brings it and an MPI")


class Ended:
    """A program that has ended."""

    def __init__(self, done, seconds):
        self.code, self.out, self.err, self.seconds = done.returncode, done.stdout, done.stderr, seconds
        self.at = time.time()

    def __repr__(self):
        return f"exit code {self.code} after {self.seconds:.1f} s\n{self.out}\n{self.err}"


def execute(command, env=None, timeout=300):
    """Run a command without what says that this process is one of several, and with lines that are written whole."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "PYTHONUNBUFFERED")
    clean = {k: v for k, v in os.environ.items() if k not in names and not k.startswith(("PMI", "TORCHELASTIC"))}
    begin = time.monotonic()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout,
        env={**clean, "OMP_NUM_THREADS": "1", **(env or {})})
    return Ended(done, time.monotonic() - begin)


@pytest.fixture
def torchrun():
    """Run a program of ``programs`` with ``wengert torchrun``."""
    def run(program, count, *args, options=(), **more):
        command = [sys.executable, "-m", "wengert", "torchrun", "--standalone", f"--nproc-per-node={count}", *options]
        return execute([*command, PROGRAMS / program, *args], **more)

    return run


@pytest.fixture
def mpiexec():
    """Run a program of ``programs`` with ``mpiexec -n N wengert run``."""
    if not MPIEXEC.exists():
        pytest.skip("there is no mpiexec beside this Python")

    def run(program, count, *args, **more):
        command = [MPIEXEC, "-n", count, sys.executable, "-m", "wengert", "run", PROGRAMS / program]
        return execute([*command, *args], **more)

    return run


@pytest.fixture
def alone():
    """Run a program of ``programs`` that starts processes itself."""
    def run(program, *args, **more):
        return execute([sys.executable, "-m", "wengert", "run", PROGRAMS / program, *args], **more)

    return run
