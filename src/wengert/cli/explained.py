"""``wengert run --explain``: its options, and the run of a program under diagnosis."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..diagnose.findings import Report

OPTIONS = """\
options, which stand before the program:
  --explain          diagnose the program, and report at its end what to fix and where
  --steps N          end it after N optimizer steps
  --json FILE        write the findings as JSON (- for standard output)
  --sarif FILE       write them as SARIF, for code-scanning services
  --html FILE        write them as a page
  --github           annotate the lines in a GitHub workflow (done by itself where GITHUB_ACTIONS is true)
  --fail-on LEVEL    exit with 1 if there is an error (or: warning, info) or a graver finding
  --cuda=cpu         let a program that insists on a GPU run on the CPU

Each of them but --cuda implies --explain.
"""

FILES = ("json", "sarif", "html")
SEVERITIES = ("info", "warning", "error")


class UsageError(Exception):
    """An option that is not there, or a value that it cannot have."""


@dataclass
class Options:
    """The options before the program's name. ``files``: where to write each form of the report."""

    explain: bool = False
    steps: int | None = None
    files: dict[str, str] = field(default_factory=dict)
    github: bool = False
    fail_on: str = ""
    cuda: str = ""


def parse(args: Sequence[str]) -> tuple[Options, list[str]]:
    """The options at the beginning of ``args``, and the rest."""
    options, rest = Options(), list(args)
    while rest and rest[0].startswith("--") and rest[0] != "--":
        name, given, value = rest.pop(0).partition("=")
        if name in ("--explain", "--github"):
            if given:
                raise UsageError(f"{name} takes no value")
        elif name[2:] in (*FILES, "steps", "fail-on", "cuda"):
            if not given:
                if not rest:
                    raise UsageError(f"{name} needs a value")
                value = rest.pop(0)
        else:
            raise UsageError(f"no option {name!r}")
        _take(options, name[2:], value)
    return options, rest


def _take(options: Options, name: str, value: str) -> None:
    options.explain = options.explain or name != "cuda"
    if name == "github":
        options.github = True
    elif name == "steps":
        if not value.isdecimal() or not int(value):
            raise UsageError(f"--steps needs a number of steps, not {value!r}")
        options.steps = int(value)
    elif name == "fail-on":
        if value not in SEVERITIES:
            raise UsageError(f"--fail-on needs one of error, warning and info, not {value!r}")
        options.fail_on = value
    elif name == "cuda":
        if value != "cpu":
            raise UsageError(f"--cuda takes cpu, not {value!r}")
        options.cuda = value
    elif name in FILES:
        options.files[name] = _file(name, value)


def _file(name: str, value: str) -> str:
    """The path of a file to write, which the program cannot change by going to another folder."""
    if value == "-":
        return value
    path = os.path.abspath(value)
    if not value or os.path.isdir(path):
        raise UsageError(f"--{name} needs the name of a file, not {value!r}")
    if not os.path.isdir(os.path.dirname(path)):
        raise UsageError(f"--{name}: there is no folder {os.path.dirname(path)!r}")
    return path


def run(program: Callable[[], Any], options: Options, show: Callable[[BaseException], int]) -> int | str | None:
    """Run ``program`` under diagnosis, show its exception with ``show``, then the report; gives the exit code."""
    from ..diagnose import sessions
    from ..diagnose.watching import StepsDone

    process, code, ended = os.getpid(), 0, "exit"
    interrupted: KeyboardInterrupt | None = None
    sessions.begin(options.steps).joins = True
    try:
        program()
    except StepsDone:
        ended = "steps"
    except SystemExit as error:
        if os.getpid() != process:
            raise
        code = exit_code(error.code)
    except BaseException as error:
        ended = "interrupt" if isinstance(error, KeyboardInterrupt) else "exception"
        if os.getpid() == process:
            sessions.explain_error(error)
        try:
            code = show(error)
        except KeyboardInterrupt as again:
            interrupted = again
    if os.getpid() == process:  # a fork that comes here is another process, whose parent reports
        _wait_for_threads()
        report = sessions.end()
        done = ended == "exit" and options.steps is not None and report.summary["steps"] >= options.steps
        report.summary["ended"] = "steps" if done else ended
        if not deliver(report, options) or (options.fail_on and report.at_least(options.fail_on)):
            code = code or 1
    if interrupted is not None:
        raise interrupted
    return code


def flush() -> None:
    """What the program has printed comes first."""
    try:
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):  # there is none, nobody reads it, it is closed
        pass


def exit_code(value: Any) -> int:
    """The exit code that ``python`` gives ``SystemExit(value)``; a text is shown as it does."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    flush()
    print(value, file=sys.stderr)
    return 1


def _wait_for_threads() -> None:
    """The program ends when its threads do."""
    import threading

    try:
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
    except KeyboardInterrupt:
        pass


def deliver(report: Report, options: Options) -> bool:
    """Show and write the report; whether all of it could be done. What cannot be done is said."""
    from ..diagnose.outputs import github, terminal, write

    done = True
    flush()
    try:
        stream = terminal.stream()
        terminal.show(report, stream)
        if options.github or os.environ.get("GITHUB_ACTIONS") == "true":
            github.show(report, stream)
    except Exception as error:
        done = False
        fail(f"the report: {type(error).__name__}: {error}")
    for kind, path in options.files.items():
        try:
            write(kind, report, path)
        except Exception as error:
            done = False
            fail(f"--{kind} {path}: {type(error).__name__}: {error}")
    return done


def fail(text: str) -> None:
    """Say what could not be done, if anybody listens."""
    try:
        print(f"wengert: {text}", file=sys.__stderr__, flush=True)
    except (OSError, ValueError):
        pass
