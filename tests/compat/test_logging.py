"""What a backward logs."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys

import pytest


@pytest.fixture
def logs(torch):
    return importlib.import_module(f"{torch.__name__}._logging")


@pytest.fixture
def lines(logs):
    """Messages of the logger, as they come."""
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())
    logging.getLogger("torch.autograd").addHandler(handler)
    yield found
    logging.getLogger("torch.autograd").removeHandler(handler)
    logs.set_logs()


def names(lines):
    return [line.split("<")[1].split(" ")[0] for line in lines]


def test_every_node_before_it_runs(torch, logs, lines):
    logs.set_logs(autograd=logging.DEBUG)
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2).double().sum()
    torch.autograd.backward((y, y.clone()))
    assert names(lines) == ["CloneBackward0", "SumBackward0", "ToCopyBackward0", "MulBackward0", "AccumulateGrad"]
    assert lines[0].startswith("Executing: <CloneBackward0 object at 0x")
    assert [line.split("with ")[1] for line in lines] == [
        "grad_outputs: [f64[]]", "grad_outputs: [f64[]]", "grad_outputs: [f64[2, 3]]", "grad_outputs: [f32[2, 3]]",
        "grad_outputs: [f32[2, 3]]",
    ]


def test_several_outputs_and_undefined_gradients(torch, logs, lines):
    x = torch.tensor([[1.0 + 1j, 2.0]], requires_grad=True)
    first, _ = x.abs().bfloat16().unbind(1)
    logs.set_logs(autograd=logging.DEBUG)
    torch.autograd.grad(first.sum(), x)
    assert "[bf16[1],None]" in lines[1]
    assert "[f32[1, 2]]" in lines[-1]
    assert "AccumulateGrad" not in names(lines)


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_only_at_the_level_debug(torch, logs, lines, level):
    logs.set_logs(autograd=level)
    torch.ones(2, requires_grad=True).sum().backward()
    assert lines == []


def test_silent_again(torch, logs, lines):
    x = torch.ones(2, requires_grad=True)
    y = x.sum()
    logs.set_logs(autograd=logging.DEBUG)
    y.backward(retain_graph=True)
    assert len(lines) == 2
    logs.set_logs()
    y.backward(retain_graph=True)
    assert len(lines) == 2
    assert not y.grad_fn.metadata


def test_a_failed_backward_leaves_no_hooks(torch, logs, lines):
    x = torch.ones(2, requires_grad=True)
    y = x.exp().sum()
    handle = x.register_hook(lambda g: 1 / 0)
    logs.set_logs(autograd=logging.DEBUG)
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    handle.remove()
    lines.clear()
    y.backward()
    assert len(lines) == 3


def test_names_and_levels(logs):
    with pytest.raises(TypeError):
        logs.set_logs(autograph=logging.DEBUG)
    with pytest.raises(ValueError, match="Unrecognized log level"):
        logs.set_logs(autograd=3)
    logs.set_logs(dynamo=logging.INFO, graph_breaks=True)
    logs.set_logs()


def test_environment():
    code = "import wengert as torch; torch.ones(1, requires_grad=True).sum().backward()"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TORCH_LOGS": "+autograd"},
        capture_output=True, text=True)
    assert done.stderr.count("Executing: ") == 2
    assert done.stderr.startswith("V")
    wrong = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TORCH_LOGS": "nothing"},
        capture_output=True, text=True)
    assert "Invalid log settings: nothing" in wrong.stderr
