"""A backward that raises half-way: which leaves have their gradient by then, and in which order leaves are come to."""

from __future__ import annotations

import pytest


def leaves(torch, n):
    return [torch.tensor([i + 1.0], requires_grad=True) for i in range(n)]


def failing(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("on purpose")

    return Fails.apply


def grads(row):
    return [None if x.grad is None else x.grad.item() for x in row]


@pytest.mark.parametrize("keyword", [{}, {"retain_graph": True}, {"create_graph": True}])
def test_leaves_that_were_complete_have_their_gradient(torch, keyword):
    a, b, c = row = leaves(torch, 3)
    with pytest.raises(RuntimeError, match="on purpose"):
        (failing(torch)(a * b) * c).backward(**keyword)
    assert grads(row) == [None, None, 2.0]


def test_a_leaf_that_waits_for_more_has_none(torch):
    a, b, c = row = leaves(torch, 3)
    with pytest.raises(RuntimeError, match="on purpose"):
        (failing(torch)(a * b) * b * c).backward()
    assert grads(row) == [None, None, 4.0]


def test_also_where_an_earlier_graph_keeps_the_leaf(torch):
    a, b, c = row = leaves(torch, 3)
    earlier = a * 1, b * 1, c * 1
    with pytest.raises(RuntimeError, match="on purpose"):
        (failing(torch)(a * 5) + b * c + c).backward()
    assert grads(row) == [None, 3.0, 3.0]
    assert len(earlier) == 3


def test_what_comes_after_a_hook_that_raises(torch):
    def hook(g):
        raise RuntimeError("on purpose")

    for which, expected in enumerate(([None, None, None], [1.0, None, None])):
        row = leaves(torch, 3)
        row[which].register_hook(hook)
        with pytest.raises(RuntimeError, match="on purpose"):
            torch.stack(row).sum().backward()
        assert grads(row) == expected
    a, b, c = row = leaves(torch, 3)
    h = a * b
    h.register_hook(hook)
    with pytest.raises(RuntimeError, match="on purpose"):
        (h * c).backward()
    assert grads(row) == [None, None, 2.0]


def test_inputs_that_were_asked_for(torch):
    a, b, c = row = leaves(torch, 3)
    with pytest.raises(RuntimeError, match="on purpose"):
        (failing(torch)(a) * b * c).backward(inputs=[a, c])
    assert grads(row) == [None, None, 2.0]


def test_the_first_leaf_of_a_node_comes_first(torch):
    seen = []

    def watched(name, x):
        x.register_hook(lambda g: seen.append(name))
        return x

    a, b, c = leaves(torch, 3)
    (watched("a", a) * watched("b", b) * watched("c", c)).backward()
    assert seen == ["c", "a", "b"]
    seen.clear()
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2), torch.nn.Linear(2, 2))
    for name, p in net.named_parameters():
        watched(name, p)
    net(torch.ones(3, 2)).sum().backward()
    assert seen == ["2.bias", "2.weight", "1.weight", "1.bias", "0.bias", "0.weight"]


def test_a_hook_that_raises_after_its_node_leaves_what_the_node_saved(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x

    def fail(into, came):
        raise ValueError("not now")

    handle = y.grad_fn.register_hook(fail)
    with pytest.raises(ValueError, match="not now"):
        y.backward(torch.ones(2))
    handle.remove()
    y.backward(torch.ones(2))
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward(torch.ones(2))
