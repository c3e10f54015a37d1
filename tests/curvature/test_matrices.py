"""Hessian, GGN and Fisher against matrices formed in full, in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from wengert import curvature

from .conftest import (
    MODELS,
    Tokens,
    cut,
    flat_function,
    full_empirical,
    full_ggn,
    full_hessian,
    joined,
    targets,
)

nn, F = torch.nn, torch.nn.functional
LOSSES = [nn.CrossEntropyLoss, nn.MSELoss, nn.BCEWithLogitsLoss]
close = np.testing.assert_allclose


def problem(name, loss, sizes=(3, 1, 2)):
    make, shape, rows, width = MODELS[name]
    model = make()
    n = sum(sizes)
    if isinstance(loss, nn.CrossEntropyLoss) and rows:
        model = nn.Sequential(model, Turned())
    return model, cut(torch.randn(n, *shape), targets(loss, (n, *rows), width), list(sizes))


class Turned(nn.Module):
    """Classes to dimension 1, where the loss has them."""

    def forward(self, x):
        return x.movedim(-1, 1)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("name", MODELS)
def test_products_are_those_of_the_full_matrices(name, kind, reduction):
    loss = kind(reduction=reduction)
    model, data = problem(name, loss)
    v = torch.randn(sum(p.numel() for p in model.parameters())).numpy()
    ggn = full_ggn(model, loss, data) @ v
    close(curvature.Hessian(model, loss, data) @ v, full_hessian(model, loss, data) @ v, rtol=0, atol=1e-10)
    close(curvature.GGN(model, loss, data) @ v, ggn, rtol=0, atol=1e-10)
    close(curvature.Fisher(model, loss, data) @ v, ggn, rtol=0, atol=1e-10)
    axis = 1 if kind is nn.CrossEntropyLoss else -1
    empirical = full_empirical(model, loss, data, axis)
    close(curvature.Fisher(model, loss, data, kind="empirical") @ v, empirical @ v, rtol=0, atol=1e-10)


def differentiated_twice(model, loss, x, y):
    """The Hessian row by row, which tied weights do not mind."""
    params = list(model.parameters())
    slopes = torch.autograd.grad(loss(model(x), y), params, create_graph=True)
    rows = [torch.autograd.grad(s, params, retain_graph=True, materialize_grads=True)
        for s in torch.cat([s.reshape(-1) for s in slopes])]
    return np.stack([torch.cat([r.reshape(-1) for r in row]).numpy() for row in rows])


@pytest.mark.parametrize("tied", [False, True])
def test_tokens_and_tied_weights(tied):
    model, loss = Tokens(tied), nn.CrossEntropyLoss()
    data = cut(torch.randint(0, 5, (5, 3)), torch.randint(0, 5, (5, 3)), [2, 3])
    H = curvature.Hessian(model, loss, data).to_dense()
    close(H, differentiated_twice(model, loss, *joined(data)), rtol=0, atol=1e-10)
    if not tied:
        close(curvature.GGN(model, loss, data).to_dense(), full_ggn(model, loss, data), rtol=0, atol=1e-10)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_pixels_are_terms(reduction):
    model, loss = nn.Conv2d(1, 3, 2), nn.CrossEntropyLoss(reduction=reduction)
    data = cut(torch.randn(3, 1, 3, 4), torch.randint(0, 3, (3, 2, 3)), [1, 2])
    close(curvature.GGN(model, loss, data).to_dense(), full_ggn(model, loss, data), rtol=0, atol=1e-10)
    close(curvature.Fisher(model, loss, data, kind="empirical").to_dense(), full_empirical(model, loss, data, 1),
        rtol=0, atol=1e-10)


def test_classes_last_where_only_that_fits():
    model, loss = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 4)), nn.CrossEntropyLoss()
    x, y = torch.randn(5, 2, 2), torch.randint(0, 4, (5, 2))
    found = curvature.Hessian(model, loss, cut(x, y, [2, 3])).to_dense()
    close(found, full_hessian(model, loss, [(x.reshape(-1, 2), y.reshape(-1))]), rtol=0, atol=1e-10)


WEIGHT, POSITIVE = torch.tensor([0.5, 2.0, 1.0]).double(), torch.tensor([3.0, 1.0, 0.2]).double()
WEIGHTED = [
    (nn.CrossEntropyLoss(weight=WEIGHT, label_smoothing=0.1, ignore_index=1), "classes"),
    (nn.CrossEntropyLoss(ignore_index=0), "classes"),
    (nn.CrossEntropyLoss(weight=WEIGHT, label_smoothing=0.2), "likely"),
    (nn.BCEWithLogitsLoss(weight=WEIGHT, pos_weight=POSITIVE), "numbers"),
    (nn.SmoothL1Loss(), "numbers"),
    (nn.NLLLoss(ignore_index=0), "classes"),
]


@pytest.mark.parametrize("loss, wanted", WEIGHTED, ids=lambda v: type(v).__name__)
def test_weights_and_options_of_losses(loss, wanted):
    layers = [nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)]
    model = nn.Sequential(*layers, *([nn.LogSoftmax(1)] if isinstance(loss, nn.NLLLoss) else []))
    y = {"classes": torch.tensor([0, 1, 2, 0, 2, 1, 0]), "likely": torch.rand(7, 3).softmax(1),
        "numbers": torch.rand(7, 3)}[wanted]
    data = cut(torch.randn(7, 3), y, [2, 5])
    close(curvature.Hessian(model, loss, data).to_dense(), full_hessian(model, loss, data), rtol=0, atol=1e-10)
    close(curvature.GGN(model, loss, data).to_dense(), full_ggn(model, loss, data), rtol=0, atol=1e-10)


def test_probabilities():
    model, loss = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid()), nn.BCELoss()
    data = cut(torch.randn(5, 3), torch.randint(0, 2, (5, 2)).double(), [2, 3])
    close(curvature.Hessian(model, loss, data).to_dense(), full_hessian(model, loss, data), rtol=0, atol=1e-10)
    close(curvature.GGN(model, loss, data).to_dense(), full_ggn(model, loss, data), rtol=0, atol=1e-10)
    logits = curvature.Fisher(model[0], nn.BCEWithLogitsLoss(), data, model[0].parameters()).to_dense()
    close(curvature.Fisher(model, loss, data).to_dense(), logits, rtol=0, atol=1e-12)  # however it is parametrised


@pytest.mark.parametrize("kind", [*LOSSES, nn.BCELoss])
def test_sampled_fisher_tends_to_the_exact_one(kind):
    model = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid()) if kind is nn.BCELoss else nn.Linear(3, 2)
    loss = kind()
    data = cut(torch.randn(5, 3), targets(loss, (5,), 2), [2, 3])
    exact = curvature.Fisher(model, loss, data).to_dense()
    sampled = curvature.Fisher(model, loss, data, kind="sampled", samples=4000).to_dense()
    assert 0 < abs(sampled - exact).max() < 0.06 * abs(exact).max()


@pytest.mark.parametrize("kind", LOSSES)
def test_sampled_targets_do_not_depend_on_batches_but_on_the_seed(kind):
    model, loss = nn.Linear(3, 2), kind()
    x, y = torch.randn(7, 3), targets(loss, (7,), 2)

    def matrix(sizes, seed):
        return curvature.Fisher(model, loss, cut(x, y, sizes), kind="sampled", samples=2, seed=seed).to_dense()

    close(matrix([7], 0), matrix([2, 4, 1], 0), rtol=0, atol=1e-14)
    assert abs(matrix([7], 0) - matrix([7], 1)).max() > 1e-3


def test_one_sample_is_an_outer_product_for_each_term():
    model, loss = nn.Linear(4, 3), nn.CrossEntropyLoss(reduction="sum")
    fisher = curvature.Fisher(model, loss, [(torch.randn(2, 4), torch.tensor([0, 1]))], kind="sampled")
    assert np.linalg.matrix_rank(fisher.to_dense()) == 2


@pytest.mark.parametrize("function, module", [(F.cross_entropy, nn.CrossEntropyLoss), (F.mse_loss, nn.MSELoss),
    (F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss), (lambda o, y: F.mse_loss(o, y), nn.MSELoss)])
def test_functions_are_means_unless_said_otherwise(function, module):
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2))
    data = cut(torch.randn(5, 3), targets(module(), (5,), 2), [1, 4])
    for matrix in curvature.Hessian, curvature.GGN:
        close(matrix(model, function, data).to_dense(), matrix(model, module(), data).to_dense(), rtol=0, atol=1e-12)


def test_a_function_that_sums():
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2))
    data = cut(torch.randn(5, 3), torch.randn(5, 2), [1, 4])
    loss, known = (lambda o, y: ((o - y) ** 2).sum()), nn.MSELoss(reduction="sum")
    for kind in curvature.Hessian, curvature.GGN, curvature.Fisher:
        close(kind(model, loss, data, reduction="sum").to_dense(), kind(model, known, data).to_dense(), rtol=0,
            atol=1e-10)
    empirical = curvature.Fisher(model, loss, data, reduction="sum", kind="empirical").to_dense()
    close(empirical, full_empirical(model, known, data), rtol=0, atol=1e-10)


def test_some_parameters_and_frozen_ones():
    model, loss = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), nn.MSELoss()
    data = cut(torch.randn(5, 3), torch.randn(5, 2), [2, 3])
    chosen = [model[2].bias, model[0].weight]
    H = curvature.Hessian(model, loss, data, chosen)
    assert H.shape == (14, 14) and [p is q for p, q in zip(H.params, chosen)] == [True, True]
    close(H.to_dense(), full_hessian(model, loss, data, chosen), rtol=0, atol=1e-10)
    model[0].weight.requires_grad_(False)
    left = [model[0].bias, model[2].weight, model[2].bias]
    close(curvature.GGN(model, loss, data).to_dense(), full_ggn(model, loss, data, left), rtol=0, atol=1e-10)


def test_parameters_that_have_no_part_are_zero():
    model, other = nn.Linear(2, 1), nn.Parameter(torch.ones(2))
    data = [(torch.randn(3, 2), torch.randn(3, 1))]
    params = [other, *model.parameters()]
    for matrix in curvature.Hessian, curvature.GGN:
        found = matrix(model, nn.MSELoss(), data, params).to_dense()
        assert not found[:2].any() and not found[:, :2].any() and found[2:, 2:].all()
        assert not (matrix(model, nn.MSELoss(), data, [other]) @ np.ones(2)).any()


def test_one_number_for_each_example():
    model, loss = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)), nn.BCEWithLogitsLoss()
    data = cut(torch.randn(5, 3), torch.randint(0, 2, (5,)).double(), [2, 3])
    close(curvature.GGN(model, loss, data).to_dense(), full_ggn(model, loss, data), rtol=0, atol=1e-12)
    slopes = [torch.autograd.grad(F.binary_cross_entropy_with_logits(model(x), y, reduction="sum"), list(
        model.parameters())) for x, y in cut(*joined(data), 1)]
    rows = np.stack([torch.cat([s.reshape(-1) for s in row]).numpy() for row in slopes])
    close(curvature.Fisher(model, loss, data, kind="empirical").to_dense(), rows.T @ rows / 5, rtol=0, atol=1e-12)


def test_layer_norm_against_differences():
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 2))
    loss, data = nn.MSELoss(), cut(torch.randn(5, 3), torch.randn(5, 2), [2, 3])
    x, y = joined(data)
    params = list(model.parameters())
    output, numbers = flat_function(model, params, x)

    def slope(n):
        leaf = n.clone().requires_grad_()
        return torch.autograd.grad(loss(output(leaf), y), leaf)[0]

    h = 1e-5
    rows = [(slope(numbers + h * e) - slope(numbers - h * e)) / (2 * h) for e in torch.eye(len(numbers))]
    close(curvature.Hessian(model, loss, data).to_dense(), torch.stack(rows).numpy(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["Hessian", "GGN", "KFAC"])
def test_a_matrix_times_a_matrix_is_its_columns(kind):
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2))
    A = getattr(curvature, kind)(model, nn.MSELoss(), cut(torch.randn(5, 3), torch.randn(5, 2), [2, 3]))
    V = torch.randn(A.shape[0], 3).numpy()
    close(A @ V, np.stack([A @ v for v in V.T], 1), rtol=0, atol=1e-14)
    close(A.T @ V, A @ V, rtol=0, atol=0)
    close(A @ (V[:, 0] + 2j * V[:, 1]), A @ V[:, 0] + 2j * (A @ V[:, 1]), rtol=0, atol=1e-14)
    V.flags.writeable = False
    close(A @ V[:, 0], A.to_dense() @ V[:, 0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("wrong", [-1, 3])
@pytest.mark.parametrize("kind", ["Hessian", "Fisher"])
def test_a_class_that_there_is_not_is_refused(kind, wrong):
    data = [(torch.randn(3, 2), torch.tensor([0, wrong, 1]))]
    more = {"kind": "empirical"} if kind == "Fisher" else {}
    A = getattr(curvature, kind)(nn.Linear(2, 3), nn.CrossEntropyLoss(), data, **more)
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
        A @ np.ones(9)


def test_targets_left_out_by_the_number_that_stands_for_that():
    model, x, y = nn.Linear(2, 3), torch.randn(4, 2), torch.tensor([0, -100, 1, 2])
    kept = y >= 0
    for kind in curvature.Hessian, curvature.GGN:
        v = np.arange(9.0)
        close(kind(model, nn.CrossEntropyLoss(), [(x, y)]) @ v,
            kind(model, nn.CrossEntropyLoss(), [(x[kept], y[kept])]) @ v, rtol=0, atol=1e-12)
