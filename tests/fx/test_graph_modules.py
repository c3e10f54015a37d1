"""Modules that are made of graphs: their code, copies, files, submodules, errors."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys

import pytest


@pytest.fixture
def fx(torch):
    return importlib.import_module(f"{torch.__name__}.fx")


@pytest.fixture
def traced(torch, fx):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(3, 1)))
    return fx.symbolic_trace(model)


def test_a_change_of_the_graph_counts_after_recompile(torch, fx, traced):
    relu = traced.graph.find_nodes(op="call_module", target="1")[0]
    with traced.graph.inserting_after(relu):
        new = traced.graph.call_function(torch.tanh, relu.args)
    relu.replace_all_uses_with(new)
    traced.graph.erase_node(relu)
    assert "tanh" not in traced.code
    traced.recompile()
    assert "torch.tanh" in traced.code
    other = fx.symbolic_trace(torch.nn.ReLU())
    traced.graph = copy.deepcopy(traced.graph)
    assert "torch.tanh" in traced.code and "tanh" not in other.code


@pytest.mark.parametrize("how", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_pickles(torch, fx, traced, how):
    x = torch.ones(1, 2)
    made = how(traced)
    assert made.code == traced.code and torch.equal(made(x), traced(x)) and isinstance(made, fx.GraphModule)
    assert (made.get_submodule("0") is traced.get_submodule("0")) == (how is copy.copy)
    assert list(made.state_dict()) == list(traced.state_dict())


def test_nested_arguments_survive_a_pickle(fx):
    part = fx._symbolic_trace.PH
    traced = fx.symbolic_trace(_total, {"x": {"a": part, "b": part}})
    assert traced({"a": 1, "b": 2}) == 3
    copied = copy.deepcopy(traced)
    assert copied({"a": 1, "b": 2}) == 3


def _total(x):
    return x["a"] + x["b"]


def test_submodules(torch, traced):
    assert traced.add_submodule("a.b", torch.nn.ReLU()) is True and traced.a.b.training
    assert traced.delete_submodule("a.c") is False and traced.delete_submodule("0") is True
    assert traced.delete_submodule("0") is False
    traced.add_submodule("0", torch.nn.Linear(2, 3))
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_modules()] == ["", "1", "2", "2.0", "0"]


def test_values_may_come_from_a_dict(torch, fx):
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.add, (graph.call_module("a.layer", (x,)), graph.get_attr("a.w"))))
    with pytest.raises(RuntimeError, match="referenced target a.layer but that target was not provided in ``root``"):
        fx.GraphModule({}, graph)
    made = fx.GraphModule({"a.layer": torch.nn.Identity(), "a.w": torch.ones(1)}, graph, "Sum")
    assert made(torch.ones(1)).item() == 2 and type(made).__name__ == "Sum" and list(made.state_dict()) == ["a.w"]


def test_subclasses_keep_what_they_define(torch, fx):
    class Own(fx.GraphModule):
        def twice(self, x):
            return self(self(x))

        def __call__(self, *args, **kwargs):
            return super().__call__(*args, **kwargs) * 10

    made = Own(torch.nn.Module(), fx.symbolic_trace(lambda x: x + 1).graph, "Own")
    assert made.twice(0) == 110 and isinstance(made, Own)


def test_hooks_of_the_module_are_called(torch, traced):
    seen = []
    traced.register_forward_hook(lambda module, args, output: seen.append(tuple(output.shape)))
    traced(torch.ones(4, 2))
    assert seen == [(4, 1)]


def test_a_failure_shows_the_generated_line(torch, fx, capsys):
    def product(x, y):
        return x @ y

    with pytest.raises(RuntimeError):
        fx.symbolic_trace(product)(torch.ones(2), torch.ones(3))
    if torch.__name__ == "torch" and sys.version_info < (3, 12):  # which finds no source there
        return
    said = capsys.readouterr().err
    assert "Call using an FX-traced Module, line 5 of the traced Module's generated forward function:" in said
    assert "matmul = x @ y;  x = y = None\n" in said and "<--- HERE" in said


def test_folders(torch, traced, tmp_path, monkeypatch):
    folder = tmp_path / f"made_by_{torch.__name__}"
    with pytest.warns(UserWarning, match="saved as pickled files instead"):
        traced.to_folder(folder, "Net")
    source = (folder / "module.py").read_text()
    assert "class Net(torch.nn.Module):" in source and "setattr(self, '0', Linear(" in source
    assert sorted(path.name for path in folder.iterdir())[-2:] == ["module.py", "state_dict.pt"]


def test_shapes_are_shown(torch, fx):
    traced = fx.symbolic_trace(lambda x: x.sum(0))
    prop = importlib.import_module(f"{torch.__name__}.fx.passes.shape_prop")
    prop.ShapeProp(traced).propagate(torch.ones(2, 3))
    text = traced.print_readable(print_output=False, include_stride=True, include_device=True)
    assert 'sum_1: "f32[3]"' in text
    found = traced.graph.find_nodes(op="call_method")[0].meta["tensor_meta"]
    assert (tuple(found.shape), found.stride, found.dtype) == ((3,), (1,), torch.float32)
    assert found.memory_format is torch.contiguous_format


def test_files_with_programs_are_refused_unless_they_are_allowed(tmp_path):
    import wengert as torch

    traced = torch.fx.symbolic_trace(torch.nn.Linear(2, 2))
    torch.save(traced, tmp_path / "traced.pt")
    for weights_only in (True, False):
        with pytest.raises(pickle.UnpicklingError, match="runs code from a file"):
            torch.load(tmp_path / "traced.pt", weights_only=weights_only)


@pytest.mark.parametrize(("op", "target", "kwargs"), [
    ("placeholder", "x=print('run')", {}), ("call_module", 'a") or print("run', {}),
    ("call_function", print, {"end='', file=print('run'), sep": 1}), ("call_method", "__class__(print('run'))", {}),
])
def test_no_name_in_a_graph_becomes_other_code(op, target, kwargs, capsys):
    import wengert as torch

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.create_node(op, target, () if op == "placeholder" else (x,), kwargs))
    with pytest.raises((ValueError, AttributeError)):
        exec(f"{graph.python_code('self').src}\nforward(None, 1)", {})
    assert "run" not in capsys.readouterr().out
