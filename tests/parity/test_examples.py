"""The examples, unmodified, on PyTorch and on wengert: the same losses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = 50
RELATIVE = 1e-4

pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed"),
]

RUNS = {
    "digits-cnn": ["digits.py"],
    "digits-mlp": ["digits.py", "--model", "mlp", "--seed", "1"],
    "char_gpt": ["char_gpt.py", "--sample", "20"],
    "vae": ["vae.py"],
    "lstm_text": ["lstm_text.py"],
    "lstm_text-layers": ["lstm_text.py", "--layers", "2", "--seed", "1"],
    "maml_sine": ["maml_sine.py"],
    "maml_sine-first-order": ["maml_sine.py", "--first-order"],
}


def on_wengert(*program):
    done = subprocess.run(
        [sys.executable, "-m", "wengert", "run", *program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(output):
    return [float(loss) for loss in re.findall(r"^step \d+ loss (\S+)", output, re.MULTILINE)]


@pytest.mark.parametrize("name", RUNS)
def test_the_same_losses(name, on_pytorch):
    script, *options = RUNS[name]
    program = [str(EXAMPLES / script), *options, "--steps", str(STEPS)]
    theirs, ours = losses(on_pytorch(*program)), losses(on_wengert(*program))
    assert len(ours) == len(theirs) == STEPS
    assert len(set(theirs)) > STEPS // 2  # it does train
    for step, (a, b) in enumerate(zip(ours, theirs), start=1):
        assert abs(a - b) <= RELATIVE * abs(b), f"step {step}: {a} on wengert, {b} on PyTorch"
