"""The example programs, short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*command):
    done = subprocess.run([sys.executable, str(EXAMPLES / command[0]), *command[1:]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_spectrum(tmp_path):
    pytest.importorskip("sklearn")
    picture = tmp_path / "spectrum.svg"
    said = run("spectrum.py", "--hidden", "8", "--steps", "60", "--probes", "1", "--out", str(picture))
    assert re.search(r"^largest eigenvalues \d", said, re.MULTILINE)
    assert picture.read_text().startswith("<svg") and picture.read_text().count("<path") == 12


def test_newton_and_adam():
    adam, newton = re.findall(r"(?:Adam|Newton-CG) (\S+?)(?:,|\n)", run("newton_cg.py", "--gradients", "400"))
    assert 0 < float(adam) < 0.4 and 0 < float(newton) < 0.4
