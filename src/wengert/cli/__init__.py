"""The command line: ``wengert COMMAND [ARGS...]``, the same as ``python -m wengert COMMAND [ARGS...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

# Each command is a module of this package with a function main(args) -> exit code, and a line for the help page.
COMMANDS = {
    "run": "run a PyTorch script, or a module with -m, on wengert",
    "torchrun": "run it in several processes, with torchrun's options",
    "examples": "list the example programs, and copy them",
    "doctor": "say what is installed and in use, and what is missing",
}

USAGE = """\
usage: wengert COMMAND [ARGS...]
       wengert --version
       wengert --help

commands:
{commands}

`wengert COMMAND --help` tells more.
"""


def main(argv: Sequence[str] | None = None) -> int | str | None:
    """Run one command and return what ``sys.exit`` shall be given; ``argv``: the arguments, else the process's."""
    import sys

    command, *args = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if command in ("-h", "--help"):
        print(_usage(), end="")
        return 0
    if command in ("-V", "--version"):
        from .._version import __version__
        from ..version import __version__ as surface

        print(f"wengert {__version__} (PyTorch surface {surface.partition('+')[0]})")
        return 0
    if command not in COMMANDS:
        from ..names.missing import hint

        kind = "option" if command.startswith("-") else "command"
        print(f"wengert: no {kind} {command!r}{hint(command, COMMANDS)}\n\n{_usage()}", end="", file=sys.stderr)
        return 2
    from importlib import import_module

    return import_module(f".{command}", __name__).main(args)


def _usage() -> str:
    return USAGE.format(commands="\n".join(f"  {name:<10} {line}" for name, line in COMMANDS.items()))
