#!/usr/bin/env python3
"""The field guide, ``docs/field-guide.md``: from its scripts, and what they show with PyTorch and with wengert.

usage: field_guide.py [--check]        write the page; --check: say what differs, and exit with 1

Each script of ``docs/field-guide`` is broken in one way and named after its verdict; those of ``folklore`` measure what
is often said. The texts are in ``verdicts.md`` and ``beliefs.md``. Both libraries run every script; PyTorch's part
needs torch.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "docs" / "field-guide"
PAGE = ROOT / "docs" / "field-guide.md"
INTRODUCTION = SCRIPTS / "introduction.md"


def scripts(folder: Path) -> list[Path]:
    """The scripts of a folder."""
    return sorted(folder.glob("*.py"))


# -- runs, in a process of their own -----------------------------------------------------------------------------------


def run(library: str) -> None:
    """Run every script with ``library`` in this process; prints what each shows as JSON."""
    import warnings

    warnings.simplefilter("ignore")
    os.chdir(SCRIPTS)
    if library == "wengert":
        from wengert.cli import alias

        alias.install()
    found = {path.name: shown(path, library) for path in scripts(SCRIPTS)}
    os.chdir(SCRIPTS / "folklore")
    found |= {f"folklore/{path.name}": printed(path)[0] for path in scripts(SCRIPTS / "folklore")}
    json.dump(found, sys.stdout)


def printed(path: Path) -> tuple[str, BaseException | None]:
    """What a script prints, with the last line of its exception; and that."""
    import torch

    torch.set_num_threads(1)
    out, raised = io.StringIO(), None
    main = sys.modules["__main__"]
    module = sys.modules["__main__"] = type(main)("__main__")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), module.__dict__)
    except Exception as error:
        raised = error
        out.write(f"{type(error).__name__}: {first_lines(str(error))}\n")
    finally:
        sys.modules["__main__"] = main
    return out.getvalue(), raised


def first_lines(message: str) -> str:
    """A message without the numbers below its first line."""
    return message.strip().partition("\n")[0]


def shown(path: Path, library: str) -> str:
    """What a user sees: with PyTorch the output, with wengert the report."""
    if library == "torch":
        return printed(path)[0]
    from wengert.diagnose import sessions

    sessions.begin()
    try:
        raised = printed(path)[1]
    finally:
        report = sessions.end(raised)
    return f"{report}\n"


def results(library: str) -> dict[str, str]:
    """What all scripts show with ``library``, by file name."""
    done = subprocess.run([sys.executable, __file__, "--run", library], capture_output=True, text=True, check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"})
    found: dict[str, str] = json.loads(done.stdout)
    return found


# -- the page ----------------------------------------------------------------------------------------------------------


def texts(file: Path) -> dict[str, tuple[str, str]]:
    """By the name of the script: title and text."""
    found = {}
    for part in file.read_text(encoding="utf-8").split("\n## ")[1:]:
        name, title, text = part.split("\n\n", 2)
        found[name] = title, text.strip()
    return found


def block(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def section(path: Path, text: tuple[str, str], torch: str, ours: str) -> str:
    """The section of a verdict."""
    program = block(path.read_text(encoding="utf-8"), "python")
    return (f"## {path.stem}\n\n**{text[0]}**\n\n{text[1]}\n\n{program}\n"
        f"PyTorch shows:\n\n{block(torch or '(nothing)')}\nwengert shows:\n\n{block(ours)}")


def folklore(path: Path, text: tuple[str, str], torch: str, ours: str) -> str:
    """The section of a belief."""
    shows = f"Both show:\n\n{block(torch)}" if torch == ours else (
        f"PyTorch shows:\n\n{block(torch)}\nwengert shows:\n\n{block(ours)}")
    program = block(path.read_text(encoding="utf-8"), "python")
    return f"### \u201c{text[0]}\u201d\n\n{text[1]}\n\n{program}\n{shows}"


def page(torch: dict[str, str], ours: dict[str, str]) -> str:
    """The whole page."""
    from wengert.diagnose.findings import VERDICTS

    names = [SCRIPTS / f"{verdict}.py" for verdict in VERDICTS]
    index = "\n".join(f"- [{p.stem}](#{p.stem}): {VERDICTS[p.stem][1]}" for p in names)
    rows = [INTRODUCTION.read_text(encoding="utf-8").rstrip(), f"## The verdicts\n\n{index}\n"]
    said, believed = texts(SCRIPTS / "verdicts.md"), texts(SCRIPTS / "folklore" / "beliefs.md")
    rows += [section(p, said[p.stem], torch[p.name], ours[p.name]) for p in names]
    rows.append("## Folklore, measured\n\nWhat is often said about autograd, and what both libraries do.\n")
    rows += [folklore(p, believed[p.stem], torch[f"folklore/{p.name}"], ours[f"folklore/{p.name}"])
        for p in scripts(SCRIPTS / "folklore")]
    return "\n\n".join(row.rstrip() for row in rows) + "\n"


def torch_parts(text: str) -> dict[str, str]:
    """What the page says that PyTorch shows, by file name: to check the rest without torch."""
    found: dict[str, str] = {}
    for path in [*scripts(SCRIPTS), *scripts(SCRIPTS / "folklore")]:
        inner = path.parent.name == "folklore"
        after = text[text.index(path.read_text(encoding="utf-8")) :]
        mark = "PyTorch shows:\n\n```\n"
        both = "Both show:\n\n```\n"
        at = min(i for i in (after.find(mark), after.find(both)) if i >= 0)
        begin = after.index("```\n", at) + 4
        shows = after[begin : after.index("\n```", begin)] + "\n"
        found[f"folklore/{path.name}" if inner else path.name] = "" if shows == "(nothing)\n" else shows
    return found


def main() -> int:
    """Write or check the page."""
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2])
        return 0
    if "--check" in sys.argv[1:]:
        found = differences(torch=True)
        print("\n".join(found))
        return bool(found)
    new = page(results("torch"), results("wengert"))
    PAGE.write_text(new, encoding="utf-8")
    return 0


def differences(torch: bool = False) -> list[str]:
    """What the page should say and does not, line by line; without ``torch`` only wengert's part is run.

    Measured times, and the lines that show them, are left out, and so are digits that rounding decides.
    """
    import difflib

    old = PAGE.read_text(encoding="utf-8")
    new = page(results("torch") if torch else torch_parts(old), results("wengert"))
    rows = [[TIMES.sub("", line) for line in text.splitlines() if not MEASURED.match(line)] for text in (old, new)]
    return list(difflib.unified_diff(*rows, "page", "now", lineterm=""))


TIMES = re.compile(r"[\d.]+ ?(?:%|\w*s of|m?s\b|\u00b5s)|(?<=\.\d{4})\d+")
MEASURED = re.compile(r"    .* takes [\d.]+ ")


if __name__ == "__main__":
    raise SystemExit(main())
