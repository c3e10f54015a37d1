"""Runs programs on PyTorch: each in a fork of this process, which has imported what takes seconds in each.

Reads a job a line from standard input, JSON with ``program``, its path and arguments, and ``out`` and ``err``, the
files for what it prints, and answers with its exit status.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import traceback

import torch._dynamo

SECONDS = 300


def work(job: dict) -> None:
    """Run a job in this process, to its end."""
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.argv = job["program"]
    code: object = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


assert torch._dynamo, "which an optimizer imports when it is first used"
for line in sys.stdin:
    child = os.fork()
    if not child:
        work(json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
