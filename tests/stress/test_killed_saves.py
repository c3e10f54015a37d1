"""A process that saves is killed: the file is whole, and it is one that was saved."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from wengert.serialization import load

SEED = int(os.environ.get("WENGERT_STRESS_SEED", "0"))
SAVES = """
import sys
import wengert as torch
path, zipped = sys.argv[1], sys.argv[2] == "True"
print("ready", flush=True)
for epoch in range(1, 10**6):
    state = {"epoch": epoch, "w": torch.full((500_000,), float(epoch % 1000))}
    torch.save(state, path, _use_new_zipfile_serialization=zipped)
"""


def kill(path, zipped, after):
    """Let a process save over and over, and end it ``after`` seconds from its first file."""
    with subprocess.Popen([sys.executable, "-c", SAVES, str(path), str(zipped)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        before, end = path.stat().st_mtime_ns if path.exists() else 0, time.monotonic() + 60
        while not path.exists() or path.stat().st_mtime_ns == before:
            assert time.monotonic() < end
            time.sleep(0.001)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_saves(kills, tmp_path):
    rng, path = random.Random(SEED), tmp_path / "x.pt"
    for n in range(kills):
        kill(path, zipped=n % 2 == 0, after=rng.uniform(0, 0.1))
        found = load(path)
        assert found["epoch"] > 0 and (found["w"] == found["epoch"] % 1000).all() and found["w"].shape == (500_000,)
    left = [name for name in os.listdir(tmp_path) if name != "x.pt"]
    assert len(left) <= kills and all(name.startswith(".x.pt.") and name.endswith(".tmp") for name in left)
