"""What is recorded when a program is traced, what may be decided about it, and what cannot be traced."""

from __future__ import annotations

import importlib
import threading

import pytest


@pytest.fixture
def fx(torch):
    return importlib.import_module(f"{torch.__name__}.fx")


def test_the_code_of_a_module(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.scale = torch.nn.Linear(2, 3), torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return torch.relu(self.layer(x)) * self.scale

    traced = fx.symbolic_trace(Net())
    assert traced.code.split("\n")[3:-1] == [
        "def forward(self, x):",
        "    layer = self.layer(x);  x = None",
        "    relu = torch.relu(layer);  layer = None",
        "    scale = self.scale",
        "    mul = relu * scale;  relu = scale = None",
        "    return mul",
    ]
    assert str(traced.graph).split("\n")[3].strip() == (
        "%relu : [num_users=1] = call_function[target=torch.relu](args = (%layer,), kwargs = {})")


def test_a_traced_module_computes_and_learns_as_the_module_does(torch, fx):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    traced, x = fx.symbolic_trace(model), torch.arange(6.0).reshape(2, 3) / 6
    assert torch.equal(traced(x), model(x))
    assert [p is q for p, q in zip(traced.parameters(), model.parameters(), strict=True)] == [True] * 4
    traced(x).sum().backward()
    assert model[0].weight.grad is not None


def test_functions_are_recorded_with_the_arguments_as_written(torch, fx):
    functional = torch.nn.functional
    traced = fx.symbolic_trace(lambda x: (torch.cat([x, x], dim=1), torch.cat([x, x], 1), functional.relu(x),
        functional.linear(x, x), torch.ones(2).view(x.size(0), -1)))
    rows = {node.name: (node.args[1:], dict(node.kwargs)) for node in traced.graph.nodes if node.op == "call_function"}
    assert rows == {"cat": ((), {"dim": 1}), "cat_1": ((1,), {}), "relu": ((), {"inplace": False}),
        "linear": ((traced.graph.find_nodes(op="placeholder")[0],), {})}
    assert "torch._C._nn.linear(x, x)" in traced.code and "_tensor_constant0.view(size, -1)" in traced.code
    assert {node.target for node in traced.graph.nodes if node.name in ("cat", "relu")} == {
        torch.cat, functional.relu}


@pytest.mark.parametrize(("f", "words"), [
    (lambda x: x if x else -x, "symbolically traced variables cannot be used as inputs to control flow"),
    (lambda x: [v + 1 for v in x], "Proxy object cannot be iterated"),
    (lambda x: dict(x), "Proxy object cannot be iterated"),
])
def test_control_flow_is_refused(torch, fx, f, words):
    with pytest.raises(fx.proxy.TraceError, match=words):
        fx.symbolic_trace(f)
    assert issubclass(fx.proxy.TraceError, ValueError)


def test_nothing_stays_in_place_after_a_trace(torch, fx):
    module = torch.nn.Module
    before = module.__call__, module.__getattr__, torch.relu
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: bool(x))
    fx.symbolic_trace(lambda x: fx.symbolic_trace(torch.nn.Linear(2, 2)) and x)
    assert (module.__call__, module.__getattr__, torch.relu) == before
    assert torch.cat([torch.ones(1), torch.ones(1)], dim=0).tolist() == [1, 1]
    assert fx._symbolic_trace.is_fx_symbolic_tracing() is False


def test_other_threads_compute_while_a_program_is_traced(torch, fx):
    sums = []

    def f(x):
        thread = threading.Thread(target=lambda: sums.append(torch.cat([torch.ones(2)], dim=0).sum().item()))
        thread.start()
        thread.join()
        return x

    fx.symbolic_trace(f)
    assert sums == [2]


def test_leaves_are_what_the_tracer_says(torch, fx):
    class Own(torch.nn.Module):
        def forward(self, x):
            return x + 1

    model = torch.nn.Sequential(Own(), torch.nn.ReLU())

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, path):
            return isinstance(m, Own)

    rows = [(node.op, node.target) for node in Leaves().trace(model).nodes]
    assert rows[:2] == [("placeholder", "input"), ("call_module", "0")] and rows[2][1] is torch.nn.functional.relu
    assert [node.op for node in fx.Tracer().trace(model).nodes][1:3] == ["call_function", "call_module"]


def test_where_a_node_comes_from(torch, fx):
    model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
    tracer = fx.Tracer()
    relu = tracer.trace(model).find_nodes(op="call_module")[0]
    assert list(relu.meta["nn_module_stack"]) == ["", "0", "0.0"][1:] or list(relu.meta["nn_module_stack"]) == [
        "0", "0.0"]
    assert tracer.node_name_to_scope[relu.name] == ("0.0", torch.nn.ReLU)


def test_shapes_of_parameters_may_be_constants(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3, 2))

        def forward(self, x):
            return x * 2 if self.weight.shape[0] == 3 and self.weight.dim() == 2 else self.weight

    with pytest.raises(fx.proxy.TraceError):
        fx.Tracer().trace(Net())
    graph = fx.Tracer(param_shapes_constant=True).trace(Net())
    assert [node.name for node in graph.nodes] == ["x", "weight", "mul", "output"]


def test_functions_of_the_program_can_be_nodes(torch, fx, tmp_path, monkeypatch):
    name = f"listed_{torch.__name__}"
    (tmp_path / f"{name}.py").write_text(
        f"import {torch.__name__}.fx as fx\n"
        "fx.wrap('len')\n@fx.wrap\ndef odd(x, y=1):\n    return x if x > 0 else y\n"
        "def f(x):\n    return odd(x, y=2) + len(x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    traced = fx.symbolic_trace(module.f)
    assert [getattr(node.target, "__name__", node.target) for node in traced.graph.nodes] == [
        "x", "odd", "len", "add", "output"]
    assert len([1]) == 1 and module.odd(-1) == 1 and "len" not in vars(module)
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("len")
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        fx.wrap(1)


def test_fixed_arguments_are_checked_when_the_program_runs(torch, fx):
    traced = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x - 1, {"flag": True})
    assert traced(torch.ones(1), True).item() == 2
    with pytest.raises(AssertionError, match="flag has been specialized to have value True but got another value"):
        traced(torch.ones(1), False)


def test_nested_arguments(torch, fx):
    part = fx._symbolic_trace.PH
    traced = fx.symbolic_trace(lambda x: {"sum": x["a"] + x["b"][0], "a": x["a"]}, {"x": {"a": part, "b": [part]}})
    assert traced({"a": 1, "b": [2]}) == {"sum": 3, "a": 1}
    assert "fx_pytree.tree_flatten_spec([x], self._in_spec)" in traced.code


def test_a_foreign_parameter_is_refused(torch, fx):
    foreign = torch.nn.Parameter(torch.ones(1))
    with pytest.raises(NameError, match="parameter is not a member of this module"):
        fx.symbolic_trace(lambda x: x + foreign)


def test_proxies_of_nodes_that_are_there(torch, fx):
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    graph.output((torch.relu(x) + x.size(0)).node)
    assert [node.name for node in graph.nodes] == ["x", "relu", "size", "add", "output"]
    other = fx.Proxy(fx.Graph().placeholder("y"))
    with pytest.raises(RuntimeError, match="Found multiple different tracers"):
        torch.add(x, other)
    with pytest.raises(RuntimeError, match="'len' is not supported in symbolic tracing by default"):
        len(x)


def test_instances_made_of_proxies(torch, fx):
    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

    traced = fx.symbolic_trace(lambda x: Pair(x, 2).left)
    assert [node.name for node in traced.graph.nodes] == ["x", "pair", "getattr_1", "output"]
    assert traced(7) == 7


def test_operations_that_write_may_be_refused(torch, fx):
    class Checked(fx.Tracer):
        check_mutable_operations = True

    with pytest.raises(RuntimeError, match="Tried to trace mutable operation"):
        Checked().trace(lambda x: torch.relu_(x))


def test_stack_traces(torch, fx):
    class Recorded(fx.Tracer):
        record_stack_traces = True

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)

    graph = Recorded().trace(Net())
    trace = graph.find_nodes(op="call_function", target=torch.relu)[0].stack_trace
    assert "return torch.relu(x)" in trace and "test_tracing.py" in trace


def test_assertions_can_be_recorded():
    import wengert as torch

    class Own(torch.fx.Tracer):
        trace_asserts = True

    namespace = {}  # pytest rewrites the assertions of this file
    exec("def f(x):\n  assert x.sum() > 0, 'positive'\n  return x", namespace)
    graph = Own().trace(namespace["f"])
    assert [node.name for node in graph.nodes] == ["x", "sum_1", "gt", "assert_fn", "output"]
    with pytest.raises(AssertionError, match="Assertion failed"):
        torch.fx.GraphModule(torch.nn.Module(), graph)(torch.zeros(1))
