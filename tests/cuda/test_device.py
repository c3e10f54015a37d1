"""The checks of tensors on a device, ``device_checks.py``: on strict arrays, and on a GPU where there is one.

They run in a process of their own, for a device that was once in use stays known.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import wengert as torch

HERE = Path(__file__).parent
CHECKS = re.findall(r"^def (test_\w+)", (HERE / "device_checks.py").read_text(encoding="utf-8"), re.MULTILINE)


@cache
def outcomes(device: str) -> dict[str, Any]:
    """What each check came to, and the whole output."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist",
        str(HERE / "device_checks.py")], capture_output=True, text=True, cwd=HERE.parents[1],
        env={**{k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}, "WENGERT_CUDA": device})
    found: dict[str, Any] = {"": done.stdout + done.stderr}
    for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) \S*::(\w+)", done.stdout, re.MULTILINE):
        found.setdefault(name, set()).add(outcome)
    return found


@pytest.mark.parametrize("name", CHECKS)
def test_on_strict_arrays(name: str) -> None:
    found = outcomes("fake")
    assert found.get(name) == {"PASSED"}, found[""][-20000:]


@pytest.mark.cuda
@pytest.mark.parametrize("name", CHECKS)
def test_on_a_gpu(name: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip(f"no CUDA device: {reason()}")
    found = outcomes("real")
    assert found.get(name, set()) <= {"PASSED", "SKIPPED"}, found[""][-20000:]


def reason() -> str:
    from wengert.cuda.found import missing

    return str(missing())


def test_the_program_for_a_machine_with_a_gpu(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.cuda.on_device", "--fake", "--quick", "--out", str(tmp_path)],
        capture_output=True, text=True, cwd=HERE.parents[1])
    assert done.returncode == 0 and done.stdout.endswith("nothing failed\n"), done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert set(report) == {"machine", "times", "trainings", "gradients", "checks", "table"}
    assert report["table"]["operators"] > 0 and report["trainings"]["gpt"]["gap"] < 1e-8
