"""PyTorch, with less of what takes time: seeds are for the processor, and programs are run by a process that stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def ask_for_nothing(call: object, **kind: bool) -> None:
    """What a device that is not there shall do once it is."""


# ``torch.manual_seed`` notes each seed for devices that are not there, with a traceback in words: milliseconds, of
# which a test of random calls spent three quarters.
for device, place in ((torch.cuda, torch.cuda.random), (torch.xpu, torch.xpu.random), (torch.mtia, torch.mtia)):
    if not device.is_available():
        assert callable(place._lazy_call)
        place._lazy_call = ask_for_nothing


@pytest.fixture(scope="session")
def on_pytorch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Runs a program, with its arguments, and gives what it has printed: see ``runner.py``."""
    folder = tmp_path_factory.mktemp("programs")
    out, err = folder / "out", folder / "err"
    process = subprocess.Popen([sys.executable, "-P", Path(__file__).with_name("runner.py")], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"})

    def run(*program: str) -> str:
        process.stdin.write(json.dumps({"program": program, "out": str(out), "err": str(err)}) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "0\n", err.read_text()
        return out.read_text()

    with process:
        yield run
        process.stdin.close()
