"""Libraries written for PyTorch, on PyTorch and on wengert: the same numbers; and a diagnosis without warnings.

``libraries/lock.txt`` has the versions. A library that is not installed is skipped; with
``WENGERT_REQUIRE_LIBRARIES=1`` that is a failure.
"""

from __future__ import annotations

import json
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


def run(*command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-P", *command], capture_output=True, text=True, timeout=300,
        env=environment)
    assert done.returncode == 0, done.stderr
    return done


def numbers(output):
    return [float(n) for n in re.findall(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", output)]


@pytest.fixture(params=sorted(p.stem for p in PROGRAMS.glob("*.py")))
def path(request):
    if find_spec(request.param) is None and os.environ.get("WENGERT_REQUIRE_LIBRARIES") != "1":
        pytest.skip(f"{request.param} is not installed")
    return str(PROGRAMS / f"{request.param}.py")


def test_the_same_numbers(path, on_pytorch):
    theirs, ours = numbers(on_pytorch(path)), numbers(run("-m", "wengert", "run", path).stdout)
    assert len(theirs) > 3
    assert ours == pytest.approx(theirs, rel=RELATIVE, abs=ABSOLUTE)


def test_healthy(path, tmp_path):
    out = tmp_path / "findings.json"
    done = run("-m", "wengert", "run", "--explain", "--json", str(out), path)
    assert "internal" not in done.stderr
    found = [f for f in json.loads(out.read_text())["findings"] if f["severity"] != "info"]
    assert not found, json.dumps(found, indent=1)
