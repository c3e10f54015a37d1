"""``pytest --wengert-explain``, and the fixture that fails a test on findings."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

TESTS = """
import pytest
import {torch} as torch
from {torch} import nn


@pytest.fixture
def net():
    return nn.Linear(4, 1)


def train(net, clear):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        if clear:
            optimizer.zero_grad()
        net(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()


def test_good(net):
    train(net, True)


def test_bad(net):
    train(net, False)


def test_good_with_fixture(net, wengert_explain):
    train(net, True)
    assert not wengert_explain


def test_bad_with_fixture(net, wengert_explain):
    train(net, False)


def test_raises(net):
    net(torch.ones(2, 4)).backward()


def test_watches(net):
    from {torch} import diagnose
    with diagnose.watch(net) as report:
        train(net, False)
    assert len(report) == 1


@pytest.mark.skip
def test_skipped(net):
    pass
"""


@pytest.fixture
def run(tmp_path):
    def run(*args, start=(), torch="wengert"):
        (tmp_path / "test_it.py").write_text(TESTS.format(torch=torch))
        known = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        done = subprocess.run([sys.executable, *start, "-m", "pytest", "-p", "pytest_wengert", "-p", "no:cacheprovider",
            *args, "test_it.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
            env={**known, "OMP_NUM_THREADS": "1"})
        return done.stdout + done.stderr

    return run


def test_the_fixture(run):
    shown = run()
    assert "2 failed, 4 passed, 1 skipped" in shown, shown
    assert "FAILED test_it.py::test_bad_with_fixture" in shown and "FAILED test_it.py::test_raises" in shown
    assert "wengert has found what to fix:" in shown and "test_it.py:18: error:" in shown
    assert "wengert: what to fix" not in shown


@pytest.mark.parametrize(("start", "torch", "workers"), [((), "wengert", 0), (("-m", "wengert", "run"), "torch", 2)])
def test_the_option(run, tmp_path, start, torch, workers):
    if workers:
        pytest.importorskip("xdist")
    options = ["--wengert-explain", "--wengert-explain-json", "out.json"] + ["-n", str(workers)] * bool(workers)
    shown = run(*options, start=start, torch=torch)
    assert "2 failed, 4 passed, 1 skipped" in shown, shown
    summary = shown.partition("wengert: what to fix")[2]
    assert "test_it.py::test_bad\n  test_it.py:18: error:" in summary and "test_good" not in summary
    assert "3 errors, 0 warnings, 0 info; " in summary and " tests computed gradients with wengert" in summary
    assert "E           wengert: test_it.py:" in shown.partition("wengert: what to fix")[0]  # the note of test_raises
    found = json.loads((tmp_path / "out.json").read_text())
    rows = {row["test"].partition("::")[2]: [f["id"] for f in row["findings"]] for row in found["tests"]}
    assert rows["test_bad"] == rows["test_bad_with_fixture"] == ["stale-gradient"] and not rows["test_good"]
    assert rows["test_raises"] == ["non-scalar-backward"]


def test_nothing_is_imported_before_it_is_used(tmp_path):
    (tmp_path / "test_it.py").write_text("import sys\ndef test(): assert 'wengert' not in sys.modules\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "pytest_wengert", "-p", "no:cacheprovider",
        "test_it.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
