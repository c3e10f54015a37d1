"""Tensors and modules as notebooks show them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import wengert as torch
from tests.draw.nets import net
from wengert import nn


def parsed(x):
    """The HTML after its style."""
    html = x._repr_html_()
    style, _, rest = html.partition("</style>")
    assert style.startswith("<style>") and "prefers-color-scheme: dark" in style
    return ET.fromstring(rest)


def cells(x):
    return [[td.text for td in tr] for tr in parsed(x).iter("tr")]


def text(x):
    return "".join(parsed(x).itertext())


@pytest.mark.parametrize(("value", "expected"), [
    (torch.tensor(3), [["3"]]),
    (torch.tensor([1.5, float("nan")]), [["1.5", "nan"]]),
    (torch.tensor([[1, 2], [3, 4]]) > 2, [["False", "False"], ["True", "True"]]),
    (torch.tensor([1 + 2j]), [["1+2j"]]),
    (torch.tensor([[1.0]], dtype=torch.bfloat16), [["1"]]),
    (torch.zeros(0, 3), []),
    (torch.arange(10), [["0", "1", "2", "3", "…", "6", "7", "8", "9"]]),
    (torch.arange(9).reshape(9, 1), [[str(i)] for i in range(9)]),
    (torch.arange(24).reshape(2, 3, 4), [["0", "1", "2", "3"], ["4", "5", "6", "7"], ["8", "9", "10", "11"]]),
])
def test_values(value, expected):
    assert cells(value) == expected


def test_what_it_says():
    x = torch.ones(2, 3, requires_grad=True)
    assert "Tensor (2, 3) float32 · 24 B · requires_grad" in text(x) and "grad_fn" not in text(x)
    y = x * 2
    assert "grad_fn MulBackward0" in text(y)
    y.sum().backward()
    assert "has a grad" in text(x)
    assert text(nn.Parameter(torch.ones(1))).startswith("Parameter (1,)")
    assert "[0, 0] of 6 matrices:" in text(torch.zeros(2, 3, 1, 1))


def test_statistics_of_many():
    x = torch.arange(20.0)
    assert "min 0 · mean 9.5 · max 19 · deviation 5.766 · 1 zero" in text(x)
    x[0], x[1] = float("nan"), float("inf")
    assert "min 2 · mean 10.5 · max 19" in text(x) and "1 NaN · 1 infinite" in text(x)
    assert "min" not in text(torch.arange(5.0))
    false = text(torch.zeros(20, dtype=torch.bool))
    assert "mean" not in false and "20 zero" in false
    assert "mean 200 · max 200" in text(torch.full((20,), 200, dtype=torch.uint8))
    assert "NaN" in text(torch.full((20,), float("nan")))


@pytest.mark.parametrize("make", [lambda: torch.eye(2).to_sparse(), lambda: torch.empty(2, device="meta"),
    lambda: torch.tensor([1j]).conj()])
def test_other_kinds_are_shown_as_text(make):
    html = make()._repr_html_()
    assert html.startswith("<pre>tensor(") and "<" not in html[5:-6]


def test_what_transforms_make_is_shown_as_text():
    seen = []

    def f(x):
        seen.append((x._repr_html_(), repr(x)))
        return (x * 2).sum()

    x = torch.ones(2, 2)
    torch.vmap(f)(x)
    torch.func.grad(f)(x)
    torch.func.jvp(f, (x,), (x,))
    assert len(seen) == 3
    for html, text in seen:
        assert html == f"<pre>{text.replace('<', '&lt;').replace('>', '&gt;')}</pre>"


def test_a_view_that_has_lost_its_history():
    base = torch.ones(2, requires_grad=True) * 1
    with torch.no_grad():
        view = base[:1]
    base.mul_(2)
    assert "grad_fn Invalid" in text(view)


def test_names_are_escaped():
    class Odd(nn.Module):
        def _get_name(self):
            return "<script>"

        def extra_repr(self):
            return "a<b>&c"

    odd = Odd()
    odd.register_buffer("<i>", torch.ones(1))
    odd.add_module("<u>", nn.ReLU())
    assert "<script>(a<b>&c)" in text(odd) and "<i>" in text(odd) and "<u>: ReLU" in text(odd)
    assert not list(parsed(odd).iter("script"))


def test_modules():
    model = net(1)
    model.first.weight.requires_grad_(False)
    model.blocks.eval()
    tree = parsed(model)
    (outer,) = tree.findall("details")
    assert outer.get("open") is not None and len(list(tree.iter("details"))) == 7
    assert [d.find("summary").find("b").text for d in outer.findall("details")] == ["Linear", "ModuleList", "Linear"]
    assert all(d.get("open") is None for d in tree.iter("details") if d is not outer)
    shown = text(model)
    assert "Net 54 parameters, 216 B, 12 frozen" in shown
    assert "first: Linear(in_features=3, out_features=4, bias=True) 16 parameters, 64 B, 12 frozen" in shown
    assert "blocks: ModuleList 28 parameters, 112 B · eval" in shown
    assert ["weight", "(4, 3)", "float32", "48 B", "frozen"] in cells(model)
    assert ["running_mean", "(2,)", "float32", "8 B", "buffer"] in cells(nn.BatchNorm1d(2))
    assert "no parameters" in text(nn.ReLU())


def test_a_deep_tree():
    inner = nn.ReLU()
    for _ in range(300):
        outer = nn.Module()
        outer.inner = inner
        inner = outer
    assert inner._repr_html_().count("<details") == 301
