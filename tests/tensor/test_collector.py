"""Long graphs are cheap for Python's cycle collector, and cycles through what users hang on them are found."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import wengert as torch
from wengert.graph.node import Node
from wengert.tensor import native_call as native_call


class Marker:
    """Something whose end can be seen."""


def holding(*things):
    """A hook that answers nothing and holds these."""
    def hook(*_):
        assert things

    return hook


def chain(x, length=50):
    y = x
    for _ in range(length):
        y = y * 1.01 + x.sin()
    return y


def through_hook_of_a_leaf(marker):
    x = torch.ones(3, requires_grad=True)
    y = chain(x)
    x.register_hook(holding(y, marker))
    return y


def through_hook_of_a_result(marker):
    x = torch.ones(3, requires_grad=True)
    middle = chain(x)
    y = chain(middle)
    middle.register_hook(holding(y, marker))
    return y


def through_hook_of_a_node(marker):
    x = torch.ones(3, requires_grad=True)
    middle = chain(x)
    y = chain(middle)
    middle.grad_fn.register_hook(holding(y, marker))
    return y


def through_an_attribute_of_a_leaf(marker):
    x = torch.ones(3, requires_grad=True)
    x.result, x.marker = chain(x), marker
    return x.result


def through_metadata_of_a_node(marker):
    x = torch.ones(3, requires_grad=True)
    middle = chain(x)
    y = chain(middle)
    middle.grad_fn.metadata["own"] = (y, marker)
    return y


def through_a_context(marker):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.marker = marker
            ctx.box = box
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    box = []
    y = chain(Twice.apply(chain(torch.ones(3, requires_grad=True))))
    box.append(y)
    return y


def through_many_edges(marker):
    leaves = [torch.ones(2, requires_grad=True) for _ in range(6)]
    y = chain(torch.cat([chain(x, 5) for x in leaves]))
    leaves[4].register_hook(holding(y, marker))
    return y


def through_a_write_to_a_view(marker):
    x, base = torch.ones(3, requires_grad=True), torch.zeros(2, 3)
    base[0].mul_(chain(x))
    y = chain(base)
    x.register_hook(holding(y, marker))
    return y


CYCLES = [
    through_hook_of_a_leaf, through_hook_of_a_result, through_hook_of_a_node, through_an_attribute_of_a_leaf,
    through_metadata_of_a_node, through_a_context, through_many_edges, through_a_write_to_a_view,
]


@pytest.mark.parametrize("make", CYCLES)
@pytest.mark.parametrize("walked", ["not walked", "walked", "walked and kept"])
def test_a_cycle_is_found(make, walked):
    def use():
        marker = Marker()
        y = make(marker)
        if walked != "not walked":
            y.sum().backward(retain_graph=walked == "walked and kept")
        return weakref.ref(marker)

    gc.collect()
    alive = use()
    assert alive() is not None, "there is no cycle to find"
    gc.collect()
    assert alive() is None


def test_what_is_held_from_outside_stays():
    x = torch.ones(3, requires_grad=True)
    y = chain(x)
    held = y.grad_fn.next_functions
    edges = y.grad_fn.edges
    x.register_hook(holding(y))  # a cycle, that keeps y for now
    del y
    gc.collect()
    node = edges[0][0]
    assert held[0][0] is node
    while node.next_functions:
        node = node.next_functions[0][0]
    assert node.variable is x


def test_collections_at_every_moment():
    """Numbers and graphs come out the same when the collector runs all the time."""

    def train():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        x = torch.randn(5, 3)
        for p in model.parameters():
            p.register_hook(lambda g: g * 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            y = model(x)
            (grad,) = torch.autograd.grad(y.pow(2).sum(), model[0].weight, create_graph=True)
            (y.sum() + grad.pow(2).sum() + chain(y.mean(), 5)).backward()
            optimizer.step()
        return [p.detach().numpy().copy() for p in model.parameters()]

    expected = train()
    before = gc.get_threshold()
    gc.set_threshold(3, 2, 2)
    try:
        found = train()
    finally:
        gc.set_threshold(*before)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_edges_of_a_node():
    x, w = torch.ones(3, requires_grad=True), torch.ones(3)
    node = (x * w).grad_fn
    assert node.edges[1] is None
    assert node.edges[0][1] == 0
    assert node.edges[0][0].variable is x
    assert node.edges == node.edges
    assert node.wanted == (True, False)
    node.edges = (None, (node.edges[0][0], 0))
    assert node.wanted == (False, True)
    several = torch.cat([x, w, x, x]).grad_fn
    assert several.wanted == (True, False, True, True)
    assert len(several.edges) == 4
    assert several.edges[3][0] is several.edges[0][0]
    parts = torch.ones(4, requires_grad=True).split(2)
    assert [(t * 2).grad_fn.edges[0][1] for t in parts] == [0, 1]


def test_a_node_without_edges_says_so():
    with pytest.raises(AttributeError):
        Node().edges
    assert not hasattr(Node(), "edges")


def test_long_graphs_are_freed_without_recursion():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(300_000):
        y = y * 1.0
    alive = weakref.ref(y.grad_fn)
    del y
    assert alive() is None


def test_a_long_graph_leaves_one_object_for_an_operation():
    if not native_call.available:
        pytest.skip("installed without native kernels")
    x, w = torch.ones(3, requires_grad=True), torch.ones(3)
    y = x * w
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(500):
        y = y * w
    assert len(gc.get_objects()) - before < 520
