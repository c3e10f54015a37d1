"""The HTML page of a report, as text: what it collects, and that it needs nothing and runs nothing of the program."""

from __future__ import annotations

import gc
import json
import math
import re
import sys
import types
from html.parser import HTMLParser

import numpy as np
import pytest

import wengert as torch
from wengert import nn
from wengert.diagnose import Finding, Place, Report, watch
from wengert.diagnose.outputs.html import page, write
from wengert.diagnose.outputs.page_data import INF, NAN, ZERO, code, page_data
from wengert.diagnose.rules import picture
from wengert.diagnose.snapshot import norm


class Parsed(HTMLParser):
    """The elements of a page; HTML that does not nest is an error."""

    EMPTY = {"meta", "input", "br"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)


class Net(nn.Module):
    def __init__(self, cut=False):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)
        self.extra = nn.Linear(2, 2)
        self.cut = cut

    def forward(self, x):
        h = self.body(x)
        if self.cut:
            h = h.detach()
        return self.head(h + h)


def trained(steps=2, cut=False):
    """The report of a small training."""
    torch.manual_seed(0)
    net = Net(cut)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(6, 4), torch.zeros(6, dtype=torch.long)
    with watch(net, optimizer) as report:
        for _ in range(steps):
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    report.findings.clear()  # of other rules
    return report


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_needs_nothing_else():
    text = page(trained())
    parsed = Parsed(text)
    for tag, attributes in parsed.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert "src" not in attributes and not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
    assert "{{" not in text and not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"@import|url\(|innerHTML|insertAdjacentHTML|eval\(|new Function|document\.write", text)
    assert ("html", {"lang": "en"}) in parsed.elements
    policy = next(a["content"] for t, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy


def test_findings(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("def f(x):\n    y = x.detach()\n    return y <b>\n")
    report = Report()
    report.add(Finding("frozen", Place(str(script), 3), "Second."))
    report.add(Finding("cut-detach", Place(str(script), 2), "First.", "Remove it.", ["a.weight"], ["a fact"]))
    parsed = Parsed(page(report))
    articles = [a for t, a in parsed.elements if t == "article"]
    assert [a["data-severity"] for a in articles] == ["error", "warning"]
    assert parsed.texts["h3"] == ["First.", "Second."] and parsed.texts["title"] == [
        f"1 error, 1 warning · {parsed.texts['h1'][0].split('/')[-1]}"]
    assert parsed.texts["u"] == ["y = x.detach()", "return y <b>"]
    assert "def f(x):" in "".join(parsed.texts["span"])
    assert parsed.texts["dd"] == ["Remove it."] and parsed.texts["li"] == ["a fact"]


def test_many_parameters():
    report = Report()
    report.add(Finding("unused", None, "x", "", [f"p{i}" for i in range(40)]))
    parsed = Parsed(page(report))
    assert parsed.texts["summary"] == ["28 more"]
    assert [a["data-parameter"] for t, a in parsed.elements if t == "code" and "data-parameter" in a] == [
        f"p{i}" for i in range(40)]


def test_escapes():
    bad = "</script><script>alert(1)</script><!--\u2028\"'&"
    report = trained()
    report.add(Finding("cut-detach", Place(f"/{bad}.py", 1), bad, bad, [bad], [bad], "error"))
    report.facts.picture.snapshots[next(iter(report.facts.picture.snapshots))].parameters[0].label = bad
    text = page(report, bad)
    parsed = Parsed(text)
    assert [t for t, _ in parsed.elements].count("script") == 2
    assert text.count("<!--") == 0 and data_of(text)["findings"] == [[bad]]
    assert "".join(parsed.texts["h3"]) == bad and "".join(parsed.texts["h1"]).endswith(bad)


def test_nothing_was_run(tmp_path):
    with watch() as report:
        pass
    write(report, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Nothing to fix was found in 0 optimizer steps." in text
    data = data_of(text)
    assert data["graphs"] == [] and data["norms"] == []
    assert data_of(page(Report()))["graphs"] == []


def test_graph():
    data = page_data(trained())
    (graph,) = data["graphs"]
    names = [data["names"][i] for i in graph["name"]]
    assert names.count("AccumulateGrad") == 6 and names[-1] == "NllLoss"
    assert sum(graph["degree"]) == len(graph["to"]) == len(graph["norm"])
    users = [i for i, n in enumerate(graph["degree"]) for _ in range(n)]
    assert all(to < user for to, user in zip(graph["to"], users))  # inputs stand first

    paths = []
    for g in range(len(graph["groups"])):
        parent, name, _ = graph["groups"][g]
        paths.append([*(paths[parent] if parent >= 0 else []), *([] if name is None else [name])])
    inside = {".".join(paths[g]) if g >= 0 else "" for g in graph["group"]}
    assert inside == {"", "Net", "Net.body.0", "Net.body.1", "Net.body.2", "Net.head"}

    held = {p["name"]: p for p in graph["parameters"]}
    assert held["body.0.weight"]["node"] >= 0 and held["extra.weight"]["node"] < 0
    assert held["extra.weight"]["chain"] == [] and graph["whole"] and graph["step"] == 1
    lines = {data["places"][i][2] for i in graph["at"] if i >= 0}
    assert "return self.head(h + h)" in lines


def test_gradients_on_edges():
    report = trained(1)
    (snapshot,) = report.facts.picture.snapshots.values()
    rows = snapshot.rows
    at = {p.name: p.node for p in snapshot.parameters}
    norms = report.facts.picture.norms[0]
    for name, value in zip(norms.names, norms.columns[0]):
        arriving = [v for row in rows for to, v in zip(row.edges, row.norms) if to == at[name] and to >= 0]
        assert (value is None and not arriving) if name.startswith("extra") else arriving == pytest.approx([value])


def test_cut():
    data = page_data(trained(cut=True))
    (graph,) = data["graphs"]
    held = {p["name"]: p for p in graph["parameters"]}
    chain = held["body.0.weight"]["chain"]
    cuts = [data["names"][link[0]] for link in chain if link[3]]
    assert cuts == ["detach"] and [data["places"][link[1]][2] for link in chain if link[3]] == ["h = h.detach()"]
    assert held["head.weight"]["node"] >= 0 and held["head.weight"]["chain"] == []


def test_cut_by_a_new_tensor():
    model = nn.Linear(2, 1, bias=False)
    with watch(model) as report:
        torch.tensor([model(torch.ones(2)).sum()], requires_grad=True).mean().backward()
    data = page_data(report)
    (graph,) = data["graphs"]
    found = [(data["names"][link[0]], link[3]) for link in graph["parameters"][0]["chain"]]
    assert found == [("leaf", 0), ("linear", 0), ("sum", 0), ("tensor", 1), ("mean", 0)]


def test_parameters_of_no_module():
    w, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    main = vars(sys.modules["__main__"])
    main.update(w=w, unused=unused)
    try:
        with watch(torch.optim.SGD([w, unused], lr=0.1)) as report:
            w.sum().backward()
    finally:
        del main["w"], main["unused"]
    (graph,) = page_data(report)["graphs"]
    assert [(p["label"], p["node"]) for p in graph["parameters"]] == [("w", 0), ("unused", -1)]


def test_memory_goes_up_and_down():
    (graph,) = page_data(trained())["graphs"]
    memory = graph["memory"]
    together = [sum(column) for column in zip(*memory["values"])]
    forward = memory["forward"]
    assert together[:forward] == sorted(together[:forward]) and together[forward:] == sorted(together[forward:])[::-1]
    assert together[forward - 1] == sum(memory["most"]) == sum(graph["saved"]) > 0 and together[-1] == 0


def test_times():
    data = page_data(trained())
    rows = {data["places"][row[0]][2]: row[1:] for row in data["graphs"][0]["times"] if row[0] >= 0}
    forward, backward = rows["return self.head(h + h)"]
    assert {data["names"][r[0]]: r[1] for r in forward} == {"add": 1, "linear": 1}
    assert {data["names"][r[0]] for r in backward} == {"Add", "Addmm"}


def test_a_step_that_is_too_long_for_a_window(monkeypatch):
    monkeypatch.setattr("wengert.diagnose.tracer.LIMIT", 10)
    w = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with watch() as report:
        for _ in range(3):
            optimizer.zero_grad()
            h = w
            for _ in range(20):
                h = h * 1.01
            h.sum().backward()
            optimizer.step()
    (graph,) = page_data(report)["graphs"]
    assert len(graph["name"]) == 22 and graph["step"] == 2
    assert all(norm is not None for norm, to in zip(graph["norm"], graph["to"]) if to >= 0)
    assert all(us is not None and us < 1e6 for us, n in zip(graph["backward"], graph["degree"]) if n)


def test_places_of_backward():
    """Each backward() has its graph; the largest comes first."""
    a, b = nn.Linear(2, 1), nn.Linear(2, 1)
    with watch(a, b) as report:
        for _ in range(2):
            a(torch.ones(1, 2)).sum().backward()
            b(torch.ones(1, 2)).tanh().sum().backward()
    data = page_data(report)
    assert [data["places"][g["place"]][2] for g in data["graphs"]] == [
        "b(torch.ones(1, 2)).tanh().sum().backward()", "a(torch.ones(1, 2)).sum().backward()"]


def test_models_with_the_same_names():
    models = [nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))]
    main = vars(sys.modules["__main__"])
    main.update(G=models[0], D=models[1])
    try:
        with watch(*models) as report:
            models[1](models[0](torch.ones(1, 2))).sum().backward()
    finally:
        del main["G"], main["D"]
    (graph,) = page_data(report)["graphs"]
    assert [p["label"] for p in graph["parameters"]] == ["G.0.weight", "G.0.bias", "D.0.weight", "D.0.bias"]
    assert [name for _, name, _ in graph["groups"]] == ["G (Sequential)", "0", "D (Sequential)", "0"]


def test_norms_are_thinned_out(monkeypatch):
    monkeypatch.setattr(picture, "COLUMNS", 16)
    (norms,) = page_data(trained(100))["norms"]
    assert norms["steps"] == [1 + 8 * k for k in range(len(norms["steps"]))] and len(norms["steps"]) == 13
    assert norms["names"][0] == "body.0.weight" and len(norms["columns"][0]) == len(norms["names"]) == 8
    assert norms["columns"][0][-1] is None  # of extra.bias
    assert norms["optimizer"] == "SGD"


def test_keeps_nothing_alive():
    found = trained().facts.picture
    seen, todo = {id(found.record)}, [found]
    while todo:
        x = todo.pop()
        assert not isinstance(x, (torch.Tensor, np.ndarray, nn.Module, torch.optim.Optimizer)), x
        if id(x) not in seen and not isinstance(x, (type, types.CodeType, types.FunctionType, types.MethodType)):
            seen.add(id(x))
            todo += gc.get_referents(x)


@pytest.mark.parametrize(("values", "expected"), [
    ([3.0, 4.0], 5.0), ([3e-30, 4e-30], 5e-30), ([3e30, 4e30], 5e30), ([0.0, 0.0], 0.0), ([], 0.0),
    ([1.0, math.inf], math.inf), ([3 + 4j, 0], 5.0)])
@pytest.mark.parametrize("kind", ["single", "double"])
def test_norm(values, expected, kind):
    kinds = {"single": "F", "double": "D"} if any(isinstance(v, complex) for v in values) else {"single": "f",
        "double": "d"}
    assert norm(np.array(values, kinds[kind])) == pytest.approx(expected, rel=1e-6)


def test_norm_of_other_types():
    assert math.isnan(norm(np.array([1.0, math.nan])))
    assert norm(np.array([3, 4], np.float16)) == 5 and norm(torch.tensor([3.0, 4], dtype=torch.bfloat16)._wg_data) == 5
    assert norm(None) is None and norm("x") is None


def test_codes():
    assert [code(v) for v in (None, 1.0, 1e-3, 0.0, math.nan, math.inf)] == [None, 0, -3000, ZERO, NAN, INF]


def test_many_nodes_are_cut_short(monkeypatch):
    monkeypatch.setattr("wengert.diagnose.snapshot.LIMIT", 50)
    w = torch.ones(3, requires_grad=True)
    with watch() as report:
        h = w
        for _ in range(100):
            h = h * 1.01
        h.sum().backward()
    (graph,) = page_data(report)["graphs"]
    assert not graph["whole"] and len(graph["name"]) == 50 and len(graph["memory"]["values"][0]) <= 2 * 160 + 2
    Parsed(page(report))
