"""Forward mode agrees with reverse mode for every operator of the table: ``<w, J t>`` is ``<Jᴴ w, t>``.

And the two compose: the forward derivative of a gradient, and the gradient of a forward derivative, are the Hessian.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from wengert.autograd.forward_ad import dual_level, make_dual, unpack_dual

from .test_declared import CASES, NO_SECOND, arguments, call, close, gradients, leaves, pair, weights


def directions_for(ins):
    rng = np.random.default_rng(11)
    return [torch.tensor(rng.standard_normal(tuple(t.shape))) for t in ins]


def along(args, options, ins, directions):
    """The arguments with the leaves ``ins`` as dual tensors."""
    duals = {id(t): make_dual(t, d) for t, d in zip(ins, directions)}

    def swap(a):
        return [duals.get(id(x), x) for x in a] if isinstance(a, list) else duals.get(id(a), a)

    return [swap(a) for a in args], {k: swap(v) for k, v in options.items()}


def forward(name, args, options, ins, directions):
    """``(outputs, tangents)``."""
    pairs = [unpack_dual(o) for o in call(name, *along(args, options, ins, directions))]
    return [p for p, _ in pairs], [t for _, t in pairs]


@pytest.mark.parametrize(("name", "number"), CASES)
@pytest.mark.parametrize("recording", [True, False], ids=["recorded", "alone"])
def test_forward_equals_reverse(name, number, recording):
    args, options = arguments(name, number)
    ins = leaves(args, options)
    if not ins:
        return
    outs = call(name, args, options)
    ws = weights(outs, 1)
    grads = gradients(outs, ins, ws)
    directions = directions_for(ins)
    if not recording:
        for t in ins:
            t.requires_grad_(False)
    with dual_level():
        values, tangents = forward(name, args, options, ins, directions)
    for o, v, t in zip(outs, values, tangents):
        np.testing.assert_array_equal(v.detach().numpy(), o.detach().numpy())
        assert t is None or (t.shape == o.shape and t.dtype == o.dtype)
        assert recording or t is None or not t.requires_grad
    close(pair(tangents, [w.to(o.dtype) for o, w in zip(outs, ws)]), pair(grads, directions), 1e-9)


@pytest.mark.parametrize(("name", "number"), [c for c in CASES if c.values[0] not in NO_SECOND])
def test_forward_over_reverse_and_reverse_over_forward(name, number):
    args, options = arguments(name, number)
    ins = leaves(args, options)
    if not ins:
        return
    ws = weights(call(name, args, options), 1)
    directions = directions_for(ins)
    grads = gradients(call(name, args, options), ins, ws, create_graph=True)
    live = [g for g in grads if g is not None and g.requires_grad]
    vs = weights(live, 2)
    hessian = torch.autograd.grad(live, ins, vs, allow_unused=True) if live else []
    expected = pair(hessian, directions)

    with dual_level():
        outs = call(name, *along(args, options, ins, directions))
        found = gradients(outs, ins, ws)
        tangents = [unpack_dual(g).tangent for g, was in zip(found, grads) if was is not None and was.requires_grad]
        close(pair(tangents, vs), expected, 1e-8)

    with dual_level():
        _, tangents = forward(name, args, options, ins, vs_for(ins, grads, vs))
    live = [(t, w.to(t.dtype)) for t, w in zip(tangents, ws) if t is not None and t.requires_grad]
    again = torch.autograd.grad([t for t, _ in live], ins, [w for _, w in live], allow_unused=True) if live else []
    close(pair(again, directions), expected, 1e-8)


def vs_for(ins, grads, vs):
    """The vectors of the live gradients, in the places of their inputs; zeros elsewhere."""
    rest = iter(vs)
    return [next(rest) if g is not None and g.requires_grad else torch.zeros_like(t).detach()
        for t, g in zip(ins, grads)]
