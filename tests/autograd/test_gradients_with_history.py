"""Which gradients taken with ``create_graph=True`` can be differentiated again: those of PyTorch, also where the answer is zero."""

from __future__ import annotations

import pytest


def gradient(torch, f, *values):
    x = torch.tensor(values if len(values) > 1 else values[0], requires_grad=True)
    (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    return x, g


@pytest.mark.parametrize(
    "name, options",
    [
        ("relu", {}), ("relu6", {}), ("leaky_relu", {"negative_slope": 0.1}), ("hardtanh", {}), ("threshold", {"threshold": 0.0, "value": 1.0}),
        ("hardshrink", {}), ("softshrink", {}),
    ],
)  # fmt: skip
def test_straight_pieces_have_a_second_derivative_of_zero(torch, name, options):
    f = getattr(torch.nn.functional, name)
    x, g = gradient(torch, lambda x: f(x, **options), -0.7, 0.8, 0.9)
    assert g.requires_grad
    g.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_straight_pieces_pass_further_gradients_on(torch):
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(torch.relu(x * x * x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [0.0, 12.0] and h.tolist() == [0.0, 12.0]


def test_softmax_of_one_number(torch):
    for f in (torch.softmax, torch.log_softmax):
        x, g = gradient(torch, lambda x, f=f: f(x, 0), 0.7)
        assert g.item() == 0 and g.requires_grad
        (h,) = torch.autograd.grad(g, x)
        assert h.item() == 0


def test_product_of_one_number(torch):
    _, g = gradient(torch, lambda x: x.prod(), 0.7)
    assert g.item() == 1 and not g.requires_grad


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
def test_only_outputs_that_were_used_have_gradients(torch, name):
    f = getattr(torch, name)
    _, g = gradient(torch, lambda x: f(x)[1], 0.7)
    assert g.item() == 1 and not g.requires_grad
    _, g = gradient(torch, lambda x: f(x, dim=0)[1], 1.0, 2.0)
    assert g.tolist() == [0.5, 0.5] and not g.requires_grad
    _, g = gradient(torch, lambda x: f(x)[0], 1.0, 2.0, 4.0)
    assert g.requires_grad
    _, g = gradient(torch, lambda x: sum(f(x)), 1.0, 2.0, 4.0)
    assert g.requires_grad


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_corners_of_a_loss_are_flat(torch, name):
    f = getattr(torch.nn.functional, name)
    x, g = gradient(torch, lambda x: f(x, torch.zeros(4), reduction="sum"), -2.0, 0.5, 1.0, -1.0)
    assert g.tolist() == [-1.0, 0.5, 1.0, -1.0]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [0.0, 1.0, 0.0, 0.0]
