"""Calls between real processes, and backward through them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import PROGRAMS, execute


def everyone_done(ended, count):
    assert ended.code == 0, ended
    assert all(f"rank {r} of {count} is done" in ended.out for r in range(count)), ended


def test_calls(torchrun, mpiexec):
    everyone_done(torchrun("rpc_calls.py", 3), 3)
    everyone_done(mpiexec("rpc_calls.py", 2), 2)


def test_backward(torchrun, mpiexec):
    everyone_done(torchrun("rpc_autograd.py", 3, env={"UNUSED": "1"}), 3)
    everyone_done(mpiexec("rpc_autograd.py", 4, env={"UNUSED": "1"}), 4)


def test_training(torchrun):
    everyone_done(torchrun("rpc_training.py", 3), 3)
    everyone_done(torchrun("rpc_training.py", 2), 2)


def test_data_parallel_layers_in_a_context(torchrun):
    everyone_done(torchrun("rpc_ddp.py", 3), 3)


@pytest.mark.parity
def test_pytorch_has_the_same_gradients(torch):
    if torch.__name__ == "wengert":
        pytest.skip("the test above")
    for program in ("rpc_autograd.py", "rpc_training.py", "rpc_ddp.py"):
        everyone_done(execute([Path(sys.executable).with_name("torchrun"), "--standalone", "--nproc-per-node=3",
            PROGRAMS / program]), 3)


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_worker_that_ends(torchrun, mpiexec, how):
    """Whoever waits for it is told, and the job ends."""
    for run in (mpiexec, torchrun):
        ended = run("rpc_ending.py", 2, how)
        assert ended.code != 0 and ended.seconds < 50, ended  # calls give up after 60
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    command = [sys.executable, "-m", "wengert", "run", PROGRAMS / "rpc_ending.py", how]
    both = [subprocess.Popen(command, env={**env, "RANK": str(rank)}, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE) for rank in range(2)]
    out = both[0].communicate(timeout=300)[0]
    both[1].communicate(timeout=300)
    assert all(process.returncode for process in both)
    assert "the process of WorkerInfo(id=1, name=worker1) has ended" in out


def test_processes_that_a_program_starts(alone):
    ended = alone("rpc_spawned.py")
    assert ended.code == 0 and ended.out.count("the answer is 6") == 2, ended


def test_what_needs_a_start_says_so():
    from wengert.distributed import rpc

    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc.api._require_initialized(len)("abc")
