"""Ranks that are killed at random moments: a clean end each time, and the last checkpoint is whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wengert as torch
from wengert.distributed.mpi.world import _runs

EXAMPLE = Path(__file__).parents[2] / "examples" / "restart.py"
TIMES = int(os.environ.get("WENGERT_CHAOS", "3"))
RANKS = 3


def ranks_below(pid):
    """The pids of the ranks that a launcher has started, by rank."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if environment else 0
        except (OSError, ValueError):  # it has ended
            continue
        values = dict(part.partition(b"=")[::2] for part in environment.split(b"\0"))
        if parent == pid and b"RANK" in values:
            found[int(values[b"RANK"])] = int(entry.name)
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("seed", range(TIMES))
def test_a_rank_killed_at_a_random_moment(seed, tmp_path):
    chance = random.Random(seed)
    checkpoint = tmp_path / "c.pt"
    command = [sys.executable, "-m", "wengert", "torchrun", "--standalone", f"--nproc-per-node={RANKS}", EXAMPLE,
        "--steps", "100000", "--every", "1", "--checkpoint", checkpoint]
    launcher = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        for line in launcher.stdout:
            if line.startswith("step 1 "):
                break
        time.sleep(chance.uniform(0, 1.5))
        ranks = ranks_below(launcher.pid)
        assert sorted(ranks) == list(range(RANKS))
        victim = chance.randrange(RANKS)
        os.kill(ranks[victim], signal.SIGKILL)
        begin = time.monotonic()
        said = launcher.communicate(timeout=60)[0]
    finally:
        launcher.kill()
    assert time.monotonic() - begin < 10 or os.getloadavg()[0] > 4
    assert launcher.returncode != 0
    assert f"rank      : {victim}" in said and "Signal 9 (SIGKILL)" in said, said
    assert not any(_runs(pid) for pid in ranks.values())
    saved = torch.load(checkpoint)
    assert saved["step"] >= 1 and len(saved["model"]) == 4
