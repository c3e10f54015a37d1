"""A diagnosis changes nothing that a program computes, and leaves nothing behind; and what the record has."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import wengert as torch
from wengert import nn
from wengert.diagnose import sessions
from wengert.diagnose.record import Record
from wengert.diagnose.rule import Rule
from wengert.graph.modes import modes

from .programs import PROGRAMS, mlp, train

if TYPE_CHECKING:
    from pathlib import Path


class Nosy(Rule):
    """Wants to be told everything."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.told: set[str] = set()

    def called(self, event, call, result):
        self.told.add("called")
        assert event.number and event.inputs is not None
        assert event.place is None or event.place.line
        str(event), self.record.module_path(event.modules)

    def calling(self, call):
        self.told.add("calling")
        assert call.name

    def module_called(self, module, args, output, site):
        self.told.add("module_called")
        assert self.record.made(module) is not None

    def cut(self, event, source, result):
        self.told.add("cut")
        self.record.name_of(source)

    def wrote(self, tensor, name, site):
        self.told.add("wrote")

    def backward_begins(self, backward):
        self.told.add("backward_begins")
        assert backward.roots is not None
        str(backward.place)

    def gradient(self, node, grads, raw):
        self.told.add("gradient")

    def backward_ended(self, backward):
        self.told.add("backward_ended")

    def step_begins(self, step):
        self.told.add("step_begins")
        assert step.optimizer is not None
        self.record.named_parameters()

    def step_ended(self, step):
        self.told.add("step_ended")
        for p in self.record.held_parameters():
            self.record.gradient_of(p)

    def window_ended(self):
        self.told.add("window_ended")
        self.record.trained()

    def ended(self):
        self.told.add("ended")


def watched(f, rules: Any = (Nosy,)) -> tuple[Any, Any]:
    """What ``f`` gives under diagnosis, and the diagnosis."""
    watching = sessions.begin(rules=rules)
    try:
        return f(), watching
    finally:
        sessions.end()
        gc.collect()


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_numbers(name, capsys):
    torch.manual_seed(0)
    expected = PROGRAMS[name]()
    before = modes()
    torch.manual_seed(0)
    found, watching = watched(PROGRAMS[name])
    assert found == expected
    assert not watching.failures
    assert modes() is before
    assert "internal" not in capsys.readouterr().err
    torch.manual_seed(0)
    assert PROGRAMS[name]() == expected


# -- what is left behind ----------------------------------------------------------------------------------------------


def codes() -> dict[str, Any]:
    parts = {f"Tensor.{n}": getattr(torch.Tensor, n) for n in ("detach", "item", "numpy", "backward", "tolist")}
    parts |= {"data": torch.Tensor.data.fget, "Module": nn.Module.__init__, "train": nn.Module.train,
        "setstate": nn.Module.__setstate__, "zero_grad": torch.optim.Optimizer.zero_grad,
        "parameter": nn.Parameter.__new__, "grad": torch.autograd.grad, "no_grad": torch.no_grad.__enter__,
        "call": torch.no_grad.__call__, "set": torch.set_grad_enabled.__init__}
    return {name: getattr(f, "__code__", f) for name, f in parts.items()}


def test_everything_is_as_before():
    watched(PROGRAMS["plain"])  # from the first one on, functions are as for any mode
    before = codes()
    scopes = dict(vars(torch.no_grad)), dict(vars(torch.set_grad_enabled))
    for _ in range(3):
        watched(PROGRAMS["plain"])
    assert codes() == before
    assert (dict(vars(torch.no_grad)), dict(vars(torch.set_grad_enabled))) == scopes
    from wengert.nn.modules import module
    from wengert.optim import optimizer

    assert not optimizer._global_optimizer_pre_hooks and not optimizer._global_optimizer_post_hooks
    assert not module._global_forward_hooks and not module._global_forward_pre_hooks


def test_diagnoses_do_not_nest():
    with torch.diagnose.watch(), pytest.raises(RuntimeError, match="do not nest"):
        torch.diagnose.watch().__enter__()
    with torch.diagnose.watch() as report:
        pass
    assert not report


class Failing(Rule):
    def gradient(self, node, grads, raw):
        raise KeyError("gradient")

    def ended(self):
        raise AssertionError("never asked")


class FailingEarly(Rule):
    def called(self, event, call, result):
        raise ZeroDivisionError("called")


class FailingFinds(Rule):
    def step_ended(self, step):
        if step.number:
            raise ValueError("in a generator")
        yield


def test_rules_that_fail_are_left_out(capsys):
    torch.manual_seed(0)
    expected = PROGRAMS["plain"]()
    torch.manual_seed(0)
    found, watching = watched(PROGRAMS["plain"], (Failing, FailingEarly, FailingFinds, Nosy))
    assert found == expected
    told = capsys.readouterr().err
    assert set(watching.failures) == {"Failing", "FailingEarly", "FailingFinds"}
    assert told.count("internal") == 3 and "ZeroDivisionError: called" in told
    assert {"called", "gradient", "step_ended", "ended"} <= watching.rules[-1].told


def test_forked_processes_do_not_report(tmp_path: Path):
    script = tmp_path / "forked.py"
    script.write_text("import os, torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "child = os.fork()\n"
        "(w * 2).sum().backward()\n"
        "if child:\n"
        "    os.waitpid(child, 0)\n"
        "print('end', flush=True)\n")
    done = subprocess.run([sys.executable, "-m", "wengert", "run", "--explain", "--json", "out.json", str(script)],
        capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "end\nend\n"
    assert done.stderr.count("no findings") == 1


# -- bounds -----------------------------------------------------------------------------------------------------------


def reachable(record: Record) -> int:
    todo = [event for _, event in (*record.events.items(), *record.arrays.items())]
    todo += [event for _, event in record.numbers]
    seen: dict[int, Any] = {}
    while todo:
        event = todo.pop()
        if id(event) not in seen:
            seen[id(event)] = event
            todo += event.inputs
    return len(seen)


def long_run(steps: int, step: Any) -> tuple[int, int]:
    """The events that can be reached after ``steps``, and the objects that there are."""

    def run() -> tuple[int, int]:
        for _ in range(steps):
            step()
        gc.collect()
        return reachable(sessions.current.record), len(gc.get_objects())

    return watched(run)[0]


def ema() -> Any:
    model, average = mlp(), mlp()
    for m in (model, average):
        m.insert(1, nn.BatchNorm1d(8))
    optimizer = torch.optim.Adam(model.parameters())
    memory = []

    def step() -> None:
        train(model, optimizer, 1)
        with torch.no_grad():
            for p, q in zip(average.parameters(), model.parameters()):
                p.mul_(0.99).add_(q, alpha=0.01)
        memory.append(float(model[0].weight.detach().sum()))
        del memory[:-10]

    return step


def cut_again() -> Any:
    state = {"x": torch.randn(4, requires_grad=True)}

    def step() -> None:
        x = state["x"]
        (g,) = torch.autograd.grad(x.pow(2).sum(), x)
        state["x"] = (x.detach() - 0.01 * g).detach().requires_grad_()
        state["x"] = state["x"].detach().requires_grad_()

    return step


def many_optimizers() -> Any:
    def step() -> None:
        model = mlp()
        train(model, torch.optim.SGD(model.parameters(), 0.1), 1)

    return step


@pytest.mark.parametrize("make", [ema, cut_again, many_optimizers])
def test_records_do_not_grow(make):
    torch.manual_seed(0)
    short, long = long_run(101, make()), long_run(501, make())
    assert long[0] < short[0] + 300
    assert long[1] < short[1] + 4000, "objects are kept"


def test_windows_without_steps_are_bounded():
    def run() -> Any:
        x = torch.ones(2)
        for _ in range(70_000):
            x = x * 1.0
        return sessions.current.record.detailed, sessions.current.record.event_count

    (detailed, count), _ = watched(run)
    assert not detailed
    assert count < 61_000


# -- what is known ----------------------------------------------------------------------------------------------------


class Offs(Rule):
    """The scopes in which calls were made where gradients were off."""

    def __init__(self, record):
        super().__init__(record)
        self.lines = []

    def called(self, event, call, result):
        if event.off is not None:
            self.lines.append((event.off.kind, event.off.place.text))


def off_lines(f) -> list[tuple[str, str]]:
    return watched(f, (Offs,))[1].rules[0].lines


def test_what_switched_gradients_off():
    w = torch.ones(2, requires_grad=True)

    def scopes() -> None:
        with torch.no_grad():
            w * 1
            with torch.enable_grad():
                w * 2
                with torch.set_grad_enabled(True):
                    w * 3
            w * 4
        with torch.set_grad_enabled(False):
            w * 5
        with torch.inference_mode():
            w * 6
        with torch.inference_mode(False):
            w * 7

    assert off_lines(scopes) == [("no_grad", "with torch.no_grad():")] * 2 + [
        ("set_grad_enabled", "with torch.set_grad_enabled(False):"), ("inference_mode", "with torch.inference_mode():")]

    def calls() -> None:
        torch.set_grad_enabled(False)
        w * 1
        with torch.set_grad_enabled(True):
            w * 2
        w * 3
        with torch.no_grad():
            w * 4
        torch.set_grad_enabled(True)
        w * 5

    off = "set_grad_enabled", "torch.set_grad_enabled(False)"
    assert off_lines(calls) == [off] * 3


def test_decorators_that_switch_gradients_off():
    w = torch.ones(2, requires_grad=True)

    def run() -> None:
        @torch.no_grad()
        def called():
            w * 1

        @torch.no_grad
        def bare():
            w * 1

        @torch.set_grad_enabled(False)
        def switched():
            w * 1

        called(), bare(), switched()
        w * 2

    assert off_lines(run) == [("no_grad", "@torch.no_grad()"), ("no_grad", "@torch.no_grad"),
        ("set_grad_enabled", "@torch.set_grad_enabled(False)")]


def test_steps_inside_of_steps_count_once():
    _, watching = watched(PROGRAMS["optimizers"])
    steps = [type(s.optimizer).__name__ for s in watching.record.steps if s.optimizer is not None]
    assert steps.count("LBFGS") == 0 or steps.count("LBFGS") == 4
    record = watching.record
    assert record.step_count == 4 + 15 + 15 + 4 + 5 + 5 + 5


def test_copies_of_modules_are_known():
    import copy

    def run() -> Any:
        model = mlp()
        other = copy.deepcopy(model)
        other(torch.ones(1, 4))
        record = sessions.current.record
        return [record.made(m).place.text for m in (model, other, *other)], len(record.roots())

    places, roots = watched(run)[0]
    assert places == ["return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))"] + [
        "other = copy.deepcopy(model)"] * 4
    assert roots == 2


def test_equal_code_of_different_files(tmp_path):
    from wengert.diagnose.places import Place, place

    sites = []
    for name in ("one.py", "two.py"):
        scope: dict[str, Any] = {}
        exec(compile("def f(w):\n    return w * 2\n", str(tmp_path / name), "exec"), scope)
        with torch.diagnose.watch():
            node = scope["f"](torch.ones(1, requires_grad=True)).grad_fn
        sites.append(place(node.__dict__["_wg_site"]))
    assert sites == [Place(str(tmp_path / name), 2, "f") for name in ("one.py", "two.py")]


def test_threads_have_their_own_scopes():
    import threading

    record = Record()
    record.here.off = record.here.modules  # type: ignore[assignment]
    seen = []
    thread = threading.Thread(target=lambda: seen.append(record.here.off))
    thread.start()
    thread.join()
    assert seen == [None]


def test_saved_models_know_nothing_of_a_diagnosis():
    import io

    def run() -> bytes:
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        train(model, optimizer, 15)
        file = io.BytesIO()
        torch.save({"model": model, "optimizer": optimizer, "copy": copy.deepcopy(model)}, file)
        return file.getvalue()

    import copy

    saved = watched(run, None)[0]
    assert b"diagnose" not in saved
    assert b"nullcontext" not in saved
    model = torch.load(io.BytesIO(saved), weights_only=False)["copy"]
    assert not model._forward_hooks
