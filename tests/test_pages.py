"""What the pages name is there: paths, links to files, modules, variables of the environment."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.exceptions import all_needed

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
# what a path is relative to; for short, pages leave out where the package lies
ROOMS = ("", "src", "src/wengert", "native")
# Words between slashes, or a name that ends as files here do; ``*`` and ``<family>`` stand for anything. Hidden folders
# (.venv, .ci) are the reader's, or not in the source distribution.
PATH = re.compile(r"(?![.<])(?:[\w.<>*-]+/)+[\w.<>*-]*|[\w*-][\w.*-]*\.(?:py|pyi|c|h|md|toml|json|svg|in)")
# What looks like a path and is the reader's.
OTHERS = {"train.py", "PAGE.md", "FILE.svg"}


def code(text: str) -> list[str]:
    """What stands in backticks, and the words of blocks of code."""
    blocks = re.findall(r"^```.*?^```", text, flags=re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [*re.findall(r"`([^`\n]+)`", rest), *(word for block in blocks for word in block.split())]


def paths(text: str) -> list[str]:
    return [word for span in code(text) for word in span.split() if PATH.fullmatch(word)]


def exists(path: str) -> bool:
    pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
    return any(next((ROOT / room).glob(pattern), None) for room in ROOMS)


def test_paths_are_found():
    text = ("`tensor/call.py`, `tests/`, `python -m benchmarks`, `ops.aten`, `gone.md`, `g / 2`, `x.py y`\n```\na/b.py "
        "`c`\n```\n")
    assert paths(text) == ["tensor/call.py", "tests/", "gone.md", "x.py", "a/b.py"]
    assert exists("tensor/call.py") and exists("tests/ops/samples/<family>.py") and not exists("docs/gone.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_paths_and_links(page):
    text = page.read_text(encoding="utf-8")
    gone = [path for path in paths(text) if path not in OTHERS and not exists(path)]
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    gone += [link for link in links if not (page.parent / link).exists()]
    assert not gone


def test_others_are_named():
    all_needed(OTHERS, [path for page in PAGES for path in paths(page.read_text(encoding="utf-8"))], "OTHERS")


def test_modules():
    named = {name for page in PAGES for span in code(page.read_text(encoding="utf-8"))
        for name in re.findall(r"\bwengert(?:\.[a-z_]+)+", span)}
    assert len(named) > 3
    for name in named:
        resolve_name(name)


def test_variables_of_the_environment():
    named = {name for page in PAGES for name in re.findall(r"\bWENGERT_[A-Z_]+", page.read_text(encoding="utf-8"))}
    sources = (
        [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")] + [
            *(ROOT / "native").glob("*.c")])
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert len(named) > 3 and not [name for name in named if f'"{name}"' not in text]


def test_examples_of_the_architecture_page():
    import doctest

    found = doctest.testfile(str(ROOT / "docs" / "architecture.md"), module_relative=False)
    assert found.attempted and not found.failed
