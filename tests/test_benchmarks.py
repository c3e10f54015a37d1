"""The benchmark command: its figures are believed, so its arithmetic is tested; what it measures is not."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import machine, run
from benchmarks.workloads import WORKLOADS

if TYPE_CHECKING:
    from pathlib import Path

LIBRARIES = ["wengert", "torch"]


def result(ours: float, theirs: float) -> dict[str, Any]:
    return {name: {"seconds": s, "peak": s * 1e6, "losses": [1.0], "rounds": [s]}
        for name, s in zip(LIBRARIES, (ours, theirs), strict=True)}


def arguments(path: Path, slack: float = 1.25) -> argparse.Namespace:
    return argparse.Namespace(gate=str(path), slack=slack, libraries=LIBRARIES)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "ratios.json"
    path.write_text(json.dumps({"multiply": 0.6, "gone": 0.1}))
    return path


def test_ratio() -> None:
    assert run.ratio_of(result(1.0, 2.0), LIBRARIES) == 0.5
    assert run.ratio_of({"wengert": {"seconds": 1.0}, "torch": {"error": "absent"}}, LIBRARIES) is None


def test_gate_passes_within_the_slack(recorded: Path) -> None:
    assert run.gate({"multiply": 0.74, "new": 9.0}, arguments(recorded)) == 0
    assert run.gate({"multiply": 0.89}, arguments(recorded, slack=1.5)) == 0


def test_gate_measures_again_before_it_fails(recorded: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "measure", lambda *a: result(0.7, 1.0))
    assert run.gate({"multiply": 0.9}, arguments(recorded)) == 0
    monkeypatch.setattr(run, "measure", lambda *a: result(0.8, 1.0))
    assert run.gate({"multiply": 0.9}, arguments(recorded)) == 1
    assert "multiply: ratio 0.90, 0.80, 0.80, recorded 0.60" in capsys.readouterr().out


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
