"""The example of a training that survives a crash."""

from __future__ import annotations

import re
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "restart.py"


def losses(ended):
    assert ended.code == 0, ended
    return dict(re.findall(r"^step (\d+) loss (\S+)$", ended.out, re.MULTILINE))


def test_training_goes_on_from_the_last_checkpoint(torchrun, tmp_path):
    options = ("--max-restarts", "2")
    whole = torchrun(EXAMPLE, 2, "--checkpoint", tmp_path / "a.pt", options=options)
    killed = torchrun(EXAMPLE, 2, "--checkpoint", tmp_path / "b.pt", "--kill-at", 25, options=options)
    assert "try 0: from step 0" in whole.out and "try 1" not in whole.out
    assert "try 1: from step 20" in killed.out, killed
    assert losses(killed) == losses(whole) and len(losses(whole)) == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pt", "b.pt"]
