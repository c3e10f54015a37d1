"""A process that stays and measures when it is asked: two of them can take turns within a tenth of a second."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.machine import environment


class Runner:
    """``python -m MODULE ARGUMENTS``, which answers each line of its input by a line of JSON."""

    def __init__(self, module: str, *arguments: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", module, *arguments], env=environment(1, "unrestricted"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: object) -> Any:
        """What the process answers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process ended at {question!r}, exit status {self.process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
