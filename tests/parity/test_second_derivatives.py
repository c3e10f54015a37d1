"""Second derivatives through layer norm against differences of gradients: ours in every order; PyTorch's of
``torch.func`` are wrong, as ``docs/curvature.md`` says.
"""

from __future__ import annotations

import pytest

import wengert

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

ORDERS = ("jacfwd jacrev", "jacrev jacrev", "jacrev jacfwd")


def errors(torch, affine, seed):
    """How far the Hessians are from differences, as a share of the largest entry: by the order of ``torch.func``."""
    torch.manual_seed(seed)
    inputs, wanted = torch.randn(8, 6).double(), torch.randn(8, 6).double()

    def loss(p):
        h = inputs @ p[:36].reshape(6, 6)
        row = (p[36:42], p[42:]) if affine else ()
        return (torch.nn.functional.layer_norm(h, (6,), *row) - wanted).tanh().square().sum()

    p, gradient, h = torch.randn(48).double(), torch.func.grad(loss), 1e-5
    rows = [(gradient(p + h * e) - gradient(p - h * e)) / (2 * h) for e in torch.eye(48).double()]
    differences = torch.stack(rows)
    found = {order: getattr(torch.func, order.split()[0])(getattr(torch.func, order.split()[1])(loss))(p)
        for order in ORDERS}
    found["functional"] = torch.autograd.functional.hessian(loss, p)
    return {name: ((x - differences).abs().max() / differences.abs().max()).item() for name, x in found.items()}


@pytest.mark.parametrize("affine", [True, False])
def test_ours_are_right_in_every_order(affine):
    assert max(errors(wengert, affine, 0).values()) < 1e-8


@pytest.mark.parametrize("seed", [0, 1])
def test_those_of_torch_func_are_wrong(seed):
    found = errors(reference, True, seed)
    assert found.pop("functional") < 1e-8
    assert min(found.values()) > 0.03
    found = errors(reference, False, seed)
    assert found.pop("jacrev jacfwd") > 0.1
    assert max(found.values()) < 1e-8
