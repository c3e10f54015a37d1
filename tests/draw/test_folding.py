"""What becomes one box: by module, by line, by order; that nothing is lost and no circle made."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as torch
from tests.draw.nets import chain, net
from wengert.draw.captions import caption, frame_label, label
from wengert.draw.folding import FOLD, Cluster, Line, Picture
from wengert.draw.graph import Arrow
from wengert.draw.svg import _groups


def titles(drawing):
    return [caption(box, drawing.graph).title for box in drawing.picture.boxes]


def frames(drawing):
    return [frame_label(group) for group in _groups(drawing.picture.frame)]


def parts(cluster):
    for part in cluster.parts:
        if isinstance(part, Cluster):
            yield from parts(part)
        else:
            yield part


def check(picture):
    """Every item is in one box, every box in one frame; arrows between boxes lead from older to newer things."""
    assert sorted(i for box in picture.boxes for i in box.items) == list(range(len(picture.graph.items)))
    assert sorted(parts(picture.frame)) == list(range(len(picture.boxes)))
    home = {i: n for n, box in enumerate(picture.boxes) for i in box.items}
    crossing = [a for a in picture.graph.arrows if home[a.source] != home[a.target]]
    assert sum(len(line.arrows) for line in picture.lines) == len(crossing)
    for line in picture.lines:
        assert line.source != line.target
    todo = {n: {line.source for line in picture.lines if line.target == n} for n in range(len(picture.boxes))}
    while todo:
        ready = [n for n, before in todo.items() if not before & set(todo)]
        assert ready, "a circle"
        for n in ready:
            del todo[n]


def test_nothing_is_folded_that_fits():
    drawing = torch.draw(net(), torch.ones(5, 3))
    check(drawing.picture)
    assert not drawing.picture.hidden() and "folded" not in repr(drawing)
    assert len(drawing.picture.boxes) == len(drawing.graph.items)
    shown = frames(drawing)
    assert shown[0] == "Net" and "blocks.0 · Block" in shown
    assert any(f.startswith("first · Linear — nets.py:") for f in shown)
    assert any("return x + h * 0.5 - h.mean()" in f for f in shown)  # several operations of one line


@pytest.mark.parametrize(("depth", "expected"), [
    (0, ["x", "Net", "result"]),
    (1, ["x", "first · Linear", "blocks.0 · Block", "blocks.1 · Block", "last · Linear", "result"]),
])
def test_depth(depth, expected):
    drawing = torch.draw(net(), torch.ones(5, 3), depth=depth)
    check(drawing.picture)
    assert titles(drawing) == expected


def test_depth_two_unfolds_the_blocks():
    drawing = torch.draw(net(), torch.ones(5, 3), depth=2)
    check(drawing.picture)
    assert {"blocks.0.inner · Linear", "blocks.1.norm · LayerNorm", "ReluBackward0", "first.weight"} <= set(
        titles(drawing))


def test_a_fold_says_what_it_holds():
    drawing = torch.draw(net(), torch.ones(5, 3), depth=1)
    text = drawing.mermaid()
    assert "7 operations" in text and "4 parameters, 112 B" in text and "folded to 6 boxes" in repr(drawing)
    whole = torch.draw(net(), torch.ones(5, 3), depth=0)
    (box,) = (b for b in whole.picture.boxes if b.kind == FOLD)
    held = sum(s.bytes for item in whole.graph.items for s in item.saved)
    assert held == whole.graph.saved > 0
    (row,) = (text for kind, text in caption(box, whole.graph).rows if kind == "saved")
    assert row == f"saves {held} B"


def test_the_deepest_level_that_fits():
    model, x = net(6), torch.ones(5, 3)
    few, more, all_ = (torch.draw(model, x, fold=fold) for fold in (12, 60, 500))
    for drawing in (few, more, all_):
        check(drawing.picture)
    assert titles(few)[1:4] == ["first · Linear", "blocks.0 · Block", "blocks.1 · Block"]
    assert "blocks.5.inner · Linear" in titles(more) and len(more.picture.boxes) <= 60
    assert not all_.picture.hidden()


def test_many_modules():
    drawing = torch.draw(net(100), torch.ones(5, 3), fold=40)
    check(drawing.picture)
    found = titles(drawing)
    assert found[1] == "first · Linear" and found[2] == "blocks.0 · Block" and found[-2] == "last · Linear"
    assert len(found) <= 40 and "86 × Block" in found and "602 operations" in drawing.dot()


def test_a_long_chain():
    y = chain(100_000)
    began = time.process_time()
    drawing = torch.draw(y)
    text = drawing.dot()
    took = time.process_time() - began
    check(drawing.picture)
    assert len(drawing.picture.boxes) <= 17 and "99,98" in text
    y.sum().backward()
    assert drawing.picture.lines[0].norm is not None
    assert took < 30


def test_a_long_chain_of_lines():
    x = torch.ones(2, requires_grad=True)
    with torch.draw.recording():
        y = x
        for _ in range(300):
            y = (y * 1.5).sin()
            y = y.cos()
    drawing = torch.draw(y, fold=30)
    check(drawing.picture)
    assert len(drawing.picture.boxes) <= 30
    assert any("y = (y * 1.5).sin()" in t for t in titles(drawing))


def test_many_leaves():
    drawing = torch.draw(torch.stack([torch.ones(2, requires_grad=True) for _ in range(200)]).sum())
    check(drawing.picture)
    found = titles(drawing)
    assert found.count("leaf") == 8 + 5 and "187 leaves" in found and found[-3:] == ["StackBackward0",
        "SumBackward0", "result = 400"]


def test_one_line_with_many_operations():
    x = torch.ones(2, requires_grad=True)

    def run(y):
        for _ in range(1000): y = y * 1.5  # noqa: E701
        return y

    drawing = torch.draw(run, x)
    check(drawing.picture)
    found = titles(drawing)
    assert found[:2] == ["y", "MulBackward0"] and "985 operations" in found and len(found) < 40


@pytest.mark.parametrize("fold", [-5, 0, 1, 7])
def test_small_limits(fold):
    drawing = torch.draw(chain(50), fold=fold)
    check(drawing.picture)
    assert len(drawing.picture.boxes) <= 7


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(7, 40), st.sampled_from([None, 0, 1, 2]))
def test_random_graphs(seed, count, fold, depth):
    choose = random.Random(seed)
    values = [torch.ones(2, requires_grad=True) for _ in range(3)]
    layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(2, 2))])

    def program():
        for _ in range(count):
            a, b = choose.choice(values), choose.choice(values)
            if (what := choose.randrange(5)) < 2:
                values.append(layers[what](a) + b)
            elif what == 2:
                values.append(a * b)
            else:
                values.append(torch.cat([a, b]).sum() + values[-1].exp())
        return values[-2:]

    picture = torch.draw(program, fold=fold, depth=depth).picture
    check(picture)
    if depth is None:
        assert len(picture.boxes) <= fold
    assert Picture(picture.graph, 10**6).hidden() is False


def test_norms_of_lines():
    arrows = [Arrow(0, 1, norm=3.0), Arrow(0, 1, norm=4.0), Arrow(0, 1)]
    assert Line(0, 1, arrows).norm == 5
    assert Line(0, 1, arrows[2:]).norm is None
    nan, inf = float("nan"), float("inf")
    assert Line(0, 1, [arrows[0], Arrow(0, 1, norm=inf)]).norm == inf
    assert Line(0, 1, [Arrow(0, 1, norm=nan), Arrow(0, 1, norm=inf)]).norm != inf


def test_calls_that_follow_on_each_other():
    cell = torch.nn.LSTMCell(2, 3)

    def unroll(xs):
        h = None
        for x in xs:
            h = cell(x, h)
        return h[0]

    for drawing in (torch.draw(unroll, torch.ones(4, 1, 2)), torch.draw(unroll, torch.ones(4, 1, 2))):
        check(drawing.picture)
        assert sum(f.startswith("LSTMCell — test_folding.py:") for f in frames(drawing)) == 4
        outside = [part for part in drawing.picture.frame.parts if isinstance(part, int)]
        assert len([i for i in outside if drawing.picture.boxes[i].kind == "leaf"]) == 4
    assert titles(torch.draw(unroll, torch.ones(4, 1, 2), depth=0)).count("LSTMCell") == 4


def test_a_module_that_is_called_again():
    layer = torch.nn.Linear(2, 2)

    def program(x):
        x = layer(x)
        x = torch.relu(x)
        return layer(x)

    drawing = torch.draw(program, torch.ones(1, 2))
    check(drawing.picture)
    assert sum(f.startswith("Linear") for f in frames(drawing)) == 0  # one operation each, and shared parameters
    assert sum(box.group is not None and label(box.group) == "Linear" for box in drawing.picture.boxes) == 2
