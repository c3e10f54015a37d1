"""``docs/census.md``: what libraries name of PyTorch is here or not, as the stored census says; how it was read."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "census.py"
AGAIN = "run `python tools/census.py update`"


@pytest.fixture(scope="module")
def census():
    spec = importlib.util.spec_from_file_location("census", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(census):
    return census.states(list(census.stored()[1]))


def test_the_stored_states_are_true(census, found):
    wrong = {name: (use.state, found[name][0]) for name, use in census.stored()[1].items()
        if use.state != found[name][0]}
    assert not wrong, AGAIN


def test_what_three_libraries_use_is_here_or_has_a_reason(census, found):
    assert [name for name, (_, why) in census.unresolved(census.stored()[1], found).items() if not why] == []


def test_the_page_is_what_was_stored(census, found):
    assert census.PAGE.read_text(encoding="utf-8") == census.page(*census.stored(), found), AGAIN
    assert len(census.stored()[0]) == 80


SOURCE = '''
import torch
import torch as t, torch.nn.functional as F
from torch import nn as n, Tensor
from torch.utils.data import DataLoader as Loader
modules = torch.nn
try:
    from torch.new import thing
except ImportError:
    thing = None
if hasattr(torch, "newer"):
    torch.newer()

class Layer(n.Module):
    def forward(self, x: Tensor, y: "Tensor", z: t.Tensor | None, torch_like):
        if isinstance(x, (n.Linear, modules.Conv2d)):
            return F.relu(x).sum(), x.view(1), torch_like.nn.gone, torch.zeros(1).tolist()
        x = other()
        return x.not_clear, Loader

@torch.no_grad()
def f(t):
    return t.not_torch
'''


def test_how_names_are_read(census):
    reader = census.Reader()
    reader.visit(ast.parse(SOURCE))
    found = {(name, kind) for name, kind, _ in reader.found}
    assert {("torch.nn.Module", "s"), ("torch.Tensor", "a"), ("torch.nn.Linear", "i"), ("torch.nn.Conv2d", "i"),
        ("torch.nn.functional.relu", "c"), ("torch.Tensor.view", "c"), ("torch.Tensor.tolist", "c"),
        ("torch.utils.data.DataLoader", "r"), ("torch.zeros", "c")} <= found
    assert not any("gone" in name or "not_" in name for name, _ in found)
    assert {name for name, _, guarded in reader.found if guarded} == {"torch.new.thing", "torch.newer"}


@pytest.mark.parity
def test_where_names_end(census):
    pytest.importorskip("torch")
    for name, end in (("torch.float32.itemsize", "torch.float32"), ("torch.no.such", None),
            ("torch.nn.Linear.forward.__name__", "torch.nn.Linear.forward"), ("torch.ones.__doc__", "torch.ones"),
            ("torch.Tensor.own", None), ("torch.ops.mine.f", "torch.ops"), ("torch.nn.init", "torch.nn.init")):
        assert census.bounded(name) == end
