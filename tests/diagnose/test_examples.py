"""The examples of the repository are healthy, and train to the same numbers under diagnosis."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# less than what they do by themselves, where that takes long
SHORTER = {"gpt_memory.py": ["--steps", "4", "--layers", "4", "--batch-size", "2"]}


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "wengert", "run", *options], capture_output=True, text=True,
        timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})


@pytest.mark.again
@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.glob("*.py")))
def test_healthy(name: str, tmp_path: Path) -> None:
    out = tmp_path / "findings.json"
    done = run("--explain", "--steps", "40", "--json", str(out), str(EXAMPLES / name), *SHORTER.get(name, ()))
    assert "internal" not in done.stderr
    found = [f for f in json.loads(out.read_text())["findings"] if f["severity"] != "info"]
    assert not found, json.dumps(found, indent=1)


def test_the_same_numbers() -> None:
    program = str(EXAMPLES / "digits.py")
    steps = "--steps", "100"  # four epochs: what comes after does the same again
    outputs = [re.sub(r"[\d.]+ s\b", "", run(*options, program, *steps).stdout) for options in ((), ("--explain",))]
    assert outputs[0] == outputs[1]
    assert outputs[0]
