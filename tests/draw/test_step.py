"""The memory over a training step: who holds how much, and its picture."""

from __future__ import annotations

import gc
import xml.etree.ElementTree as ET

import pytest

import wengert as torch
from wengert import nn
from wengert.arrays import memory
from wengert.draw import timeline
from wengert.draw.memory import (
    BACKWARD,
    BEFORE,
    ELSE,
    FLOWING,
    FORWARD,
    GRADIENTS,
    OPTIMIZER,
    OTHERS,
    PARAMETERS,
    STATE,
)
from wengert.graph import anomaly
from wengert.graph.modes import RECORD, modes

SVG = "{http://www.w3.org/2000/svg}"
MIB = 2**20
counted = pytest.mark.skipif(not memory.available, reason="memory is counted by the native extension")


class Training:
    """A step of which every line holds a known number of bytes."""

    def __init__(self):
        self.model = nn.Linear(512, 512, bias=False)  # 1 MiB
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.x = torch.ones(1024, 512)  # 2 MiB

    def __call__(self):
        self.optimizer.zero_grad()
        h = self.model(self.x)  # line of the product: 2 MiB
        y = h.exp()  # line of exp: 2 MiB, which it keeps
        loss = y.sum()
        del h, y
        loss.backward()
        self.optimizer.step()
        return "done"

    def draw(self):
        return torch.draw.step(self, self.model, self.optimizer)


@pytest.fixture
def training():
    made = Training()
    made()
    return made


def by_line(row):
    return {who if isinstance(who, str) else who.text.partition(" = ")[2].partition("  #")[0]: count
        for who, count in row.items()}


@counted
def test_who_holds_how_much(training):
    drawing = training.draw()
    assert drawing.result == "done"
    rows = [by_line(row) for row in drawing.step.held()]
    samples = drawing.step.samples
    begin, end = rows[0], rows[-1]
    assert begin[PARAMETERS] == MIB and begin[STATE] >= 2 * MIB and begin[GRADIENTS] == MIB
    exp = next(row for row, sample in zip(rows, samples) if sample.name == "exp")
    assert exp["self.model(self.x)"] == exp["h.exp()"] == 2 * MIB
    assert exp.get(GRADIENTS, 0) == 0  # zero_grad has dropped them
    backward = next(row for row, sample in zip(rows, samples) if sample.name == "ExpBackward0")
    assert backward.get("self.model(self.x)", 0) == 0  # nobody keeps what exp has read
    assert backward["h.exp()"] == 2 * MIB and backward[FLOWING] >= 2 * MIB
    assert end[GRADIENTS] == MIB and end.get("h.exp()", 0) == 0 and end.get(FLOWING, 0) == 0
    assert all(row[BEFORE] >= 2 * MIB for row in rows)


@counted
def test_all_is_accounted_for(training):
    drawing = training.draw()
    for sample, row in zip(drawing.step.samples, drawing.step.held()):
        assert sum(row.values()) == pytest.approx(sample.total, abs=4096)
        assert row[ELSE] < MIB / 4


@counted
def test_the_peak(training):
    step = training.draw().step
    top = step.samples[step.peak]
    assert top.total == max(s.total for s in step.samples) and top.phase == BACKWARD
    found = dict(step.at_peak())
    assert sum(found.values()) == pytest.approx(top.total, abs=4096)
    text = repr(timeline.StepDrawing(step))
    assert text.splitlines()[0].startswith("most held: ") and "    1 MiB  parameters" in text
    assert "test_step.py:" in text and "y = h.exp()" in text


def test_phases(training):
    phases = [sample.phase for sample in training.draw().step.samples]
    assert [p for i, p in enumerate(phases) if not i or phases[i - 1] != p] == [FORWARD, BACKWARD, OPTIMIZER, FORWARD]


def test_lines_of_the_backward_are_those_of_the_forward(training):
    samples = training.draw().step.samples
    (exp,) = (s for s in samples if s.name == "ExpBackward0")
    assert exp.place.text.startswith("y = h.exp()")
    (step,) = (s for s in samples if s.name == "Adam.step")
    assert step.place.text == "self.optimizer.step()"


def test_without_model_and_optimizer(training):
    drawing = torch.draw.step(training)
    assert {s.phase for s in drawing.step.samples} == {FORWARD, BACKWARD, OPTIMIZER}
    rows = list(drawing.step.held())
    assert rows[0].get(PARAMETERS, 0) == 0
    if memory.available:
        assert rows[0][BEFORE] >= 6 * MIB and rows[-1][STATE] >= 2 * MIB


def test_the_first_step_makes_the_state():
    training = Training()
    rows = list(training.draw().step.held())
    assert rows[0].get(STATE, 0) == 0 and rows[-1][STATE] >= 2 * MIB


def test_views_and_writes_are_not_counted_again():
    x = torch.ones(MIB // 4)

    def step():
        y = x.view(512, 512)
        y.add_(1)
        torch.add(y, 1, out=y)
        return y[0].mul(2)

    rows = [by_line(row) for row in torch.draw.step(step).step.held()]
    assert max(sum(n for who, n in row.items() if who not in (BEFORE, ELSE)) for row in rows) <= 2048


def test_a_step_that_raises_leaves_nothing_on():
    def step():
        torch.ones(2).exp()
        raise KeyError("here")

    with pytest.raises(KeyError):
        torch.draw.step(step)
    assert modes() is RECORD and anomaly.watch is None
    with pytest.raises(TypeError, match="takes a function that does a training step, not Tensor"):
        torch.draw.step(torch.ones(2))


def test_the_numbers_are_those_without():
    results = []
    for watched in (False, True):
        torch.manual_seed(0)
        training = Training()
        for _ in range(3):
            if watched:
                training.draw()
            else:
                training()
        results.append(training.model.weight.detach().clone())
    assert torch.equal(*results)


def test_it_keeps_nothing_alive(training):
    gc.collect()
    before = memory.memory_allocated() if memory.available else 0
    drawing = training.draw()
    if memory.available:
        assert memory.memory_allocated() - before < MIB / 2
    assert drawing.step.changes


def test_without_counts(monkeypatch, training):
    monkeypatch.setattr(memory, "available", False)
    step = training.draw().step
    assert max(s.total for s in step.samples) >= 8 * MIB - MIB and step.before == 0
    ET.fromstring(timeline.StepDrawing(step).svg())


def test_in_a_diagnosis(training):
    with torch.diagnose.watch(training.model, training.optimizer):
        drawing = training.draw()
    assert any(s.name == "exp" for s in drawing.step.samples)


# -- the picture ------------------------------------------------------------------------------------------------------


def test_svg(training, tmp_path):
    drawing = training.draw()
    root = ET.fromstring(drawing._repr_svg_())
    areas = {p.find(f"{SVG}title").text: p.get("fill") for p in root.iter(f"{SVG}polygon")}
    assert {PARAMETERS, STATE, GRADIENTS, FLOWING} <= set(areas) and len(set(areas.values())) == len(areas)
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    assert "forward" in texts and "backward" in texts and any("y = h.exp()" in t for t in texts)
    moments = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "moment"]
    assert len(moments) == len(drawing.step.samples)
    drawing.save(tmp_path / "step.svg")
    drawing.save(tmp_path / "step.html")
    assert (tmp_path / "step.svg").read_text(encoding="utf-8") == drawing.svg()
    assert drawing.svg() in (tmp_path / "step.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"end in \.svg, \.html, not '\.dot'"):
        drawing.save(tmp_path / "step.dot")


@counted
def test_areas_stand_on_each_other(training):
    chart = timeline.Chart(training.draw().step)
    assert chart.rows[chart.peak] and chart.samples[chart.peak].total == max(s.total for s in chart.samples)
    assert sum(chart.rows[chart.peak]) == pytest.approx(chart.samples[chart.peak].total, abs=4096)
    assert chart.y(0) == timeline.TOP + timeline.BAND + timeline.HIGH
    assert timeline.TOP + timeline.BAND <= chart.y(chart.most) < chart.y(0)


def test_long_steps_and_many_lines():
    code = "\n".join(f"y{i} = x * {i}" for i in range(30)) + "\nfor i in range(2000): x = x + 1\n"
    x = torch.ones(1000)
    drawing = torch.draw.step(lambda: exec(compile(code, "long.py", "exec"), {"x": x}))
    assert len(drawing.step.samples) > 2000
    chart = timeline.Chart(drawing.step)
    assert len(chart.rows) <= timeline.BINS
    assert OTHERS in chart.names and sum(not isinstance(n, str) for n in chart.names) <= timeline.LINES
    assert max(s.total for s in chart.samples) == max(s.total for s in drawing.step.samples)
    ET.fromstring(drawing.svg())


def test_nothing_happens():
    drawing = torch.draw.step(lambda: None)
    ET.fromstring(drawing.svg())
    assert "0 operations" in repr(drawing) or "1 operation" in repr(drawing)
