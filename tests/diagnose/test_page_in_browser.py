"""The HTML page of a report in a headless Chromium: that it works, by keyboard too, and how fast it is."""

from __future__ import annotations

import os
import re

import pytest

import wengert as torch
from tests.diagnose.browser import CHROMIUM, DRIVER, Browser
from wengert import nn
from wengert.diagnose import Finding, Place, Report, watch
from wengert.diagnose.outputs.html import write
from wengert.diagnose.record import Record
from wengert.diagnose.rules.picture import Picture
from wengert.diagnose.snapshot import Held, Row, Snapshot

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER) and os.environ.get("WENGERT_REQUIRE_BROWSER") != "1",
    reason="needs chromium and chromedriver")

HERE = Place(__file__, 1)
ROWS = "return [...document.querySelectorAll('.row .name')].map(e => e.title)"
ACTIVE = "return document.querySelector('.row.active .name').title"
TABBED = "return document.activeElement.id || document.activeElement.className || document.activeElement.textContent"


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    made.size(1280, 900)
    yield made
    made.close()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Linear(4, 8), nn.Linear(8, 3)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.unused = nn.Linear(2, 2)

    def forward(self, x, cut):
        h = self.embed(x)
        if cut:
            h = h.detach()
        for block in self.blocks:
            h = block(h)
        return self.head(h)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """By name: pages of a model that is cut, of one that is not, and of one whose names are hostile."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in ("cut", "whole"):
        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with watch(net, optimizer) as report:
            for _ in range(3):
                optimizer.zero_grad()
                nn.functional.cross_entropy(net(torch.randn(5, 4), name == "cut"), torch.zeros(5, dtype=torch.long)
                    ).backward()
                optimizer.step()
                if name == "whole":
                    net.head(torch.ones(2, 8)).sum().backward()
        report.findings.clear()
        report.add(Finding("cut-detach", HERE, "An error.", "Remove it.", ["embed.weight"], ["a fact"]))
        report.add(Finding("unused", HERE, "A warning.", "", ["unused.weight", "elsewhere"]))
        report.add(Finding("slow-node", HERE, "A hint."))
        found[name] = folder / f"{name}.html"
        write(report, found[name])
    bad = "<img src=x onerror=window.bad=1></script><script>window.bad=1</script>"
    report.add(Finding("cut-data", Place(bad, 3), bad, bad, [bad], [bad]))
    for snapshot in report.facts.picture.snapshots.values():
        snapshot.parameters[0].label = snapshot.rows[-1].name = bad
    found["hostile"] = folder / "hostile.html"
    write(report, found["hostile"])
    return found


def test_nothing_is_loaded_and_nothing_fails(browser, pages):
    for path in pages.values():
        browser.show(path)
        assert browser.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
        assert browser.run("return document.querySelectorAll('section:not([hidden]) h2').length") == 5
        browser.run("document.querySelector('input[value=path]').click()")
        assert browser.log() == []
        assert browser.run("return window.bad") is None


def test_findings_without_script(browser, pages):
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser._ask("/url", {"url": pages["cut"].as_uri()})
    finally:
        browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("return [...document.querySelectorAll('.finding h3')].map(e => e.textContent)") == [
        "An error.", "A warning.", "A hint."]
    assert browser.run("return getComputedStyle(document.querySelector('#filter')).display") == "none"


def test_filter(browser, pages):
    browser.show(pages["cut"])
    shown = "return [...document.querySelectorAll('.finding')].filter(e => e.offsetHeight).map(e => e.dataset.severity)"
    assert browser.run(shown) == ["error", "warning", "info"]
    browser.run("document.querySelector('#filter input').focus()")
    browser.press(" ")
    assert browser.run(shown) == ["warning", "info"]
    assert browser.run("const e = document.querySelector('#filtered'); return [e.textContent, e.ariaLive]") == [
        "2 of 3 findings shown", "polite"]
    browser.press(" ", "Tab", " ")
    assert browser.run(shown) == ["error", "info"]


def test_the_path_of_a_parameter_of_a_finding(browser, pages):
    browser.show(pages["cut"])
    buttons = "return [...document.querySelectorAll('button.parameter')].map(e => e.textContent)"
    assert browser.run(buttons) == ["embed.weight", "unused.weight"]  # not that of no model
    browser.run("document.querySelector('button.parameter').focus()")
    browser.press("Enter")
    browser.wait("return document.querySelector('.verdictline')")
    text = browser.run("return document.querySelector('.verdictline').textContent")
    assert re.fullmatch(
        r"embed\.weight \(8×4\) gets no gradient: its path to the loss is cut by detach at .*:\d+\.", text)
    assert browser.run("return document.querySelector('.broken .at').textContent").endswith("h = h.detach()")
    steps = browser.run("return [...document.querySelectorAll('.step .name')].map(e => e.textContent)")
    assert steps[:3] == ["embed.weight", "linear", "detach: the history ends here"]
    assert browser.run("return document.querySelectorAll('.edge.cut').length") == 3
    assert browser.run("return [document.activeElement.id, location.hash]") == ["graph", "#path=embed.weight"]
    for address in ("#path=%", "#path=unused.weight@7", "#path=other"):
        browser.show(pages["cut"], address)
        assert browser.run("return document.querySelector('.verdictline')") is None and browser.log() == []
    browser.show(pages["cut"], "#path=unused.weight")
    assert "no call leads from it to this loss" in browser.run(
        "return document.querySelector('.verdictline').textContent")


def test_branches_of_a_path(browser, pages):
    browser.show(pages["whole"], "#path=embed.weight")
    path = "return [...document.querySelectorAll('.step .name')].map(e => e.textContent)"
    before = browser.run(path)
    assert before[0] == "embed.weight" and before[-1] == "NllLoss"
    flows = browser.run("return [...document.querySelectorAll('.flow')].map(e => e.textContent)")
    assert len(flows) == len(before) - 1 and all(re.fullmatch(r"↑ [\d.e-]+", text) for text in flows)
    browser.run("document.querySelector('.ways button:last-child').focus()")
    browser.press("Enter")
    assert browser.run(path) != before
    assert browser.run(TABBED) == "›"  # where it was
    browser.press("Enter")
    assert browser.run(path) == before
    browser.run("const s = document.querySelector('#graph-tools .open select'); s.value = '2';"
        "s.dispatchEvent(new Event('change'))")
    assert browser.run(path)[0] == "head.weight"


def test_tree_by_keyboard(browser, pages):
    browser.show(pages["whole"])
    browser.run("document.querySelectorAll('#graph-tools .open button')[1].focus()")
    browser.press("Enter", "Tab")
    assert browser.run("return document.activeElement.getAttribute('role')") == "tree"
    rows = browser.run(ROWS)
    assert rows[0] == "Net" and browser.run(ACTIVE) == "Net"
    browser.press("Right")
    assert browser.run(ROWS)[1] == "embed"
    assert browser.run("return document.querySelector('#t0').ariaExpanded") == "true"
    browser.press("Right", "Enter", "Down")
    assert browser.run(ROWS)[:5] == ["Net", "embed", "embed.bias", "embed.weight", "Addmm"]
    assert browser.run(ACTIVE) == "embed.bias"
    row = browser.run("""const t = document.querySelector('[role=tree]'),
        r = document.getElementById(t.getAttribute('aria-activedescendant'));
        return ['role', 'aria-level', 'aria-posinset', 'aria-setsize', 'aria-selected', 'aria-label'].map(
            n => r.getAttribute(n))""")
    assert row[:5] == ["treeitem", "3", "1", "3", "true"]
    assert row[5].startswith("embed.bias, parameter, shape 8, gradient")
    assert browser.run("return document.querySelector('.details h3').textContent") == "embed.bias"
    browser.press("Left", "Left")
    assert browser.run(ACTIVE) == "embed" and len(browser.run(ROWS)) == len(rows) + 3
    browser.press("*", "End")
    assert browser.run(ACTIVE) == browser.run(ROWS)[-1]
    browser.press("Home", " ")
    assert browser.run(ROWS) == rows


def test_a_row_leads_on(browser, pages):
    browser.show(pages["cut"])
    names = "return [...document.querySelectorAll('.details li button')].map(e => e.textContent)"
    browser.run("[...document.querySelectorAll('.row')].find(r => r.textContent.includes('NativeLayerNorm')).click()")
    assert [text.split()[0] for text in browser.run(names)] == ["Addmm", "blocks.0.norm.weight", "blocks.0.norm.bias"]
    browser.run("document.querySelector('.details li button').click()")
    assert browser.run(ACTIVE) == "Addmm"
    assert browser.run("return document.activeElement.getAttribute('role')") == "tree"


def test_several_backwards(browser, pages):
    browser.show(pages["whole"])
    assert browser.run("return document.querySelectorAll('#graph-tools select option').length") == 2
    before = browser.run("return document.querySelector('#memory-view tbody').textContent")
    browser.run("const s = document.querySelector('#graph-tools select'); s.focus(); s.value = '1';"
        "s.dispatchEvent(new Event('change'))")
    assert browser.run("return document.querySelector('#memory-view tbody').textContent") != before
    assert browser.run(ROWS)[0] == "Net"


def test_charts_by_keyboard(browser, pages):
    browser.show(pages["cut"])
    browser.run("document.querySelector('.heat').focus()")
    browser.press("Down", "Up", "Home")
    read = "return document.querySelector('#gradients .readout').textContent"
    assert browser.run(read) == "embed.weight, step 1: no gradient"
    browser.press("Right", "End", "Down", "Down")
    assert re.fullmatch(r"head\.weight, step 3: [\d.e-]+", browser.run(read))
    browser.run("document.querySelector('#memory .chart').focus()")
    browser.press("Right")
    read = "return document.querySelector('#memory .readout').textContent"
    assert re.match(r"forward 100%: [\d.]+ KiB — ", browser.run(read))
    browser.press("End")
    assert browser.run(read) == "backward 100%: 0 B"
    for section in ("gradients", "memory"):
        browser.run(f"document.querySelector('#{section} summary').focus()")
        browser.press("Enter")
        browser.wait(f"return document.querySelectorAll('#{section} details td').length > 10")


def test_table_of_times(browser, pages):
    browser.show(pages["cut"])
    browser.run("document.querySelector('#time thead button').focus()")
    browser.press("Enter")
    assert browser.run(TABBED) == "line"
    sort = "return [...document.querySelectorAll('#time th')].map(e => e.ariaSort)"
    assert browser.run(sort)[0] == "ascending"
    rows = "return document.querySelectorAll('#time tbody tr').length"
    before = browser.run(rows)
    browser.run("document.querySelector('#time tbody button').focus()")
    browser.press("Enter")
    assert browser.run(rows) > before and browser.run("return document.activeElement.ariaExpanded") == "true"


def test_order_of_focus(browser, pages):
    browser.show(pages["cut"])
    seen = []
    for _ in range(60):
        browser.press("Tab")
        where = browser.run("return document.activeElement.closest('section, header, body').id || "
            "document.activeElement.closest('header, body').tagName")
        if not seen or seen[-1] != where:
            seen.append(where)
        if browser.run("return document.activeElement === document.body"):
            break
    assert seen[-1] == "BODY" and [s for s in seen if s != "BODY"] == [
        "HEADER", "findings", "graph", "gradients", "memory", "time"]


CONTRAST = """
const luminance = (c) => c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; })
    .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
const read = (name) => { document.body.style.outlineColor = `var(--${name})`;
    return getComputedStyle(document.body).outlineColor.match(/[\\d.]+/g).slice(0, 3).map(Number); };
return arguments[0].map(([a, b]) => { const [x, y] = [luminance(read(a)), luminance(read(b))];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); });
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser, pages, scheme):
    browser.media(prefers_color_scheme=scheme)
    browser.show(pages["cut"])
    pairs = [(a, b) for a in ("text", "muted", "accent", "error", "warning", "info") for b in ("back", "raised")]
    pairs += [("text", "mark"), ("muted", "mark"), ("text", "select"), ("muted", "select"), ("accent", "select")]
    found = dict(zip(pairs, browser.run(CONTRAST, pairs)))
    browser.media(prefers_color_scheme="light")
    assert {pair: ratio for pair, ratio in found.items() if ratio < 4.5} == {}


def test_narrow_window(browser, pages):
    browser.size(360, 700)
    try:
        for name, anchor in (("cut", ""), ("whole", "#path=embed.weight")):
            browser.show(pages[name], anchor)
            assert browser.run("return document.documentElement.scrollWidth") <= 360
    finally:
        browser.size(1280, 900)


def large(nodes: int) -> Report:
    """A report with a graph of so many nodes: 20 modules in turn, each with 5 operations, of two lines."""
    report = Report()
    report.facts = record = Record()
    picture = Picture(record)
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.place, snapshot.step, snapshot.loss, snapshot.turns = HERE, 1, 0.5, 0
    snapshot.whole, snapshot.retained, snapshot.calls = True, False, {}
    snapshot.rows, snapshot.bytes, snapshot.parameters = [], [], [Held("w", "w", (4, 4), True)]
    for i in range(nodes):
        row = Row("MulBackward0" if i else "AccumulateGrad", (4, 4), None)
        row.place, row.module = Place(__file__, 2 + i % 2), ("Net", "layers", str(i // 5 % 20))
        row.edges = [] if not i else [i - 1] if i % 7 else [i - 1, max(0, i - 40)]
        row.norms = [10 ** -(i % 9) for _ in row.edges]
        row.forward, row.backward, row.turn = 4000, 6000, nodes - i
        row.saved = [i] if i else []
        row.leaf = 0 if not i else -1
        snapshot.bytes.append(64)
        snapshot.rows.append(row)
    snapshot.parameters[0].node, snapshot.turns = 0, nodes + 1
    picture.snapshots[None] = snapshot
    return report


def test_a_graph_of_fifty_thousand_nodes(browser, tmp_path):
    path = tmp_path / "large.html"
    write(large(50_000), path)
    assert path.stat().st_size < 5e6
    timed = "const begin = performance.now(); {}; document.body.offsetHeight; return performance.now() - begin"
    best = {}
    for _ in range(3):
        browser.show(path)
        found = {"interactive": browser.run("return performance.getEntriesByType('navigation')[0].domInteractive")}
        box = "document.querySelector('.scroll')"
        for name, action in (("open all", "document.querySelectorAll('#graph-tools .open button')[0].click()"),
                ("scroll", f"{box}.scrollTop = 6e5; {box}.dispatchEvent(new Event('scroll'))"),
                ("close all", "document.querySelectorAll('#graph-tools .open button')[1].click()"),
                ("path", "document.querySelector('input[value=path]').click()")):
            if name == "close all":
                assert 10 < browser.run("return document.querySelectorAll('.row').length") < 60
                assert browser.run(f"return {box}.scrollHeight") > 50_000 * 26
            found[name] = browser.run(timed.format(action))
        assert "operations to the loss" in browser.run("return document.querySelector('.verdictline').textContent")
        assert browser.run("return document.querySelectorAll('.step').length") < 60
        best = {name: min(time, best.get(name, time)) for name, time in found.items()}
        if best["interactive"] < 1000 and max(best.values()) < 500:
            break
    assert best["interactive"] < 2000 and all(time < 1000 for time in best.values()), best
