"""``wengert examples``: the example programs, which come with the package."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
usage: wengert examples
       wengert examples NAME... [--to DIR] [--force]
       wengert examples --all [--to DIR] [--force]

List the example programs, or copy some of them to DIR (here by default). Files that are there stay as they are unless
--force is given. The programs download nothing.
"""


class UsageError(Exception):
    """Something is wrong with the arguments."""


def main(args: Sequence[str]) -> int:
    """List or copy, and return the exit code."""
    if args and args[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    try:
        names, to, force = _parse(list(args))
        return _copy(names, to, force) if names else _list()
    except UsageError as error:
        print(f"wengert examples: {error}", file=sys.stderr)
        return 2


def folder() -> Path:
    """Where the programs are: beside this file in an installed package, at the top of a source tree otherwise."""
    packaged = Path(__file__).with_name("examples")
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[3] / "examples"


def programs() -> dict[str, Path]:
    """The programs by name."""
    return {path.stem: path for path in sorted(folder().glob("*.py"))}


def command(path: Path) -> str:
    """How the program in the file ``path`` is run."""
    needs_alias = re.search(r"^(import|from) torch\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    return f"{'wengert run' if needs_alias else 'python'} {path}"


def _parse(args: list[str]) -> tuple[list[str], Path, bool]:
    names: list[str] = []
    to, force = Path(), False
    known = programs()
    while args:
        match args.pop(0):
            case "--to":
                if not args:
                    raise UsageError("--to needs a folder")
                to = Path(args.pop(0))
            case "--force":
                force = True
            case "--all":
                names += known
            case option if option.startswith("-"):
                raise UsageError(f"no option {option!r}\n\n{USAGE.rstrip()}")
            case name:
                stem = name.removesuffix(".py")
                if stem not in known:
                    from ..names.missing import hint

                    raise UsageError(f"no example {name!r}{hint(stem, known)}; `wengert examples` lists them")
                names.append(stem)
    return list(dict.fromkeys(names)), to, force


# Modules that examples import, and the extras that bring them.
EXTRAS = {"sklearn": "examples", "wengert.curvature": "curvature", "flwr": "flwr"}


def _list() -> int:
    found = programs()
    width = max(map(len, found), default=0)
    for name, path in found.items():
        text = path.read_text(encoding="utf-8")
        line = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].rstrip(".")
        extras = ",".join(extra for module, extra in EXTRAS.items()
            if re.search(rf"^(import|from) {module}\b", text, re.MULTILINE))
        print(f"{name:<{width}}  {line}" + (f" (needs wengert[{extras}])" if extras else ""))
    print("\n`wengert examples NAME` copies one here.")
    return 0


def _copy(names: list[str], to: Path, force: bool) -> int:
    found = programs()
    targets = {name: to / found[name].name for name in names}
    there = [str(path) for path in targets.values() if path.exists()]
    if there and not force:
        raise UsageError(f"{', '.join(there)} is there already; --force overwrites it")
    to.mkdir(parents=True, exist_ok=True)
    for name, path in targets.items():
        path.write_bytes(found[name].read_bytes())
        print(f"{path}: run it by `{command(path)}`")
    return 0
