"""What the pages name is there: paths, links to files, modules, variables of the environment."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.exceptions import all_needed

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/lessons/*.md")])
# what a path is relative to; for short, pages leave out where the package lies
ROOMS = ("", "src", "src/wengert", "native")
# Words between slashes, or a name that ends as files here do; ``*`` and ``<family>`` stand for anything. Hidden folders
# (.venv, .ci) are the reader's, or not in the source distribution.
PATH = re.compile(r"(?![.<])(?:[\w.<>*-]+/)+[\w.<>*-]*|[\w*-][\w.*-]*\.(?:py|pyi|c|h|md|toml|json|svg|in)")
# What looks like a path and is the reader's.
OTHERS = {"digits.py", "train.py", "hubconf.py", "PAGE.md", "FILE.svg"}


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


MADE = {"_saved_self"}  # names that are put together from those of the declarations


def names(text: str) -> list[str]:
    """The identifiers in backticks outside of blocks; no paths and no expressions."""
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    spans = [span.removesuffix("()") for span in re.findall(r"`([^`\n]+)`", rest)]
    return [span for span in spans if re.fullmatch(r"[A-Za-z_][\w.]*=?", span) and not PATH.fullmatch(span)]


@functools.cache
def source_words() -> set[str]:
    """The words of the source, without comments and docstrings, and the names of its files and folders."""
    found = set()
    for path in (ROOT / "src").rglob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            found |= {*path.relative_to(ROOT / "src").with_suffix("").parts}
            text = re.sub(r'"""(?s:.*?)"""|#.*', "", path.read_text(encoding="utf-8"))
            found |= set(re.findall(r"\w+", text))
    return found


def test_names_are_found():
    assert names("`a.b`, `c()`, `d=`, `e.py`, `f g`, `x*y`\n```\n`h`\n```\n") == ["a.b", "c", "d="]
    assert "AccumulateGrad" in source_words()


def test_names_of_the_architecture_page_are_in_the_source():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(names(text)) > 30
    gone = [name for name in names(text) if name not in MADE
        and not {part for part in name.strip("=").split(".") if part != "torch"} <= source_words()]
    assert not gone


def test_declarations_of_the_architecture_page_are_those_of_the_source():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE) if ">>>" not in b]
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "wengert" / "ops").glob("*.py"))
    assert blocks and all(block in sources for block in blocks)


def test_variables_of_the_environment():
    named = {name for page in PAGES for name in re.findall(r"\bWENGERT_[A-Z_]+", page.read_text(encoding="utf-8"))}
    sources = (
        [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")] + [
            *(ROOT / "native").glob("*.c")])
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert len(named) > 3 and not [name for name in named if f'"{name}"' not in text]


@pytest.mark.parametrize("page", ["architecture", "coming-from-pytorch", "curvature", "getting-started", "memory"])
def test_examples(page, tmp_path, monkeypatch):
    import doctest

    if page == "curvature":
        pytest.importorskip("scipy")
    from wengert.arrays import memory

    if page == "memory" and not memory.available:
        pytest.skip("memory is counted by the native extension")
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(ROOT / "docs" / f"{page}.md"), module_relative=False)
    assert found.attempted and not found.failed


def test_the_version_is_the_same_everywhere():
    import wengert

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[\w.]*)\] - (\S+)$", changes, re.MULTILINE)
    version, date = released[0]
    assert version == wengert._version.__version__
    assert f"\nversion: {version}\n" in citation and f"\ndate-released: {date}\n" in citation
