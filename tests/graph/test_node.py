"""The graph as users see it: nodes, their names and neighbours, edges in place of tensors, the life of nodes."""

from __future__ import annotations

import gc
import importlib
import weakref

import pytest

from tests.makers import leaf


def edge_of(torch, t):
    return torch.autograd.graph.get_gradient_edge(t)


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_nodes_are_of_the_abstract_class(torch):
    Node = torch.autograd.graph.Node
    functions = importlib.import_module(f"{torch.__name__}._C")._functions
    seen = []

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(isinstance(ctx, Node))
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(isinstance(ctx, Node))
            return g

    x = leaf(torch, 1.0)
    y = x.exp()
    z = Custom.apply(y)
    base = x.clone()
    base[0].mul_(2)
    z.sum().backward()
    for node in (y.grad_fn, y.grad_fn.next_functions[0][0], z.grad_fn, base.grad_fn):
        assert isinstance(node, Node) and issubclass(type(node), Node) and Node not in type(node).mro()
    assert seen == [True, True]
    for kind in (functions.AccumulateGrad, functions.CopySlices, torch.autograd.function.BackwardCFunction, Node):
        assert issubclass(kind, Node) and not isinstance(kind, Node)
    assert not isinstance(None, Node) and not isinstance(1, Node) and not issubclass(int, Node)
    with pytest.raises(TypeError, match="abstract"):
        Node()


def test_names(torch):
    x = leaf(torch, 1.0, 2.0)
    written = x.clone()
    written[0] = 3.0
    names = {
        "AddBackward0": x + 1, "SubBackward0": x - x, "MulBackward0": x * x, "DivBackward0": x / 2,
        "PowBackward0": x**2, "NegBackward0": -x, "RsubBackward1": 1 - x, "SumBackward0": x.sum(),
        "SumBackward1": x.sum(0), "MeanBackward0": x.mean(), "CloneBackward0": x.clone(), "ViewBackward0": x.view(2, 1),
        "ReshapeAliasBackward0": None, "SelectBackward0": x[0], "SliceBackward0": x[:1],
        "torch::autograd::CopySlices": written, "torch::autograd::NotImplemented": x // x,
        "torch::autograd::CopyBackwards": x.clone().copy_(x),
    }
    for name, t in names.items():
        assert t is None or t.grad_fn.name() == name
    assert x.view_as(x).grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert type(written.grad_fn).__name__ == "CopySlices"


def test_neighbours(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    a = x + y
    (left, i), (right, j) = a.grad_fn.next_functions
    assert (left.variable, right.variable) == (x, y) and i == j == 0
    b = a + 5
    assert b.grad_fn.next_functions == ((a.grad_fn, 0), (None, 0))
    second = torch.ones(4, requires_grad=True).chunk(2)[1]
    assert (second * 1).grad_fn.next_functions[0] == (second.grad_fn, 1)


def test_sequence_numbers_grow(torch):
    x = leaf(torch, 1.0)
    a = x * 2
    b = a * 2
    assert b.grad_fn._sequence_nr() == a.grad_fn._sequence_nr() + 1
    b.sum().backward()
    assert x.grad.item() == 4.0


def test_what_a_node_knows_of_its_outputs(torch):
    x = torch.ones(2, 3, requires_grad=True)
    (kind,) = (x * 2).grad_fn._input_metadata
    assert (list(kind.shape) == [2, 3] and kind.dtype == torch.float32 and kind.device == torch.device("cpu")
        and not kind.is_nested_tensor)
    first, second = torch.var_mean(x, dim=0)[0].grad_fn._input_metadata
    assert list(first.shape) == list(second.shape) == [3]


def test_nodes_have_room_for_facts(torch):
    y = leaf(torch, 1.0) * 2
    y.grad_fn.metadata["who"] = "me"
    assert y.grad_fn.metadata == {"who": "me"}


def test_nodes_are_functions(torch):
    x, w = torch.ones(2, 2, requires_grad=True), torch.full((2, 2), 3.0, requires_grad=True)
    product = x * w
    gx, gw = product.grad_fn(torch.ones(2, 2))
    assert gx.tolist() == [[3.0, 3.0]] * 2 and gw.tolist() == [[1.0, 1.0]] * 2 and gx.requires_grad
    with torch.no_grad():
        assert not product.grad_fn(torch.ones(2, 2))[0].requires_grad
    assert x.exp().grad_fn(torch.ones(2, 2)).shape == (2, 2)
    assert product.grad_fn(None) == (None, None)
    for wrong in ((), (torch.ones(2, 2), torch.ones(2, 2))):
        with pytest.raises(TypeError, match=f"expected 1 arguments, got {len(wrong)} instead"):
            product.grad_fn(*wrong)
    with pytest.raises(TypeError, match="argument 0 is not a Variable"):
        product.grad_fn(3.0)
    assert x.grad is None


# -- edges -------------------------------------------------------------------------------------------------------------


def test_edges(torch):
    a, b = torch.ones(4, requires_grad=True).chunk(2)
    edge = edge_of(torch, b)
    assert isinstance(edge, tuple) and isinstance(edge, torch.autograd.graph.GradientEdge)
    assert edge.node is b.grad_fn and edge.output_nr == 1 and edge[:2] == (b.grad_fn, 1) and edge == edge_of(torch, b)
    assert torch.autograd.graph.GradientEdge(a.grad_fn, 0) == edge_of(torch, a)
    with pytest.raises(RuntimeError,
            match="It is not possible to get the gradient edge for a Tensor that does not require gradients"):
        edge_of(torch, torch.ones(1))


def test_edges_as_inputs(torch):
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    before = edge_of(torch, h)
    h *= 3
    old, new = torch.autograd.grad(h.sum(), (before, h), retain_graph=True)
    assert old.tolist() == [3.0, 3.0] and new.tolist() == [1.0, 1.0]
    (g,) = torch.autograd.grad(h.sum(), edge_of(torch, x), retain_graph=True)
    assert g.tolist() == [6.0, 6.0] and x.grad is None
    h.sum().backward(inputs=[edge_of(torch, x)])
    assert x.grad.tolist() == [6.0, 6.0]


def test_edges_as_roots(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    edge, total = edge_of(torch, y), edge_of(torch, y.sum())
    del y
    assert torch.autograd.grad(edge, x, torch.ones(2), retain_graph=True)[0].tolist() == [2.0, 2.0]
    assert torch.autograd.grad((total,), x, retain_graph=True)[0].tolist() == [2.0, 2.0]
    torch.autograd.backward([edge, total], [torch.ones(2), None], retain_graph=True)
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.backward(edge)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.backward(edge, torch.ones(3))
    with pytest.raises(RuntimeError,
            match="For complex Tensors, both grad_output and output are required to have the same dtype"):
        torch.autograd.backward(edge, torch.ones(2, dtype=torch.complex64))


def test_an_edge_that_nothing_reaches(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    out, edge = (x * 2).sum(), edge_of(torch, y * 1)
    assert torch.autograd.grad(out, (x, edge), retain_graph=True, allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(out, (x, edge), materialize_grads=True)


# -- the life of nodes -------------------------------------------------------------------------------------------------


class Thing:
    pass


def test_nodes_die_with_the_last_tensor(torch):
    gc.disable()
    try:
        x = leaf(torch, 1.0)
        y = (x * 2).exp()
        thing = Thing()
        y.grad_fn.next_functions[0][0].metadata["thing"], alive = thing, weakref.ref(thing)
        del thing
        assert alive() is not None
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_an_edge_keeps_its_graph_alive(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    edge = edge_of(torch, y)
    del y
    torch.autograd.backward(edge)
    assert x.grad.item() == 2.0


@pytest.mark.parametrize("walked", [False, True])
def test_deep_graphs_are_freed_without_recursion(torch, walked):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g

    x = torch.zeros(1, requires_grad=True)
    y = x
    for _ in range(150_000 if not walked else 30_000):
        y = Add.apply(y, x)
    if walked:
        y.backward()
        assert x.grad.item() == 30_001.0
    del y
    y = x.clone()
    for _ in range(150_000 if not walked else 30_000):
        y = y + y * 0.000001
    if walked:
        y.backward()
    del y


def test_deep_graphs_of_writes_and_hooks_are_freed():
    import wengert as torch  # PyTorch crashes: its hooks of so many nodes are freed by recursion

    x = torch.zeros(2, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y.clone()
        y.register_hook(lambda g: None)
    del y
    y = x.clone()
    for _ in range(50_000):
        y.add_(1.0)
    del y
    y = x.clone()
    for _ in range(10_000):
        y[0].add_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_writes_that_only_the_user_knows_of(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    z = y.exp()
    torch.autograd.graph.increment_version([y])
    assert y._version == 1
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        (z * y).sum().backward() or y.sum().backward()
