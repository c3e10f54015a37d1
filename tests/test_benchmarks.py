"""The benchmark command: its figures are believed, so its arithmetic is tested; what it measures is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import figures, first, gate, machine, run, scale
from benchmarks.workloads import WORKLOADS

LIBRARIES = ["wengert", "torch"]
ROOT = Path(__file__).parents[1]


def result(ours: float, theirs: float) -> dict[str, Any]:
    return {name: {"seconds": s, "peak": s * 1e6, "losses": [1.0], "rounds": [s]}
        for name, s in zip(LIBRARIES, (ours, theirs), strict=True)}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(gate, "here", lambda: "this one, avx2")
    return {"this one, avx2": {"ratios": {"multiply": 0.6}}, "this one, avx512": {"ratios": {"multiply": 0.4}}}


def test_ratio() -> None:
    assert run.ratio_of(result(1.0, 2.0), LIBRARIES) == 0.5
    assert run.ratio_of({"wengert": {"seconds": 1.0}, "torch": {"error": "absent"}}, LIBRARIES) is None


def given(monkeypatch: pytest.MonkeyPatch, *ratios: float) -> None:
    """Let the measurements come out so, one after the other."""
    found = iter(ratios)
    monkeypatch.setattr(gate, "measure", lambda names: {name: next(found) for name in names})


def test_gate_passes_within_the_slack(written: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, 0.68)
    assert gate.gate(written, ["multiply"]) == 0


def test_gate_measures_again_before_it_fails(written: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    given(monkeypatch, 0.9, 0.65)
    assert gate.gate(written, ["multiply"]) == 0
    given(monkeypatch, 0.9, 0.8, 0.7, 0.8, 0.8)
    assert gate.gate(written, ["multiply"]) == 1
    assert "multiply: ratio 0.90, 0.80, 0.70, 0.80, 0.80, recorded 0.60" in capsys.readouterr().out


def test_gate_allows_more_on_another_processor(written: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gate, "here", lambda: "another, avx2")
    given(monkeypatch, 0.9)
    assert gate.gate(written, ["multiply"]) == 0
    assert "the highest of this one, avx2; this one, avx512; this is another, avx2" in capsys.readouterr().out
    given(monkeypatch, *[1.0] * gate.TRIES)
    assert gate.gate(written, ["multiply"]) == 1


def test_gate_keeps_the_ratios_of_other_machines(written: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path) -> None:
    monkeypatch.setattr(gate, "RECORDED", tmp_path / "ratios.json")
    gate.RECORDED.write_text(json.dumps(written))
    given(monkeypatch, 0.4, 0.5, 0.3)
    monkeypatch.setattr(gate, "all_workloads", lambda: ["multiply"])
    gate.record(3)
    now = json.loads(gate.RECORDED.read_text())
    assert now["this one, avx2"]["ratios"] == {"multiply": 0.4}  # the second highest
    assert now["this one, avx512"] == written["this one, avx512"]
    given(monkeypatch, 0.2)
    gate.record(1, ["square"])
    assert json.loads(gate.RECORDED.read_text())["this one, avx2"]["ratios"] == {"multiply": 0.4, "square": 0.2}


def test_a_machine_is_its_processor_instruction_set_and_generation() -> None:
    name, _, rest = machine.identity().removeprefix(machine.processor()).partition(", ")
    instructions, _, generation = rest.partition(", ")
    assert not name and f"({instructions})" in machine.describe()
    assert not generation or generation.startswith("family ")


def test_gate_holds_a_machine_to_the_most_exact_name() -> None:
    written: dict[str, Any] = {name: {} for name in ("a, avx2", "a, avx512, family 26", "a, avx512, family 26 model 2")}
    assert gate.recorded_as(written, "a, avx2, family 25 model 1") == "a, avx2"
    assert gate.recorded_as(written, "a, avx512, family 26 model 2") == "a, avx512, family 26 model 2"
    assert gate.recorded_as(written, "a, avx512, family 26 model 21") == "a, avx512, family 26"
    assert gate.recorded_as(written, "a, avx512, family 25 model 17") is None


def test_gate_asks_for_ratios_of_new_workloads(written: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    given(monkeypatch)
    assert gate.gate(written, ["new"]) == 1
    assert "not recorded: new" in capsys.readouterr().out


def test_every_workload_has_a_recorded_ratio() -> None:
    for record in json.loads(gate.RECORDED.read_text()).values():
        assert record["ratios"].keys() == gate.all_workloads().keys()


@pytest.mark.parity
def test_a_workload_is_measured_in_turns() -> None:
    assert 0 < gate.measure(["q-learning"])["q-learning"] < 10


def test_blas_is_held_or_not_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*machine.HELD, *machine.OTHERS):
        monkeypatch.setenv(name, "given")
    free, held = (machine.environment(2, blas) for blas in machine.BLAS)
    assert not {*machine.HELD, *machine.OTHERS} & {*free} and {*held} - {*free} == {*machine.HELD}
    assert ({held[name] for name in machine.HELD} == {"Haswell", "AVX2"}
        and {free[name] for name in machine.THREADS} == {"2"})
    found = machine.as_measured(1, "avx2")
    assert "NumPy" in found and "wengert" in found and machine.processor() in found


def test_losses_are_compared() -> None:
    assert run.loss_difference([1.0, 2.0], [1.0, 2.2]) == pytest.approx(0.2 / 2.2)
    assert run.loss_difference([], [1.0]) is None


def test_a_failed_child_is_shown() -> None:
    row = run.table_row(WORKLOADS[0], {"wengert": {"error": "boom"}, "torch": {"seconds": 1.0}}, LIBRARIES)
    assert "wengert: boom" in row


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_child_measures() -> None:
    found = run.run_child("wengert", "mlp-tiny", 1, 0.01)
    assert "error" not in found
    assert found["seconds"] > 0
    assert found["peak"] >= 0
    assert len(found["losses"]) == 5
    assert found["losses"][0] > found["losses"][4]  # it trains


def test_a_program_ends_at_its_first_step(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import torch\nx = torch.zeros(1, requires_grad=True)\nx.sum().backward()\n"
        "torch.optim.SGD([x], 0.1).step()\nraise ValueError('too late')\n")
    assert 0 < first.seconds("wengert", program) < 60
    program.write_text("import torch\n")
    with pytest.raises(subprocess.CalledProcessError):
        first.seconds("wengert", program)


def test_tables_are_put_into_their_places() -> None:
    page = "a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\n"
    put = figures.put(figures.put(page, "one", "1"), "two", "2")
    assert put == "a\n<!-- one -->\n1\n<!-- end -->\nb\n<!-- two -->\n2\n<!-- end -->\n"
    with pytest.raises(ValueError, match="no place for three"):
        figures.put(page, "three", "3")


def test_the_page_of_figures_has_all_rows() -> None:
    page = (figures.Path(figures.__file__).parents[1] / "docs" / "figures.md").read_text(encoding="utf-8")
    titles = [title for title, *_ in figures.STEPS.values()]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")]
    assert [rows.count(title) for title in titles] == [2] * len(titles)
    assert {*figures.NETWORKS.values(), *figures.PAIRS.values()} <= {*rows}


@pytest.mark.parametrize("kind", figures.STEPS)
def test_kinds_of_steps_give_the_same_gradient(kind: str) -> None:
    import wengert as torch

    layers, x = figures.layers_of(torch, "mlp", small=True)
    if kind in ("forward", "recorded"):
        assert figures.step_of(torch, layers, x, kind)().requires_grad is (kind == "recorded")
        return
    gradients = []
    for k in ("step", kind):
        figures.step_of(torch, layers, x, k)()
        gradients.append(layers[0][0].weight.grad.clone())
    torch.testing.assert_close(*gradients)


def test_scale_model() -> None:
    slow = scale.Transport(1e-5, 1e8)
    assert slow.all_reduce(1e6, 1) == 0
    assert slow.all_reduce(1e6, 2) < slow.all_reduce(1e6, 4) < slow.all_reduce(1e6, 4096) < 3 * slow.all_reduce(1e6, 2)
    step = scale.Step(0.1, 0.2, 0.01, 100e6)
    assert sum(step.buckets()) == 100e6 and step.buckets()[0] == 2**20
    for ranks in scale.RANKS:
        overlapped, after = (scale.simulate(step, slow, ranks, way) for way in (True, False))
        assert step.alone() < overlapped < after < overlapped + step.backward
    assert scale.simulate(step, scale.Transport(0, 1e15, 1e15), 8) == pytest.approx(step.alone())


@pytest.mark.parametrize("options", [[], ["--bandwidth", "125e6", "--latency", "50e-6"],
    ["--bandwidth", "12e9", "--latency", "2e-6"]])
def test_the_page_of_predictions_is_what_the_tool_says(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    scale.main(options)
    assert capsys.readouterr().out.strip() in (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
