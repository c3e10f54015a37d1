"""The pages of documentation: how they are translated, that links are checked, and what is said of missing names."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "tools" / "site"


@pytest.fixture
def tool(monkeypatch):
    """Imports a file of ``tools/site``, whose names are short."""
    monkeypatch.syspath_prepend(str(TOOLS))
    before = set(sys.modules)

    yield importlib.import_module

    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(TOOLS)):
            del sys.modules[name]


def test_lists_and_tables_stand_apart(tool):
    translated = tool("github").translated
    assert translated("Text\n- one\n  more\n- two\n\nText\n| a |\n|---|", str) == (
        "Text\n\n- one\n    more\n- two\n\nText\n\n| a |\n|---|")


def test_code_in_a_list_belongs_to_it(tool):
    translated = tool("github").translated
    text = "1. do\n\n   ```python\n   x = 1\n     y\n   ```\n\n```\n- no list, [no](link)\n```"
    assert translated(text, lambda link: None) == (
        "1. do\n\n    ```python\n    x = 1\n      y\n    ```\n\n```\n- no list, [no](link)\n```")


def test_links_are_replaced_and_paths_read_as_words(tool):
    translated = tool("github").translated
    where = {"docs/field-guide.md": "field-guide.md", "pic.svg": "pic.svg"}
    text = "[docs/field-guide.md](docs/field-guide.md), ![`a[0]`](pic.svg), [gone](src/x)"
    assert translated(text, where.get) == "[field guide](field-guide.md), ![`a[0]`](pic.svg), gone"
    assert translated("`x[0](y)`, [over\ntwo lines](y)", {"y": "z"}.get) == "`x[0](y)`, [over\ntwo lines](z)"


def test_dead_links_are_found(tool, tmp_path):
    links = tool("links")
    (tmp_path / "a.html").write_text('<h1 id="top">a</h1><a href="b.html#x">1</a><a href="b.html#y">2</a>'
        '<a href="c.html">3</a><a href="https://elsewhere.org">4</a><script src="https://cdn.org/x.js"></script>'
        '<img src="no.svg"><a href="#top">5</a>')
    (tmp_path / "b.html").write_text('<h2 id="x">b</h2>')
    assert sorted(links.problems(tmp_path)) == ["a.html loads https://cdn.org/x.js", "a.html: no anchor b.html#y",
        "a.html: no c.html", "a.html: no no.svg"]


def test_every_missing_name_has_a_reason(tool):
    coverage = tool("coverage_page")
    found = coverage.found()
    assert [name for name, (state, why) in found.items() if state != "=" and not why] == []
    used = Counter(why for state, why in found.values() if state != "=")
    assert [why for _, why in coverage.REASONS if not used[why]] == []
    text = coverage.page()
    assert f"{len(found)} public names" in text and "`torch.utils.hipify`" in text
    assert "\n### torch.jit " in text and "\n### torch.distributions " not in text


@pytest.mark.parity
def test_the_public_names_are_pytorchs(tool):
    pytest.importorskip("torch")
    program = "import json, names; print(json.dumps(names.collected()))"
    done = subprocess.run([sys.executable, "-c", program], cwd=TOOLS, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == tool("names").stored(), "run `python tools/site/names.py`"
