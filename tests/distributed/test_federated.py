"""The example of federated learning: every way learns, and compressed updates are smaller."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "federated.py"


@pytest.mark.skipif(find_spec("flwr") is None, reason="flwr is not installed; the extra wengert[flwr] brings it")
def test_clients_learn_together(tmp_path):
    done = subprocess.run([sys.executable, EXAMPLE, "--rounds", "8"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(.{16}) accuracy ([\d.]+)(?:, ([\d,]+) bytes sent)?$", done.stdout, re.MULTILINE)
    found = {name.strip(): (float(accuracy), int((sent or "0").replace(",", ""))) for name, accuracy, sent in rows}
    assert len(found) == 6, done.stdout
    assert min(accuracy for accuracy, _ in found.values()) > 0.7
    whole = found["FedAvg"][1]
    for name, most in (("topk", 0.15), ("int8", 0.3), ("onebit", 0.1)):
        assert 0 < found[f"FedAvg, {name}"][1] < most * whole
    assert (tmp_path / "federated.svg").read_text().count("polyline") == 11
