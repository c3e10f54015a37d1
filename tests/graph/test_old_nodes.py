"""What is older than what a gradient is for is not walked over."""

from __future__ import annotations

import pytest


def test_needed_nodes_are_younger_than_the_oldest_target():
    import wengert as torch
    from wengert.graph import engine

    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(50):
        y = y * 1.5
    other = torch.ones(2, requires_grad=True)
    z = (y * other).sum()
    root, target = z._wg_edge, y._wg_edge[0]
    product = root[0].edges[0][0]
    assert engine.nodes_leading_to([root], {target}) == {root[0], product}
    assert len(engine.reachable_nodes([root], oldest=target.seq)) == 4  # with the leaf, and the target itself
    assert len(engine.reachable_nodes([root])) == 54
    assert engine.nodes_leading_to([root], set()) == set()


@pytest.mark.parity
def test_gradients_of_unrolled_steps(torch):
    """Of states and leaves of several ages at once, in both orders, with and without a graph of their own."""
    w, rate = (torch.tensor([v], dtype=torch.float64, requires_grad=True) for v in (0.5, 0.1))
    states = [w]
    for _ in range(4):
        state = states[-1]
        g, = torch.autograd.grad((state**3 + rate * state).sum(), state, create_graph=True)
        states.append(state - rate * g)
    found = torch.autograd.grad(states[-1].sum(), [rate, states[3], states[1], w], retain_graph=True)
    again = torch.autograd.grad(states[-1].sum(), [states[1], w, states[3], rate], create_graph=True)
    assert [g.item() for g in found] == [again[i].item() for i in (3, 2, 0, 1)]
    assert found[1].item() == pytest.approx(1 - 0.1 * (6 * states[3].item()))
    (a,) = torch.autograd.grad(states[2].sum(), states[2])
    assert a.item() == 1.0
    (none,) = torch.autograd.grad(states[1].sum(), states[3], allow_unused=True)
    assert none is None
    assert torch.autograd.gradcheck(lambda v: _last(torch, v, rate), (w,))


def _last(torch, state, rate):
    for _ in range(3):
        g, = torch.autograd.grad((state**3).sum(), state, create_graph=True)
        state = state - rate * g
    return state
