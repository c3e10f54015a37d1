"""A rank that fails ends the job, soon, and says who and why; operations that cannot complete say so."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from wengert.distributed.mpi import watching
from wengert.distributed.mpi.world import _runs

from .conftest import PROGRAMS


def assert_all_gone(out):
    pids = [int(pid) for pid in re.findall(r"pid (\d+)\n", out)]
    assert len(pids) >= 3, out
    end = time.monotonic() + 5
    while any(map(_runs, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [pid for pid in pids if _runs(pid)]


def seconds_after_the_start(ended):
    """How long the job has run once its ranks were there."""
    return ended.at - max(map(float, re.findall(r"begun at (\S+)\n", ended.out)))


@pytest.fixture(autouse=True)
def _no_memory_is_left():
    def segments():
        return {n for n in os.listdir("/dev/shm") if n.startswith("mpich_shm")} if os.path.isdir("/dev/shm") else set()

    before = segments()
    yield
    left = segments() - before
    end = time.monotonic() + 20  # another job's, which is starting at this moment, go by themselves
    while left & segments() and time.monotonic() < end:
        time.sleep(0.2)
    assert not left & segments()


@pytest.mark.parametrize(("how", "said"), [
    ("kill", "Signal 9 (SIGKILL)"), ("exit", "exitcode  : 5"), ("child", "ValueError: no more numbers"),
    ("stuck", "ValueError: no more numbers")])
def test_torchrun_ends_the_job_and_says_who_failed(torchrun, how, said):
    ended = torchrun("failing.py", 3, how)
    assert ended.code == 1 and seconds_after_the_start(ended) < 10, ended
    root = ended.err.partition("Root Cause")[2]
    assert "rank      : 1 (local_rank: 1)" in root and said in root, ended
    assert_all_gone(ended.out)


def test_torchrun_starts_again(torchrun):
    ended = torchrun("failing.py", 3, "once", options=["--max_restarts=2"])
    assert ended.code == 0 and "restart 1 of 2" in ended.err and "restart 2" not in ended.err, ended
    assert ended.out.count("is done") == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_torchrun(number):
    with subprocess.Popen([sys.executable, "-m", "wengert", "torchrun", "--standalone", "--nproc-per-node=3",
            PROGRAMS / "failing.py", "wait"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as launcher:
        out = "".join(launcher.stdout.readline() for _ in range(6))
        launcher.send_signal(number)
        launcher.wait(10)
    assert_all_gone(out)


@pytest.mark.parametrize(("how", "said"), [
    ("raise", "ValueError: no more numbers"), ("kill", "rank 1 of 3 (process "),
    ("exit", "rank 1 of 3 has ended with exit code 5")])
def test_mpiexec_ends_the_job(mpiexec, how, said):
    ended = mpiexec("failing.py", 3, how)
    assert ended.code != 0 and seconds_after_the_start(ended) < 10 and said in ended.out + ended.err, ended
    if how == "raise":
        assert "rank 1 of 3 has failed" in ended.err, ended
    assert_all_gone(ended.out)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes cannot be waited for here")
def test_the_first_that_was_killed_is_named_however_slowly_its_watcher_starts(tmp_path, monkeypatch, capfd):
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 0.3\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    listening = watching.listen(3)
    rank_of = "import sys, time\nfrom wengert.distributed.mpi import watching\n" \
        "here = watching.connect(*map(int, sys.argv[1:]))\nprint(here is not None, flush=True)\ntime.sleep(100)"
    ranks = [subprocess.Popen([sys.executable, "-c", rank_of, str(os.getpid()), str(rank)], stdout=subprocess.PIPE)
        for rank in range(3)]
    assert [process.stdout.readline() for process in ranks] == [b"True\n"] * 3
    monkeypatch.setattr(sys, "executable", str(slow))
    watcher = watching.start(listening, 3, {rank: process.pid for rank, process in enumerate(ranks)})
    for rank in (1, 2, 0):
        ranks[rank].kill()
        ranks[rank].communicate()
    watcher.wait(20)
    assert f"rank 1 of 3 (process {ranks[1].pid} on " in capfd.readouterr().err


def told(ended):
    return sorted((line for line in ended.out.splitlines() if line.startswith("rank")), key=lambda line: line[:6])


def test_deadlines_are_kept(torchrun):
    lines = told(torchrun("deadlines.py", 2, "timeout"))
    assert re.fullmatch(r"rank 0: DistBackendError: Timed out waiting [1-9]\d\d\dms for all_reduce to complete "
        r"on rank 0: .*\[[1-9] s\]", lines[0]), lines
    assert re.match(r"rank 0: DistBackendError: Timed out waiting [1-9]\d\d\dms for recv", lines[1]), lines
    (line,) = told(torchrun("deadlines.py", 2, "wait"))
    assert "Timed out waiting 500ms for all_reduce" in line


def test_missing_ranks_are_named(torchrun):
    lines = told(torchrun("deadlines.py", 4, "monitored"))
    assert "[Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 1000 ms" in lines[0], lines
    assert "Rank 1 successfully reached monitoredBarrier" in lines[1]


def test_calls_that_differ_are_named(torchrun):
    lines = told(torchrun("deadlines.py", 3, "detail", env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}))
    assert len(lines) == 3 and all("Detected mismatch between collectives on ranks" in line for line in lines), lines
    assert "Rank 0 is running collective: number 2, broadcast([3] float32) from 0" in lines[0]
    assert "Rank 1 is running collective: number 2, all_reduce([4] float64)" in lines[0]


def test_a_process_that_has_ended_is_named(torchrun):
    ended = torchrun("deadlines.py", 3, "gone")
    assert len(told(ended)) == 2, ended
    for line in told(ended):
        assert re.search(r"all_reduce on rank [02] cannot complete: Connection closed by peer, the process of rank 1 "
            r"\(pid \d+\) has ended \[[0-9] s\]", line), line
