"""Libraries that are written for PyTorch, on PyTorch and on wengert: the same numbers.

``libraries/lock.txt`` has the versions. A library that is not installed is skipped; with
``WENGERT_REQUIRE_LIBRARIES=1`` that is a failure.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("libraries")
RELATIVE, ABSOLUTE = 2e-3, 1e-6  # float32, after some steps of training

pytestmark = pytest.mark.parity


def numbers(command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return [float(n) for n in re.findall(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", done.stdout)]


@pytest.mark.parametrize("program", sorted(p.stem for p in PROGRAMS.glob("*.py")))
def test_the_same_numbers(program):
    if find_spec(program) is None and os.environ.get("WENGERT_REQUIRE_LIBRARIES") != "1":
        pytest.skip(f"{program} is not installed")
    path = str(PROGRAMS / f"{program}.py")
    theirs, ours = numbers([sys.executable, "-P", path]), numbers([sys.executable, "-P", "-m", "wengert", "run", path])
    assert len(theirs) > 3
    assert ours == pytest.approx(theirs, rel=RELATIVE, abs=ABSOLUTE)
