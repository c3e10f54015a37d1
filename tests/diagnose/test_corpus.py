"""The corpus: in broken scripts every expected finding is made, with its line and parameters; in healthy ones none is.

What is expected stands in the scripts. At the end of the line to fix::

    h = h.detach()  # expect: cut-detach first.weight first.bias

names the verdict and the parameters (any order; none: they are not compared). ``# or: ID`` on another line says that
the finding may as well point there. A folder is a program of several files, which begins with ``main.py``. Every
finding of severity warning or above that is not expected is a failure too. The programs of ``missed`` are
broken in ways that the diagnosis does not see yet.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPUS = Path(__file__).parent / "corpus"


@dataclass
class Expected:
    """A finding that a script shall have: its verdict, the places that it may be at, and its parameters."""

    id: str
    places: set[tuple[str, int]] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)


def programs(kind: str) -> list[Path]:
    """The scripts and folders of the corpus."""
    return sorted(p for p in (CORPUS / kind).glob("*") if p.suffix == ".py" or (p / "main.py").exists())


def expectations(program: Path) -> list[Expected]:
    """What the marks in a program say."""
    found: dict[str, Expected] = {}
    others: list[tuple[str, tuple[str, int]]] = []
    for file in sorted(program.rglob("*.py")) if program.is_dir() else [program]:
        for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for mark, verdict, names in re.findall(r"# (expect|or): ([\w-]+)((?: [\w.\[\]]+)*)", text):
                where = file.name, number
                if mark == "or":
                    others.append((verdict, where))
                    continue
                expected = found.setdefault(verdict, Expected(verdict))
                expected.places.add(where)
                expected.parameters.update(names.split())
    for verdict, where in others:
        found[verdict].places.add(where)
    return list(found.values())


def first_of_each_verdict() -> Iterator[object]:
    """The broken programs; those that expect what others before them do are marked ``again``."""
    known: set[str] = set()
    for program in programs("broken"):
        ids = {expected.id for expected in expectations(program)}
        yield pytest.param(program, marks=[pytest.mark.again] if ids <= known else [])
        known |= ids


def every_tenth(kind: str) -> Iterator[object]:
    """The programs of a kind; nine of ten are marked ``again``."""
    for i, program in enumerate(programs(kind)):
        yield pytest.param(program, marks=[pytest.mark.again] if i % 10 else [])


@pytest.fixture(scope="module")
def runner() -> Iterator[subprocess.Popen[str]]:
    """The process that runs programs: see ``runner.py``."""
    process = subprocess.Popen([sys.executable, Path(__file__).with_name("runner.py")], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    with process:
        yield process
        process.stdin.close()


def diagnosed(runner: subprocess.Popen[str], program: Path, tmp_path: Path) -> list[dict]:
    """The findings of ``wengert run --explain`` on a program."""
    script, out, log = program / "main.py" if program.is_dir() else program, tmp_path / "out.json", tmp_path / "log"
    args = ["run", "--explain", "--json", str(out), str(script)]
    runner.stdin.write(json.dumps({"args": args, "cwd": str(tmp_path), "log": str(log)}) + "\n")
    runner.stdin.flush()
    assert runner.stdout.readline(), "the runner has died"
    assert out.exists(), log.read_text()
    report = json.loads(out.read_text())
    assert "internal_errors" not in report["summary"], report["summary"]["internal_errors"]
    return report["findings"]


@pytest.mark.parametrize("program", first_of_each_verdict(), ids=lambda p: p.stem)
def test_broken(runner: subprocess.Popen[str], program: Path, tmp_path: Path) -> None:
    found = diagnosed(runner, program, tmp_path)
    wanted = expectations(program)
    assert wanted, "the script does not say what is expected"
    rest = list(found)
    for expected in wanted:
        hits = [f for f in rest if f["id"] == expected.id
            and (Path(f["file"]).name, f["line"]) in expected.places
            and (not expected.parameters or set(f["parameters"]) == expected.parameters)]
        assert hits, f"expected {expected}, found {json.dumps(found, indent=1)}"
        rest = [f for f in rest if f not in hits]
    rest = [f for f in rest if f["severity"] != "info"]
    assert not rest, f"not expected: {json.dumps(rest, indent=1)}"


@pytest.mark.xfail(strict=True, reason="known: nothing, or something else, is found")
@pytest.mark.parametrize("program", programs("missed"), ids=lambda p: p.stem)
def test_missed(runner: subprocess.Popen[str], program: Path, tmp_path: Path) -> None:
    test_broken(runner, program, tmp_path)


@pytest.mark.parametrize("program", every_tenth("healthy"), ids=lambda p: p.stem)
def test_healthy(runner: subprocess.Popen[str], program: Path, tmp_path: Path) -> None:
    found = [f for f in diagnosed(runner, program, tmp_path) if f["severity"] != "info"]
    assert not found, json.dumps(found, indent=1)
