"""The lessons: what their pages show is what their code does, and each has the parts of a lesson."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def tool():
    spec = importlib.util.spec_from_file_location("lessons", ROOT / "tools" / "lessons.py")
    module = sys.modules["lessons"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lessons = tool()
PAGES = lessons.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_outputs(page):
    found = lessons.differences(page)
    assert not found, "run tools/lessons.py --write, and look at what changed\n" + "\n".join(found)


@pytest.mark.parity
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_outputs_are_those_of_pytorch(page):
    pytest.importorskip("torch")
    found = lessons.differences(page, "torch")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_parts(page):
    text = page.read_text(encoding="utf-8")
    shown = [output for block in lessons.blocks(text) for output in block.outputs]
    assert any(not output.startswith("```output") for output in shown), "a picture"
    assert "**You will learn**" in text and "<details><summary>Answer" in text and "def check(" in text
    assert re.search(r"^## Exercise", text, re.M) and re.search(r"^## What PyTorch", text, re.M)
    assert re.search(r"^## Further reading", text, re.M)
    assert page.name in (ROOT / "docs" / "lessons" / "README.md").read_text(encoding="utf-8")


def test_the_tape_has_sixty_lines():
    text = (ROOT / "docs" / "lessons" / "02_the_tape_in_60_lines.md").read_text(encoding="utf-8")
    tape = next(block for block in lessons.blocks(text) if block.is_code)
    assert 50 < len(tape.lines) <= 60


def test_all_pictures_are_shown():
    files = {f"images/{path.name}" for path in (ROOT / "docs" / "lessons" / "images").glob("*.svg")}
    shown = {name for page in PAGES for name in re.findall(r"\((images/.*?)\)", page.read_text(encoding="utf-8"))}
    assert files == shown


def test_a_page_is_its_blocks():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert lessons.page_of(lessons.blocks(text)) == text


@pytest.mark.parametrize(("written", "found", "wanted"), [
    ("loss 1.2345", "loss 1.2346", True),
    ("loss 1.2345", "loss 1.2545", False),
    ("loss 1.2345", "gain 1.2345", False),
    ("3 bytes", "4 bytes", False),
    ("about 3 ms", "about 5 ms", True),
    ("about 3 ms", "about 7 ms", False),
    ("[1., 2.]", "[1.]", False),
    ("nan", "1.0", False),
])
def test_comparison(written, found, wanted):
    assert lessons.same(written, found) is wanted


def test_a_changed_output_is_found(tmp_path, monkeypatch):
    page = tmp_path / "01_page.md"
    page.write_text("# Page\n\n```python\nprint(1 + 1)\n```\n```output\n3\n```\n")
    assert "page.md:4: the page has" in lessons.differences(page)[0]
    monkeypatch.setattr(lessons, "LESSONS", tmp_path)
    lessons.write(page)
    assert lessons.differences(page) == [] and "```output\n2\n```" in page.read_text()


def test_notebooks(tmp_path):
    jupytext = pytest.importorskip("jupytext")
    lessons.write_notebooks(PAGES[:2], tmp_path)
    made = jupytext.read(tmp_path / f"{PAGES[0].stem}.ipynb")
    cells = [cell for cell in made.cells if cell.cell_type == "code"]
    code = [block.code for block in lessons.blocks(PAGES[0].read_text(encoding="utf-8")) if block.is_code]
    assert [cell.source for cell in cells] == code and (tmp_path / "pictures.py").exists()
    assert any("image/svg+xml" in output.get("data", {}) for cell in cells for output in cell.outputs)
    assert not any("```output" in cell.source or "<details>" in cell.source for cell in made.cells)
