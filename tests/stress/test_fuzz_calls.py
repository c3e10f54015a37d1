"""Random calls of all public functions, with values of every kind: errors tell of arguments, never of what is inside.

The calls are made in processes of their own (``fuzz_program.py``), with a limit of memory and of time for each call.
``--slow`` makes 20,000 calls, with the seeds that ``WENGERT_FUZZ_SEEDS`` names (such as ``1,2,3``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("fuzz_program.py")
SEEDS = [int(s) for s in os.environ.get("WENGERT_FUZZ_SEEDS", "1").split(",")]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are POSIX's")


def make_calls(
    program: Path, given: list[int], first: int, last: int, report: Path
) -> tuple[int, list[dict[str, Any]]]:
    """How many calls the last process made, and what was found. Where one does not survive a call, another goes on."""
    lost: list[dict[str, Any]] = []
    while first < last:
        run = subprocess.run(
            [sys.executable, str(program), *map(str, given), str(first), str(last), str(report)],
            capture_output=True, text=True, errors="replace",
        )
        if run.returncode == 0:
            break
        at = int(Path(f"{report}.at").read_text())
        lost.append({"call": at, "found": f"the process ended with {run.returncode}: {run.stderr[-1500:]}"})
        first = at + 1
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    return sum(line.get("calls", 0) for line in lines), lost + [line for line in lines if "found" in line]


def check(seed: int, calls: int, tmp_path: Path) -> None:
    _, found = make_calls(PROGRAM, [seed], 0, calls, tmp_path / "report")
    listed = "\n".join(f"{f['call']} {f.get('text', '')}\n    {f['found']}" for f in found)
    assert not found, f"{len(found)} of {calls} calls (seed {seed}):\n{listed}"


def test_some_random_calls(tmp_path: Path) -> None:
    check(7, 400, tmp_path)


def test_integers_at_the_limits(tmp_path: Path) -> None:
    """Sizes, strides, dimensions and counts of 32 and 64 bits and beyond: no crash, no hang, no internal error."""
    calls, found = make_calls(PROGRAM.with_name("huge_program.py"), [], 0, 10**6, tmp_path / "report")
    listed = "\n".join(f"{f['call']} {f.get('text', '')}\n    {f['found']}" for f in found)
    assert calls > 2000 and not found, f"{len(found)} of {calls} calls:\n{listed}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_random_calls(seed: int, tmp_path: Path) -> None:
    check(seed, 20_000, tmp_path)
