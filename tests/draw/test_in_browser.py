"""Pictures in a headless Chromium: what is drawn can be read, in light and dark pages."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import pytest

import wengert as torch
from tests.diagnose.browser import CHROMIUM, DRIVER, Browser
from tests.draw.nets import chain, net
from wengert.draw.layout import programs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER) and os.environ.get("WENGERT_REQUIRE_BROWSER") != "1",
        reason="needs chromium and chromedriver"),
    pytest.mark.skipif(not programs() and os.environ.get("WENGERT_REQUIRE_LAYOUT") != "1",
        reason="needs dot or graphviz-pure"),
]

# for every text of a box: how far it stands out of its rectangle; and pairs of texts that overlap
INSIDE = """
const out = [];
for (const g of document.querySelectorAll('.operation, .leaf, .input, .result, .fold')) {
    const box = [...g.querySelectorAll('rect')].at(-1).getBoundingClientRect();
    let last = box.top;
    for (const text of g.querySelectorAll('text')) {
        const at = text.getBoundingClientRect();
        if (at.left < box.left - 1 || at.right > box.right + 1 || at.bottom > box.bottom + 1 || at.top < last - 3)
            out.push(text.textContent);
        last = at.bottom - 3;
    }
}
for (const g of document.querySelectorAll('g > .frame')) {
    const text = g.nextSibling, box = g.getBoundingClientRect(), at = text.getBoundingClientRect();
    if (at.left < box.left || at.right > box.right + 2) out.push(text.textContent);
}
const page = document.querySelector('svg').getBoundingClientRect();
for (const e of document.querySelectorAll('svg text, svg rect'))
    if (e.getBoundingClientRect().right > page.right + 1 || e.getBoundingClientRect().bottom > page.bottom + 1)
        out.push('outside: ' + e.textContent);
return out
"""
# the contrast of each text with what lies behind it, as WCAG defines it; the least
CONTRAST = """
function light(colour) {
    const parts = colour.match(/[0-9.]+/g).slice(0, 3).map(v => {
        v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}
let least = 99;
const behind = e => e.closest('.operation, .leaf, .input, .result, .fold')?.querySelector('rect')
    || e.parentNode.querySelector('rect') || document.querySelector('.page');
for (const e of document.querySelectorAll('svg text')) {
    const pair = [light(getComputedStyle(e).fill), light(getComputedStyle(behind(e)).fill)];
    least = Math.min(least, (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05));
}
return least
"""


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    made.size(1400, 1000)
    yield made
    made.close()


def show(browser, path: Path, scheme: str = "light") -> None:
    browser.media(prefers_color_scheme=scheme)
    browser._ask("/url", {"url": path.as_uri()})


def after_backward():
    drawing = torch.draw(net(), torch.ones(5, 3))
    (drawing.result / 0).sum().backward()
    return drawing


def odd():
    t = torch.ones(2, requires_grad=True)
    return torch.draw(t.exp().sum(), names={"WWWWWWWWWWWWWWWWWWWWWWWWWWWWW": t})


@pytest.mark.parametrize("make", [lambda: torch.draw(net(), torch.ones(5, 3)), after_backward, odd,
    lambda: torch.draw(net(3), torch.ones(5, 3), depth=1), lambda: torch.draw(chain(1000))],
    ids=["net", "after", "odd", "depth", "chain"])
def test_texts_stand_in_their_boxes(browser, tmp_path, make):
    path = tmp_path / "picture.svg"
    make().save(path)
    show(browser, path)
    assert browser.run("return document.querySelectorAll('svg text').length") > 10
    assert browser.run(INSIDE) == []
    assert browser.log() == []


def a_step():
    model = torch.nn.Linear(64, 64)
    return torch.draw.step(lambda: model(torch.ones(32, 64)).tanh().sum().backward(), model)


def test_the_texts_of_a_step_stand_in_its_page(browser, tmp_path):
    path = tmp_path / "picture.svg"
    a_step().save(path)
    show(browser, path)
    assert browser.run("return document.querySelectorAll('polygon').length") > 3
    assert browser.run(INSIDE) == []


@pytest.mark.parametrize("make", [after_backward, a_step])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read(browser, tmp_path, scheme, make):
    path = tmp_path / "picture.svg"
    make().save(path)
    show(browser, path, scheme)
    assert browser.run(CONTRAST) >= 4.4
    page = browser.run("return getComputedStyle(document.querySelector('.page')).fill")
    assert page == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 30)")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_of_a_notebook_counts(browser, tmp_path, theme):
    path = tmp_path / "picture.html"
    after_backward().save(path)
    show(browser, path, "dark" if theme == "light" else "light")
    browser.run(f"document.body.dataset.jpThemeLight = '{'true' if theme == 'light' else 'false'}'")
    page = browser.run("return getComputedStyle(document.querySelector('.page')).fill")
    assert page == ("rgb(255, 255, 255)" if theme == "light" else "rgb(20, 24, 30)")


def test_the_same_picture_twice(browser, tmp_path):
    shots = []
    for i in range(2):
        path = tmp_path / "picture.svg"
        torch.draw(net(), torch.ones(5, 3)).save(path)
        show(browser, path)
        browser.screenshot(tmp_path / f"{i}.png")
        shots.append(zlib.crc32((tmp_path / f"{i}.png").read_bytes()))
    assert shots[0] == shots[1]
    after_backward().save(path)
    show(browser, path)
    browser.screenshot(tmp_path / "2.png")
    assert zlib.crc32((tmp_path / "2.png").read_bytes()) != shots[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tensors_and_modules(browser, tmp_path, scheme):
    path = tmp_path / "page.html"
    path.write_text("<!DOCTYPE html><meta charset='utf-8'>" + net()._repr_html_() + torch.ones(20, 20)._repr_html_(),
        encoding="utf-8")
    show(browser, path, scheme)
    assert browser.run("return document.querySelectorAll('details').length") == 10
    hidden = "return document.querySelectorAll('td')[0].checkVisibility()"
    assert browser.run(hidden) is False
    browser.run("document.querySelectorAll('details')[1].querySelector('summary').click()")
    browser.wait(hidden)
    colours = browser.run("const s = getComputedStyle(document.querySelector('.wg.data')); "
        "return [s.color, s.backgroundColor]")
    assert colours[0] != colours[1]
    assert (colours[1] == "rgb(255, 255, 255)") is (scheme == "light")
