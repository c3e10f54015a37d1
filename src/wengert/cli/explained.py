"""``wengert run --explain``: its options, and the run of a program under diagnosis."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..diagnose.findings import Report

OPTIONS = """\
  --explain          diagnose the program, and report at its end what to fix and where
  --steps N          end it after N optimizer steps
  --json FILE        write the findings as JSON (- for standard output)
"""


class UsageError(Exception):
    """An option that is not there, or a value that it cannot have."""


@dataclass
class Options:
    """The options before the program's name."""

    explain: bool = False
    steps: int | None = None
    json: str | None = None


def parse(args: Sequence[str]) -> tuple[Options, list[str]]:
    """The options at the beginning of ``args``, and the rest."""
    options, rest = Options(), list(args)
    while rest and rest[0].startswith("--"):
        name, given, value = rest.pop(0).partition("=")
        if name == "--explain":
            options.explain = True
        elif name in ("--steps", "--json"):
            if not given:
                if not rest:
                    raise UsageError(f"{name} needs a value")
                value = rest.pop(0)
            options.explain = True
            if name == "--steps":
                if not value.isdigit() or not int(value):
                    raise UsageError(f"--steps needs a number of steps, not {value!r}")
                options.steps = int(value)
            else:
                options.json = value
        else:
            raise UsageError(f"no option {name!r}")
    return options, rest


def run(program: Callable[[], Any], options: Options, show: Callable[[BaseException], int]) -> int | str | None:
    """Run ``program`` under diagnosis, show its exception with ``show``, then the report; gives the exit code."""
    from ..diagnose import sessions
    from ..diagnose.watching import StepsDone

    sessions.begin(options.steps)
    code: int | str | None = 0
    raised: BaseException | None = None
    try:
        program()
    except StepsDone:
        pass
    except BaseException as error:
        raised = error
    copy = sessions.current is None  # a forked process that has come to the end of the program
    report = None if copy else sessions.end(raised)
    interrupted: BaseException | None = None
    if isinstance(raised, SystemExit):
        code = raised.code
    elif raised is not None:
        try:
            code = show(raised)
        except KeyboardInterrupt as error:
            interrupted = error
    if report is not None:
        deliver(report, options)
    if interrupted is not None:
        raise interrupted
    return code


def deliver(report: Report, options: Options) -> None:
    """Show and write the report."""
    sys.stdout.flush()
    print(f"\nwengert: {report}", file=sys.stderr)
    if options.json is not None:
        text = json.dumps(report.as_json(), indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(text)
