"""Pictures as DOT, Mermaid and SVG: that they are well-formed, whatever names there are, and say what they shall."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import wengert as torch
from tests.draw.nets import chain, net
from wengert.draw import layout
from wengert.draw.dot import to_lay_out
from wengert.draw.layout import Layout, NoLayoutError, lay_out, programs, read
from wengert.draw.svg import box_size

HAS = bool(programs())
needs_layout = pytest.mark.skipif(not HAS and os.environ.get("WENGERT_REQUIRE_LAYOUT") != "1",
    reason="needs dot or graphviz-pure")
SVG = "{http://www.w3.org/2000/svg}"
BAD = 'a "quoted" <b>&amp; \\name\\ #1; `x` [y] {z} | é ≈ \n second'


@pytest.fixture
def drawing():
    made = torch.draw(net(), torch.ones(5, 3))
    made.result.sum().backward()
    return made


def odd():
    return torch.draw((t := torch.ones(2, requires_grad=True)).exp().sum(), names={BAD: t})


def texts(svg):
    return ["".join(e.itertext()) for e in ET.fromstring(svg).iter(f"{SVG}text")]


@needs_layout
def test_svg(drawing):
    root = ET.fromstring(drawing.svg())
    assert root.tag == f"{SVG}svg" and root.get("role") == "img" and "15 leaves" not in root.get("aria-label")
    boxes = [g for g in root.iter(f"{SVG}g") if g.get("class") in ("operation", "leaf", "input", "result", "fold")]
    assert len(boxes) == len(drawing.picture.boxes) == len(drawing.graph.items)
    assert all(g.find(f"{SVG}title") is not None for g in boxes)
    lines = [g for g in root.iter(f"{SVG}g") if g.find(f"{SVG}path") is not None]
    assert len(lines) == len(drawing.picture.lines)
    shown = texts(drawing.svg())
    assert {"first.weight", "NativeLayerNormBackward0", "blocks.0 · Block", "result"} <= set(shown)
    assert any(t.startswith("∇ ") for t in shown)


@needs_layout
def test_svg_of_odd_names():
    drawing = odd()
    (leaf,) = (t for t in texts(drawing.svg()) if t.startswith('a "quoted"'))
    assert "<b>&amp;" in leaf
    assert drawing._repr_svg_() == drawing.svg()


@needs_layout
@pytest.mark.parametrize("what", [lambda: torch.ones(2), lambda: torch.ones(2, requires_grad=True),
    lambda: chain(3000)])
def test_svg_of_others(what):
    found = ET.fromstring(torch.draw(what()).svg())
    assert found.tag == f"{SVG}svg"
    assert float(found.get("width", "0").removesuffix("px")) > 0


@needs_layout
def test_the_norm_of_a_gradient_shows():
    x = torch.tensor([0.0, 0.0], requires_grad=True)
    drawing = torch.draw(loss := (x * 0).sum() + x.sqrt().sum() + (x * 2).sum())
    loss.backward()
    kinds_and_widths = {(g.get("class"), float(g.find(f"{SVG}path").get("stroke-width")))
        for g in ET.fromstring(drawing.svg()).iter(f"{SVG}g") if g.find(f"{SVG}path") is not None}
    assert {"with", "with bad", "with zero", ""} == {kind for kind, _ in kinds_and_widths}
    assert max(w for kind, w in kinds_and_widths if kind == "with") == 3.5


@needs_layout
def test_layout(drawing):
    sizes = [box_size(c) for c in drawing._captions()]
    found = lay_out(to_lay_out(drawing.picture, sizes))
    assert isinstance(found, Layout) and len(found.boxes) == len(sizes)
    corners = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(found.boxes, sizes)]
    for i, a in enumerate(corners):
        assert a[0] > -1 and a[1] > -1 and a[2] < found.width + 1 and a[3] < found.height + 1
        for b in corners[:i]:
            assert a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1, "boxes overlap"
    for line in drawing.picture.lines:  # values flow down
        assert found.boxes[line.source][1] < found.boxes[line.target][1]
    assert set(found.lines) == {(line.source, line.target) for line in drawing.picture.lines}


def test_read():
    found = read({"bb": "0,0,100,50", "objects": [{"name": "cluster_0", "bb": "1,2,30,40", "_gvid": 0},
        {"name": "b0", "pos": "10,40", "_gvid": 1}, {"name": "b1", "pos": "10,5", "_gvid": 2}],
        "edges": [{"tail": 1, "head": 2, "pos": "e,10,6 10,30 10,20 10,15 10,10", "lp": "14,20"}]})
    assert found == Layout(100, 50, [(10, 10), (10, 45)], [(1, 10, 30, 48)],
        {(0, 1): ([(10, 20), (10, 30), (10, 35), (10, 40)], (10, 44), (14, 30))})


# -- DOT and Mermaid --------------------------------------------------------------------------------------------------


def unquoted(text):
    """A text of DOT or Mermaid without its quoted strings."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', "S", text)


@pytest.mark.parametrize("make", ["drawing", "odd"])
def test_dot(make, request):
    made = odd() if make == "odd" else request.getfixturevalue(make)
    text = made.dot()
    bare = unquoted(text)
    assert bare.count("{") == bare.count("}") and '"' not in bare and "\\" not in bare
    rows = [row.strip() for row in bare.splitlines()]
    assert rows[0] == "digraph wengert {" and rows[-1] == "}"
    for row in rows[1:-1]:
        assert re.fullmatch(r"(?:graph|node|edge) \[[\w= .]+\];|b\d+ -> b\d+(?: \[label=S\])?;|\}"
            r"|b\d+ \[label=S tooltip=S style=S fillcolor=S(?: peripheries=2)?\];"
            r"|subgraph cluster_\d+ \{ label=S; style=S; color=S;", row), row


@pytest.mark.skipif(importlib.util.find_spec("pydot") is None, reason="needs pydot")
@pytest.mark.parametrize("make", ["drawing", "odd"])
def test_dot_as_pydot_reads_it(make, request):
    import pydot

    made = odd() if make == "odd" else request.getfixturevalue(make)
    (graph,) = pydot.graph_from_dot_data(made.dot())
    assert len(graph.get_edges()) == len(made.picture.lines)


@needs_layout
def test_graphviz_draws_the_dot(drawing):
    for made in (drawing, odd()):
        done = subprocess.run([programs()[0], "-Tsvg"], input=made.dot().encode(), capture_output=True, check=True)
        assert len(list(ET.fromstring(done.stdout).iter(f"{SVG}g"))) > len(made.picture.boxes)


@pytest.mark.parametrize("make", ["drawing", "odd"])
def test_mermaid(make, request):
    made = odd() if make == "odd" else request.getfixturevalue(make)
    rows = [row.strip() for row in unquoted(made.mermaid()).splitlines()]
    assert rows[0] == "flowchart TB" and rows.count("end") == sum(r.startswith("subgraph") for r in rows)
    for row in rows[1:]:
        assert re.fullmatch(r"b\d+(?:\(\[S\]\)|\[S\]|\{\{S\}\}|\[\[S\]\]):::\w+|b\d+ -->(?:\|S\|)? b\d+|end"
            r"|subgraph g\d+ \[S\]|classDef \w+ fill:#\w+,stroke:#\w+,color:#\w+", row), row
    labels = re.findall(r'"(.*?)"', made.mermaid())
    assert labels and not any(set("<>`*_{}[]()|\\") & set(label.replace("<br/>", "")) for label in labels)


# -- files and what is missing ----------------------------------------------------------------------------------------


def test_save(tmp_path, drawing):
    for ending in (".dot", ".gv", ".mmd"):
        drawing.save(tmp_path / f"picture{ending}")
    assert (tmp_path / "picture.dot").read_text(encoding="utf-8") == drawing.dot()
    assert (tmp_path / "picture.mmd").read_text(encoding="utf-8") == drawing.mermaid()
    with pytest.raises(ValueError, match=r"\.svg, \.html, \.dot, \.gv, \.mmd, not '\.png'"):
        drawing.save(tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()


@needs_layout
def test_save_pictures(tmp_path, drawing):
    drawing.save(str(tmp_path / "picture.svg"))
    drawing.save(tmp_path / "picture.html")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == drawing.svg()
    page = (tmp_path / "picture.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and drawing.svg() in page


def test_without_a_layout(monkeypatch, drawing):
    monkeypatch.setattr(layout, "programs", list)
    monkeypatch.setattr("wengert.draw.drawing.programs", list)
    with pytest.raises(NoLayoutError, match=r"pip install 'wengert\[draw\]'"):
        drawing.svg()
    assert drawing._repr_svg_() is None
    assert "pip install 'wengert[draw]'" in repr(drawing)
    assert drawing.mermaid() and drawing.dot()


@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")
def test_a_program_that_fails(monkeypatch, tmp_path, drawing):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho no layout engine >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(layout, "programs", lambda: [str(program)])
    with pytest.raises(RuntimeError, match="the layout has failed: .*no layout engine"):
        drawing.svg()
    program.write_text('#!/bin/sh\necho \'{"bb": "0,0,9,9", "objects": [{"name": "b0", "pos": "4,5", "_gvid": 0}]}\'\n')
    assert lay_out("digraph {}").boxes == [(4, 4)]
    monkeypatch.setattr(layout, "programs", lambda: [os.devnull + "x", str(program)][1:])
    assert lay_out("digraph {}").width == 9


def test_dot_comes_first(monkeypatch, tmp_path):
    for name in ("graphviz-pure", "dot"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = [Path(p) for p in programs()]
    assert found[0] == tmp_path / "dot" and found[1].name == "graphviz-pure"


def test_it_is_imported_when_it_is_used():
    code = ("import sys, wengert; assert not any(m.startswith('wengert.draw') for m in sys.modules); "
        "import wengert.draw; from wengert.draw import recording; assert callable(wengert.draw); "
        "from wengert import draw; assert draw is sys.modules['wengert.draw'] and draw.recording is recording; "
        "import importlib; assert importlib.import_module('wengert.draw') is draw")
    subprocess.run([sys.executable, "-c", code], check=True)
