"""The pictures of docs/draw.md are what its program draws."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.draw.test_texts import SVG, needs_layout
from wengert.arrays import memory

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"-?\d[\d.e-]*")


@pytest.fixture(scope="module")
def pictures():
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "draw" / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PICTURES


def drawn(text):
    """What stands in a picture, box by box and line by line, gradients apart; and the numbers of these."""
    groups = [(g.get("class"), *("".join(e.itertext()) for e in g)) for g in ET.fromstring(text).iter(f"{SVG}g")]
    shown = [[part for part in g if part] for g in groups if g[0]]
    plain = sorted(["∇" if "∇" in t else "grad" if t.startswith("grad") else t.partition("\nnorm of")[0] for t in g]
        for g in shown)
    return plain, [float(x) for g in sorted(shown) for t in g if "∇" in t for x in NUMBER.findall(t)]


@needs_layout
@pytest.mark.parametrize("name", ["graph", "network", "folded"])
def test_graphs(pictures, name):
    now, stored = (drawn(text) for text in (pictures[name]().svg(),
        (DOCS / "draw" / f"{name}.svg").read_text(encoding="utf-8")))
    assert now[0] == stored[0]
    assert sorted(now[1]) == pytest.approx(sorted(stored[1]), rel=0.02)
    assert bool(now[1]) is (name != "folded")


@pytest.mark.skipif(not memory.available, reason="memory is counted by the native extension")
def test_step(pictures):
    def names(text):
        return {"".join(p.itertext()) for p in ET.fromstring(text).iter(f"{SVG}polygon")}

    stored = names((DOCS / "draw" / "step.svg").read_text(encoding="utf-8"))
    found = names(pictures["step"]().svg())
    assert {n for n in found if "pictures.py" in n} == {n for n in stored if "pictures.py" in n}
    assert {"parameters", "gradients", "optimizer state", "gradients on their way"} <= found & stored


def test_the_page_shows_them(pictures):
    page = (DOCS / "draw.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(draw/(\w+)\.svg\)", page) == list(pictures)
