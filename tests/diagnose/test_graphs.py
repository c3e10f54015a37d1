"""What is said about graphs that are kept, gone or written to, and how exceptions are explained."""

from __future__ import annotations

import copy
import pickle
import sys
from collections import deque

import numpy as np
import pytest

import wengert
import wengert as torch
from wengert import diagnose, nn
from wengert.diagnose import holders, sessions, statements
from wengert.diagnose.places import Place


def watched(f, *args):
    """The findings on a function that may raise, and what it raised."""
    error = None
    try:
        with diagnose.watch() as report:
            f(*args)
    except RuntimeError as e:
        error = e
    return report, error


def ids(report):
    return [f.id for f in report if f.severity != "info"]


def line_of(text):
    """The place of the line in this file that ends with the mark."""
    with open(__file__, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}"))


# -- leaks ------------------------------------------------------------------------------------------------------------


def training(keep, steps=9):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(5, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep(loss)


def test_a_leak_names_the_container_and_its_size():
    kept = []

    def keep(loss):
        kept.append(loss)  # kept here

    report, _ = watched(training, keep)
    assert ids(report) == ["graph-leak"]
    (finding,) = [f for f in report if f.id == "graph-leak"]
    assert finding.line == line_of("kept here") and finding.file == __file__
    assert "kept (list)" in finding.evidence[0]
    assert "nodes" in finding.evidence[1] and "bytes" in finding.evidence[1]


@pytest.mark.parametrize("window", [deque(maxlen=4), deque(maxlen=12)])
def test_a_window_of_losses_is_no_leak(window):
    report, _ = watched(training, window.append, 30)
    assert "graph-leak" not in ids(report)


def test_a_list_that_is_cut_is_no_leak():
    kept = []

    def keep(loss):
        kept.append(loss)
        del kept[:-5]

    report, _ = watched(training, keep, 30)
    assert "graph-leak" not in ids(report)


def test_a_total_that_begins_anew_in_every_epoch_is_a_leak():
    def epochs():
        torch.manual_seed(0)
        w = nn.Parameter(torch.randn(3))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(4):
            total = 0
            for _ in range(6):
                loss = (w * torch.randn(3)).pow(2).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total = total + loss  # summed here

    report, _ = watched(epochs)
    assert [(f.id, f.line) for f in report if f.severity == "error"] == [("graph-leak", line_of("summed here"))]


def test_models_are_left_as_they_were():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with diagnose.watch(model, optimizer):
        for _ in range(6):
            optimizer.zero_grad()
            model(torch.randn(2, 3)).pow(2).mean().backward()
            optimizer.step()
        twin = copy.deepcopy(model)
        pickle.loads(pickle.dumps(model))
    assert not model._forward_hooks
    assert twin(torch.ones(1, 3)).shape == (1, 1)


# -- names and statements ---------------------------------------------------------------------------------------------


class Box:
    def __init__(self):
        self.rows = {"a": [torch.ones(1, requires_grad=True) * 2]}


def test_what_holds_a_tensor_has_a_name():
    box = Box()
    (hold,) = [h for h in holders.tensors() if h.path[0].name == "box"]
    assert hold.text == "box.rows['a'][0]" and hold.value is box.rows["a"][0]


def test_a_search_at_its_limit_tells_what_it_has_reached(monkeypatch):
    box, crowd = Box(), {"a": {"b": [[i] for i in range(3000)]}}
    named = [v for v in holders._named([sys._getframe()]) if v[0] is box or v[0] is crowd]
    monkeypatch.setattr(holders, "_named", lambda frames: named)
    monkeypatch.setattr(holders, "LIMIT", 2000)
    (hold,) = holders.tensors()
    assert hold.text == "box.rows['a'][0]" and hold.value is box.rows["a"][0]


def test_holders_of_closures_and_methods():
    inner = torch.ones(1, requires_grad=True) * 2

    def outer(inner):
        def f():
            return inner

        return f

    function = outer(inner)
    del inner
    assert function is not None
    assert any(h.path[0].name == "function" and h.path[-1].kind == "cell" for h in holders.tensors())


SOURCE = """\
class Log:
    def __init__(self):
        self.rows = []
    def add(self, x):
        self.rows.append(x.item())
        self.rows.append((1, x))
def put(store, x):
    store["k"] = x
def main(log):
    table = {}
    put(table, 3)
    total = 0
    for x in range(3):
        total = total + x
    table = dict(a=1)
    other = x + 1
"""


def test_statements_that_store(tmp_path, monkeypatch):
    file = tmp_path / "log.py"
    file.write_text(SOURCE)
    name = str(file)
    monkeypatch.setattr(statements, "files_with", lambda word: [name])
    link = holders.Link
    assert statements.storing((link("global", "log", name), link("attribute", "rows"))).place.line == 6
    assert statements.storing((link("global", "table", name),), True).place.line == 8
    assert statements.accumulates(Place(name, 14)) and not statements.accumulates(Place(name, 16))


# -- graphs that are gone ---------------------------------------------------------------------------------------------


def state():
    w = torch.ones(2, requires_grad=True)
    h = torch.ones(2)
    for _ in range(3):
        h = torch.tanh(h * w)  # carried here
        h.sum().backward()  # walked here


def test_a_second_backward_names_the_first_and_what_was_carried():
    report, error = watched(state)
    assert str(error).startswith("Trying to backward through the graph a second time")
    (finding,) = report
    assert finding.id == "backward-twice" and finding.line == line_of("walked here")
    assert f"test_graphs.py:{line_of('carried here')}" in finding.fix and "h.detach()" in finding.fix
    assert any(note.startswith("wengert: ") and "[backward-twice]" in note for note in error.__notes__)


def test_an_exception_is_explained_during_and_after_a_diagnosis():
    with diagnose.watch():
        with pytest.raises(RuntimeError) as caught:
            state()
        during = wengert.explain(caught.value)
    after = wengert.explain(caught.value)
    for found in (during, after):
        assert [f.id for f in found.findings] == ["backward-twice"]
        assert "carried over" in str(found)


def test_an_exception_is_explained_without_a_diagnosis(monkeypatch):
    monkeypatch.setattr(sessions, "last", None)
    with pytest.raises(RuntimeError) as caught:
        state()
    found = wengert.explain(caught.value)
    assert not found.findings and "detach() what is carried" in str(found)
    with pytest.raises(ZeroDivisionError) as other:
        _ = 1 / 0
    assert str(wengert.explain(other.value)) == "division by zero"


def test_an_error_of_another_run_is_not_explained_with_facts_of_the_last():
    with pytest.raises(RuntimeError) as early:
        loss = torch.ones(1, requires_grad=True).exp().sum()
        loss.backward()
        loss.backward()
    watched(state)
    (found,) = wengert.explain(early.value).findings
    assert found.id == "backward-twice" and not found.evidence


def test_the_cause_of_an_exception_is_explained():
    def wrapped():
        try:
            state()
        except RuntimeError as error:
            raise RuntimeError("training failed") from error

    report, error = watched(wrapped)
    assert ids(report) == ["backward-twice"] and str(error) == "training failed"
    assert any("[backward-twice]" in note for note in error.__notes__)


def test_errors_that_no_rule_knows_get_advice():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.grad((x * 2).sum(), torch.ones(1, requires_grad=True))
    assert "allow_unused" in str(wengert.explain(caught.value))
    with pytest.raises(RuntimeError) as caught:
        x.numpy()
    assert "x.detach().numpy()" in str(wengert.explain(caught.value))


def test_such_an_error_that_leaves_the_program_has_a_note():
    def f():
        copy.deepcopy(torch.ones(2, requires_grad=True) * 2)

    report, error = watched(f)
    assert not report
    assert any("Only leaves can be copied" in note for note in error.__notes__)


def test_numpy_of_a_trained_value_says_where_its_history_comes_from():
    def f():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()  # made here
        y.numpy()  # converted here

    report, _ = watched(f)
    (finding,) = report
    assert (finding.id, finding.line) == ("cut-numpy", line_of("converted here"))
    assert f"test_graphs.py:{line_of('made here')}" in finding.message


# -- writes -----------------------------------------------------------------------------------------------------------


def test_who_saved_and_who_wrote():
    def f():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()  # saved here
        y.mul_(2)  # written here
        y.sum().backward()

    report, error = watched(f)
    (finding,) = report
    assert (finding.id, finding.line) == ("inplace-modified", line_of("written here"))
    text = str(finding)
    assert f"test_graphs.py:{line_of('saved here')}" in text and "mul_" in text and "version 0" in text
    assert "modified by an inplace operation" in str(error)


def test_a_write_through_a_view_is_found():
    def f():
        x = torch.ones(3, 3, requires_grad=True)
        y = torch.sigmoid(x)
        row = y[1]
        row += 1  # through a view
        y.sum().backward()

    report, _ = watched(f)
    assert [(f.id, f.line) for f in report] == [("inplace-modified", line_of("through a view"))]


@pytest.mark.parametrize("way", ["data", "numpy", "element"])
def test_writes_past_the_counter(way):
    def f():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        if way == "data":
            y.data.mul_(2)
        elif way == "numpy":
            y.detach().numpy()[...] = 0
        else:
            y.data[0] = 5
        y.sum().backward()

    report, error = watched(f)
    assert error is None and ids(report) == ["data-written"]


def test_writes_that_change_nothing_or_come_first_are_no_matter():
    def f():
        x = torch.ones(3, requires_grad=True)
        x.data.mul_(2)
        y = x.exp()
        y.data.mul_(1)
        array = y.detach().numpy()
        assert array.sum() > 0
        y.sum().backward()
        array[...] = 0
        np.copyto(x.detach().numpy(), 1)

    report, _ = watched(f)
    assert not ids(report)


# -- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_run_as_often_as_without_a_diagnosis():
    from wengert.utils.checkpoint import checkpoint

    calls = []

    def f(x):
        calls.append(1)
        return x.exp() * 2

    def run():
        x = torch.ones(2, requires_grad=True)
        checkpoint(f, x, use_reentrant=False).sum().backward()
        checkpoint(f, x, use_reentrant=True).sum().backward()

    run()
    count = len(calls)
    report, _ = watched(run)
    assert len(calls) == 2 * count
    assert ids(report) == ["checkpoint-impure"]
    assert report[0].severity == "warning" and "calls" in report[0].message
