"""Runs ``wengert run --explain`` many times: each time in a fork of this process, which has imported everything.

Reads a job a line from standard input, JSON with ``args`` (those of ``wengert``), ``cwd`` and ``log`` (the file for
what the program prints), and answers with the exit status of the program.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

import numpy  # noqa: F401  what programs import anyway

from wengert import version  # noqa: F401
from wengert.cli import alias, explained, main, run, spawn  # noqa: F401
from wengert.diagnose import rules, sessions  # noqa: F401
from wengert.diagnose.outputs import as_json, github, terminal  # noqa: F401

rules.all_rules()


def work(job: dict) -> None:
    """Run a job in this process, to its end."""
    out = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(job["cwd"])
    code: object = 1
    try:
        code = main(job["args"])
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if not child:
        work(job)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
