"""Graphs and their nodes: building, changing, checking, printing."""

from __future__ import annotations

import copy
import importlib
import operator

import pytest


@pytest.fixture
def fx(torch):
    return importlib.import_module(f"{torch.__name__}.fx")


@pytest.fixture
def graph(torch, fx):
    """``relu(x) + 1``."""
    made = fx.Graph()
    x = made.placeholder("x")
    made.output(made.call_function(operator.add, (made.call_function(torch.relu, (x,)), 1)))
    return made


def run(torch, fx, graph, *args):
    return fx.GraphModule(torch.nn.Module(), graph)(*args)


def test_users_follow_the_arguments(torch, graph):
    x, relu, add, _ = graph.nodes
    assert add.all_input_nodes == [relu] and list(relu.users) == [add] and (add.prev, add.next.op) == (relu, "output")
    add.update_arg(1, x)
    assert list(x.users) == [relu, add]
    add.args = (x, 2)
    assert list(relu.users) == [] and add.args == (x, 2)
    add.update_kwarg("alpha", relu)
    add.insert_arg(0, relu)
    assert list(relu.users) == [add] and add.args == (relu, x, 2) and add.kwargs == {"alpha": relu}
    add.replace_input_with(relu, x)
    assert add.args == (x, x, 2) and not relu.users


def test_arguments_cannot_be_changed_in_place(torch, fx):
    graph = fx.Graph()
    x = graph.placeholder("x")
    cat = graph.call_function(torch.cat, ([x, x],), {"dim": 1})
    for change in (lambda: cat.args[0].append(x), lambda: cat.kwargs.update(dim=2), lambda: cat.args[0].sort()):
        with pytest.raises(TypeError, match="object does not support mutation"):
            change()
    assert hash(cat.args[0]) == hash((x, x)) and copy.deepcopy(fx.immutable_collections.immutable_list([1])) == [1]


def test_nodes_are_inserted_where_one_says(torch, fx, graph):
    x, relu, add, output = graph.nodes
    with graph.inserting_before(relu):
        a = graph.call_function(torch.neg, (x,))
        b = graph.call_function(torch.abs, (a,))
    with graph.inserting_after(relu):
        c = graph.call_method("sin", (relu,))
    graph.call_method("after", (add,))
    with graph.inserting_before():
        first = graph.placeholder("first")
    assert [n.name for n in graph.nodes][:6] == ["first", "x", "neg", "abs_1", "relu", "sin"]
    assert first < x < a < b < relu < c < add <= add and sorted([c, a, b]) == [a, b, c] and output > add
    relu.prepend(c)
    assert [n.name for n in graph.nodes][3:6] == ["abs_1", "sin", "relu"] and c < relu


def test_where_nodes_go_may_be_said_without_a_block(torch, fx, graph):
    graph.inserting_before(next(iter(graph.nodes)))
    graph.placeholder("first")
    graph.placeholder("second")
    assert [n.name for n in graph.nodes][:3] == ["first", "second", "x"]


def test_nodes_are_erased_while_one_goes_through(torch, fx, graph):
    x, relu, add, _ = graph.nodes
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users in the graph"):
        graph.erase_node(relu)
    assert relu.replace_all_uses_with(x) == [add]
    for node in graph.nodes:
        if node is relu:
            graph.erase_node(node)
    assert [n.name for n in graph.nodes] == ["x", "add", "output"] and len(graph.nodes) == 3
    assert run(torch, fx, graph, torch.tensor([-2.0])).item() == -1
    assert [n.op for n in reversed(graph.nodes)] == ["output", "call_function", "placeholder"]


def test_dead_code(torch, fx):
    traced = fx.symbolic_trace(lambda x: (torch.relu(torch.neg(x)), torch.rand(2), x + 1)[2])
    unused = traced.graph
    with unused.inserting_before(unused.output_node()):
        unused.call_function(torch.rand, (2,))
        unused.call_function(operator.setitem, (unused.find_nodes(op="placeholder")[0], 0, 1.0))
    assert unused.eliminate_dead_code() is True
    assert [n.name for n in unused.nodes] == ["x", "add", "rand", "setitem", "output"]
    assert unused.eliminate_dead_code() is False


def test_nodes_are_found(torch, graph):
    x, relu, _, output = graph.nodes
    assert graph.find_nodes(op="call_function", target=torch.relu) == [relu]
    assert graph.find_nodes(op="placeholder") == [x] and graph.output_node() is output
    with pytest.raises(AssertionError, match="target must not be None"):
        graph.find_nodes(op="call_function")


def test_a_graph_is_checked(torch, fx, graph):
    _, relu, add, _ = graph.nodes
    graph.lint()
    add.append(relu)
    with pytest.raises(RuntimeError, match="Argument 'relu' of Node 'add' was used before it has been defined"):
        graph.lint()
    foreign = fx.Graph().placeholder("y")
    add.args = (foreign, 1)
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        graph.lint()
    for bad in (lambda: graph.create_node("call_function", "relu"), lambda: graph.create_node("call_module", print)):
        with pytest.raises(ValueError, match="is expected"):
            bad()


def test_copies(torch, fx, graph):
    made = copy.deepcopy(graph)
    assert str(made) == str(graph) and next(iter(made.nodes)) is not next(iter(graph.nodes))
    outer = fx.Graph()
    y = outer.placeholder("y")
    outer.output(outer.graph_copy(graph, {next(iter(graph.nodes)): y}))
    assert str(outer) == str(graph).replace("x", "y")


def test_printing(torch, graph):
    _, relu, add, _ = graph.nodes
    assert str(graph).split("\n") == [
        "graph():", "    %x : [num_users=1] = placeholder[target=x]",
        "    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})",
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})",
        "    return add"]
    relu.type = torch.Tensor
    assert relu.format_node().startswith("%relu : torch.Tensor [num_users=1]") and repr(add) == "add"
    assert "relu : torch.Tensor = torch.relu(x)" in graph.python_code("self").src


def test_tables_need_another_library(graph, capsys, monkeypatch):
    monkeypatch.setitem(importlib.import_module("sys").modules, "tabulate", None)
    with pytest.raises(ImportError):
        graph.print_tabular()
    assert "pip install tabulate" in capsys.readouterr().out


def test_statements_can_be_changed_before_they_are_code(torch, fx, graph):
    with graph.on_generate_code(lambda current: lambda body: ["print('hello')\n", *body]):
        assert "print('hello')" in graph.python_code("self").src
    assert "hello" not in graph.python_code("self").src

    class Named(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return super().gen_fn_def(["inputs"], maybe_return_annotation) + "\n    x = inputs['x']"

    graph.set_codegen(Named())
    assert run(torch, fx, graph, {"x": torch.zeros(1)}).item() == 1


def test_arguments_in_order(torch, fx):
    traced = fx.symbolic_trace(lambda x: torch.nn.functional.dropout(x, 0.5))
    dropout = traced.graph.find_nodes(op="call_function", target=torch.nn.functional.dropout)[0]
    found = dropout.normalized_arguments(traced, normalize_to_only_use_kwargs=True)
    assert list(found.kwargs) == ["input", "p", "training", "inplace"] and found.args == ()
    model = fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    layer = model.graph.find_nodes(op="call_module")[0]
    assert list(layer.normalized_arguments(model, normalize_to_only_use_kwargs=True).kwargs) == ["input"]
