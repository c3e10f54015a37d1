"""The field guide: what its scripts show is what it says, and every verdict has its page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wengert.diagnose.findings import VERDICTS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import field_guide  # noqa: E402


def test_every_verdict_has_a_script_and_a_text() -> None:
    texts = field_guide.texts(field_guide.SCRIPTS / "verdicts.md")
    assert sorted(p.stem for p in field_guide.scripts(field_guide.SCRIPTS)) == sorted(VERDICTS) == sorted(texts)


def test_the_page_says_what_wengert_shows() -> None:
    assert field_guide.differences() == []


@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_script_shows_its_verdict(verdict: str) -> None:
    page = field_guide.PAGE.read_text(encoding="utf-8")
    section = page.split(f"\n## {verdict}\n")[1].split("\n## ")[0]
    shown = section.split("wengert shows:")[1]
    found = [line for line in shown.splitlines() if line.endswith("]") and f"{verdict}.py:" in line]
    assert found, shown
    assert all(line.endswith(f"[{verdict}]") for line in found)
