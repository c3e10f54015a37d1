"""A step on a device waits for nothing: no read before the program reads; launches and uploads are counted."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

#: Launches of a step, at most: some hundredths more than there were when they were counted; and uploads: the masks of
#: dropout, which are drawn on the CPU, and what ``arange`` makes there.
LIMITS = {"mlp": (150, 2), "cnn": (405, 0), "gpt": (1030, 1), "lstm": (715, 0)}


@cache
def counted() -> Any:
    done = subprocess.run([sys.executable, "-m", "tests.cuda.steps"], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2])
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("model", LIMITS)
def test_a_step_reads_nothing(model: str) -> None:
    assert "reads" not in counted()[model]


@pytest.mark.parametrize("model", LIMITS)
def test_launches_of_a_step(model: str) -> None:
    launches, uploads = LIMITS[model]
    found = counted()[model]
    assert 0 < found["launches"] <= launches
    assert found.get("uploads", 0) <= uploads
