"""Programs on graphs: interpreters, patterns, splitting, fusing, recording operators."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def fx(torch):
    return importlib.import_module(f"{torch.__name__}.fx")


@pytest.fixture
def module(torch):
    """A module below ``torch.fx``, by its name."""
    return lambda name: importlib.import_module(f"{torch.__name__}.fx.{name}")


def test_an_interpreter_runs_node_by_node(torch, fx):
    class Counting(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)

    traced = fx.symbolic_trace(lambda x, y=2.0: torch.relu(x) * y)
    assert Counting(traced).run(torch.ones(1)).item() == -2
    assert Counting(traced).run(torch.ones(1), 3.0).item() == -3
    assert Counting(traced).boxed_run([torch.ones(1), 4.0]).item() == -4
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"):
        Counting(traced).run()
    with pytest.raises(TypeError, match="While executing %relu : .num_users=1. = call_function"):
        fx.Interpreter(traced).run("text")


def test_a_transformer_makes_another_program(torch, fx):
    class NoDropout(fx.Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], torch.nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(), torch.nn.ReLU())
    made = NoDropout(fx.symbolic_trace(model)).transform()
    assert [node.name for node in made.graph.nodes] == ["input_1", "_0", "_2", "output"]
    assert torch.equal(made(torch.ones(1, 2)), model.eval()(torch.ones(1, 2)))


def test_patterns_are_replaced(torch, fx):
    def program(x, w):
        a = torch.cat([x, w]).sum()
        return a + torch.cat([w, x]).sum() + torch.cat([x, x, w]).sum()

    traced = fx.symbolic_trace(program)
    found = fx.replace_pattern(traced, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: a.sum() + b.sum())
    assert len(found) == 2 and traced.code.count("torch.cat") == 1
    traced.graph.lint()
    x, w = torch.ones(2), torch.full((2,), 2.0)
    assert traced(x, w).item() == program(x, w).item()


def test_what_is_used_outside_is_not_replaced(torch, fx):
    traced = fx.symbolic_trace(lambda x: (torch.relu(x + 1), x + 1))

    def shared(x):
        y = x + 1
        return torch.relu(y), y

    assert len(fx.replace_pattern(traced, lambda x: torch.relu(x + 1), lambda x: x)) == 1
    assert len(fx.replace_pattern(fx.symbolic_trace(shared), lambda x: torch.relu(x + 1), lambda x: x)) == 0


def test_patterns_with_filters_and_callbacks(torch, fx, module):
    rewriter = module("subgraph_rewriter")
    traced = fx.symbolic_trace(lambda x: torch.relu(x + 1) + torch.relu(x + 2))

    def small(match, graph, pattern):
        return next(n for n in match.nodes_map.values() if n.name.startswith("add")).args[1] == 1

    done = rewriter.replace_pattern_with_filters(traced, lambda x, n: torch.relu(x + n), lambda x, n: x * n, [small])
    assert len(done) == 1 and [n.name for n in done[0].replacements] == ["mul"]
    done = rewriter.replace_pattern_with_filters(traced, lambda x: torch.relu(x + 0), ignore_literals=True,
        replacement_callback=lambda match, graph, pattern: fx.symbolic_trace(lambda x: x - 5).graph)
    assert len(done) == 1 and traced(torch.ones(1)).item() == 1 + 1 - 5


def test_layers_in_patterns(torch, fx):
    class Pattern(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            return torch.relu(self.layer(x))

    class Replacement(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.other = torch.nn.Identity()

        def forward(self, x):
            return self.other(x)

    traced = fx.symbolic_trace(Pattern())
    assert len(fx.replace_pattern(traced, fx.symbolic_trace(Pattern()), fx.symbolic_trace(Replacement()))) == 1
    assert [name for name, _ in traced.named_children()] == ["other"] and traced(3) == 3


def test_a_program_is_split(torch, fx, module):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    traced, names = fx.symbolic_trace(model), {}
    made = module("passes.split_module").split_module(traced, model, lambda n: 0 if n.name == "_0" else 1, names)
    assert names == {"submod_0.0": "0", "submod_1.1": "1", "submod_1.2": "2"}
    assert [name for name, _ in made.named_children()] == ["submod_0", "submod_1"]
    assert torch.equal(made(torch.ones(1, 2)), model(torch.ones(1, 2)))
    looped = fx.symbolic_trace(lambda x: torch.neg(torch.relu(torch.neg(x))))
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        module("passes.split_module").split_module(looped, None, lambda n: int(n.name == "relu"))


def test_normalisation_is_folded_into_layers(torch, fx, module):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2), torch.nn.ReLU())
    model(torch.randn(8, 1, 4, 4))
    made = module("experimental.optimization").fuse(model.eval())
    x = torch.randn(2, 1, 4, 4)
    assert [node.name for node in made.graph.nodes] == ["input_1", "_0", "_2", "output"]
    assert torch.allclose(made(x), model(x), atol=1e-6)
    dropped = module("experimental.optimization").remove_dropout(
        torch.nn.Sequential(torch.nn.Dropout(), torch.nn.ReLU()))
    assert [node.name for node in dropped.graph.nodes] == ["input_1", "_1", "output"]


def test_operators_of_a_gradient_are_recorded(torch, module):
    def gradient(x):
        return torch.autograd.grad((torch.sin(x) * x).sum(), x)[0]

    made = module("experimental.proxy_tensor").make_fx(gradient)(torch.ones(2, requires_grad=True))
    assert {"torch.ops.aten.cos.default", "torch.ops.aten.expand.default"} <= {
        word.split("(")[0] for word in made.code.split()}
    x = torch.tensor([0.5, 0.25])
    assert torch.allclose(made(x), x.cos() * x + x.sin())


def test_operators_of_modules_and_writes_are_recorded(torch, module):
    make_fx = module("experimental.proxy_tensor").make_fx
    layer = torch.nn.Linear(2, 2)

    def program(x):
        y = layer(x).clone()
        y.mul_(2)
        return {"out": y} if x.ndim == 2 else x

    made, x = make_fx(program)(torch.ones(1, 2)), torch.full((1, 2), 3.0)
    assert torch.allclose(made(x)["out"], layer(x) * 2)
    assert "torch.ops.aten.mul_.Tensor" in made.code and "_param_constant0" in made.code
    assert torch.equal(make_fx(torch.nn.Sequential(layer))(x)(x), layer(x))


def test_decompositions(torch, module):
    aten = torch.ops.aten
    made = module("experimental.proxy_tensor").make_fx(lambda x: torch.tanh(x) + 1,
        decomposition_table={aten.tanh.default: lambda x: torch.exp(x) * 0})(torch.ones(1))
    assert "aten.tanh" not in made.code and "aten.exp.default" in made.code and made(torch.ones(1)).item() == 1


def test_passes_run_in_an_order_that_is_allowed(torch, fx, module):
    base, manager = module("passes.infra.pass_base"), module("passes.infra.pass_manager")
    ran = []

    class Note(base.PassBase):
        def __init__(self, name):
            self.name = name

        def call(self, graph_module):
            ran.append(self.name)
            return base.PassResult(graph_module, graph_module.graph.eliminate_dead_code())

    first, second = Note("first"), Note("second")
    traced = fx.symbolic_trace(lambda x: (x + 1, x)[1])
    before = manager.this_before_that_pass_constraint(first, second)
    result = manager.PassManager([second, first], [before], steps=3)(traced)
    assert ran == ["first", "second", "first", "second"] and result.modified is True
    assert result.graph_module.code.strip().endswith("return x")
    with pytest.raises(RuntimeError, match="Circular dependency detected"):
        manager.PassManager([first, second], [before, lambda a, b: not before(a, b)]).solve_constraints()
    with pytest.raises(Exception, match="An error occurred when running the 'wrong' pass"):
        def wrong(gm):
            return None

        manager.PassManager([wrong])(traced)


def test_a_graph_is_put_in_order(torch, fx, module):
    traced = fx.symbolic_trace(lambda x: torch.relu(torch.neg(x)))
    _, neg, relu, _ = traced.graph.nodes
    relu.append(neg)
    made = module("passes.tools_common").legalize_graph(traced)
    made.graph.lint()
    assert [node.name for node in made.graph.nodes] == ["x", "neg", "relu", "output"]


def test_arguments_and_operators_in_a_normal_form(torch, fx, module):
    normalize = module("experimental.normalize")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    made = normalize.NormalizeArgs(fx.symbolic_trace(model)).transform()
    assert '"0")(input = input_1)' in made.code
    traced = fx.symbolic_trace(lambda x: torch.add(torch.nn.functional.dropout(x, 0.5, False), torch.relu(x)))
    by_name = normalize.NormalizeArgs(traced).transform()
    assert "dropout(input = x, p = 0.5, training = False, inplace = False)" in by_name.code
    assert "torch.relu(input = x)" in by_name.code
    assert "dropout + relu" in normalize.NormalizeOperators(traced).transform().code
    assert by_name(torch.ones(1)).item() == 2
