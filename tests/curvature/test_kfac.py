"""K-FAC against blocks formed in full."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from wengert import curvature

from .conftest import cut, full_empirical, full_ggn, targets

nn = torch.nn
LOSSES = [nn.CrossEntropyLoss, nn.MSELoss, nn.BCEWithLogitsLoss]
close = np.testing.assert_allclose


def block_diagonal(matrix, sizes):
    """The matrix without what is outside of blocks."""
    found, start = np.zeros_like(matrix), 0
    for size in sizes:
        found[start:start + size, start:start + size] = matrix[start:start + size, start:start + size]
        start += size
    return found


def dense_model():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2, bias=False), nn.Tanh(), nn.Linear(2, 2))


SIZES = [16, 8, 6]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("kind", LOSSES)
def test_it_is_exact_for_one_example(kind, reduction):
    model, loss = dense_model(), kind(reduction=reduction)
    data = [(torch.randn(1, 3), targets(loss, (1,), 2))]
    K = curvature.KFAC(model, loss, data)
    close(K.to_dense(), block_diagonal(full_ggn(model, loss, data), SIZES), rtol=0, atol=1e-12)
    empirical = curvature.KFAC(model, loss, data, kind="empirical").to_dense()
    close(empirical, block_diagonal(full_empirical(model, loss, data), SIZES), rtol=0, atol=1e-12)
    sampled = curvature.KFAC(model, loss, data, kind="sampled", samples=3, seed=1).to_dense()
    fisher = curvature.Fisher(model, loss, data, kind="sampled", samples=3, seed=1).to_dense()
    close(sampled, block_diagonal(fisher, SIZES), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", LOSSES)
def test_factors_are_moments_however_the_data_are_cut(kind):
    model, loss = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2, bias=False)), kind()
    x, y = torch.randn(6, 3), targets(loss, (6,), 2)
    factors = curvature.KFAC(model, loss, cut(x, y, [1, 3, 2])).factors
    assert list(factors) == [model[0], model[2]] and "2" in factors and "1" not in factors
    a = torch.cat([x, torch.ones(6, 1)], 1)
    close(factors[model[0]][0], a.T @ a / 6, rtol=0, atol=1e-14)
    hidden = model[:2](x).detach()
    A, G = factors["2"]
    close(A, hidden.T @ hidden / 6, rtol=0, atol=1e-14)
    inner = [torch.autograd.functional.hessian(lambda o, t=t: loss(o[None], t[None]), o).numpy()
        for o, t in zip(model(x).detach(), y)]
    close(G, sum(inner) / 6, rtol=0, atol=1e-12)
    whole = curvature.KFAC(model, loss, [(x, y)])
    close(whole.to_dense(), curvature.KFAC(model, loss, cut(x, y, [4, 2])).to_dense(), rtol=0, atol=1e-14)


def kronecker(A, G, bias):
    """``G ⊗ A`` in the order of a weight's numbers, then those of a bias."""
    full = np.kron(G, A)
    if not bias:
        return full
    outputs, inputs = len(G), len(A) - 1
    order = [o * (inputs + 1) + i for o in range(outputs) for i in range(inputs)]
    order += [o * (inputs + 1) + inputs for o in range(outputs)]
    return full[np.ix_(order, order)]


def test_the_operator_and_its_inverse_are_those_of_the_factors():
    model, loss = dense_model(), nn.CrossEntropyLoss()
    data = cut(torch.randn(7, 3), torch.randint(0, 2, (7,)), [3, 4])
    K = curvature.KFAC(model, loss, data)
    dense, start = np.zeros((30, 30)), 0
    for module, (A, G) in K.factors.items():
        block = kronecker(A.numpy(), G.numpy(), module.bias is not None)
        dense[start:start + len(block), start:start + len(block)] = block
        start += len(block)
    close(K.to_dense(), dense, rtol=0, atol=1e-14)
    inverse = K.inverse(0.1)
    assert inverse.shape == K.shape and [p is q for p, q in zip(inverse.params, model.parameters())] == [True] * 5
    close(inverse.to_dense(), np.linalg.inv(dense + 0.1 * np.eye(30)), rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="negative"):
        K.inverse(-1)


CONVOLUTIONS = {
    "1d": (lambda: nn.Conv1d(2, 3, 3, stride=2, padding=2, dilation=2), (2, 9)),
    "2d": (lambda: nn.Conv2d(2, 3, (2, 3), stride=(1, 2), padding=(1, 0), bias=False), (2, 4, 5)),
    "same": (lambda: nn.Conv2d(1, 2, (2, 3), padding="same", padding_mode="circular"), (1, 4, 5)),
    "3d": (lambda: nn.Conv3d(1, 2, 2), (1, 3, 3, 3)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_see_patches(name):
    make, shape = CONVOLUTIONS[name]
    layer, x = make(), torch.randn(3, *shape)
    places = layer(x[:1])[0, 0].numel()
    loss = nn.MSELoss(reduction="sum")
    K = curvature.KFAC(layer, loss, [(x, torch.zeros_like(layer(x)).detach())])
    A, G = K.factors[layer]
    # The Jacobian of one channel's numbers holds the patches: MSE's GGN is 2 Σ a aᵀ for each channel.
    full = full_ggn(layer, loss, [(x, torch.zeros_like(layer(x)).detach())])
    inputs = layer.weight[0].numel()
    close(A[:inputs, :inputs] * 2 * 3 * places, full[:inputs, :inputs], rtol=1e-10)
    close(G, 2 * 3 * places * np.eye(len(G)), rtol=0, atol=1e-10)
    close(K.to_dense(), full, rtol=0, atol=1e-9)


@pytest.mark.parametrize("groups", [2, 4])
def test_groups_of_a_convolution_have_blocks_of_their_own(groups):
    layer, x, loss = nn.Conv2d(4, 8, (2, 1), groups=groups), torch.randn(3, 4, 3, 2), nn.MSELoss(reduction="sum")
    data = [(x, torch.zeros_like(layer(x)).detach())]
    K = curvature.KFAC(layer, loss, data)
    A, G = K.factors[layer]
    assert A.shape == (groups, 8 // groups + 1, 8 // groups + 1) and G.shape == (groups, 8 // groups, 8 // groups)
    full = full_ggn(layer, loss, data)
    close(K.to_dense(), full, rtol=0, atol=1e-9)
    close(K.inverse(0.5).to_dense(), np.linalg.inv(full + 0.5 * np.eye(len(full))), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["exact", "empirical"])
def test_layers_that_share_their_parameters_are_one_layer(kind):
    def model(first, second):
        return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), nn.Linear(2, 1))

    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight, second.bias = first.weight, first.bias
    last, data = nn.Linear(2, 1), cut(torch.randn(4, 2), torch.randn(4, 1), [1, 3])
    tied, twice = model(first, second), model(first, first)
    tied[4] = twice[4] = last
    K, wanted = (curvature.KFAC(m, nn.MSELoss(), data, kind=kind) for m in (tied, twice))
    close(K.to_dense(), wanted.to_dense(), rtol=1e-12)
    assert K.shape == (9, 9) and K.factors[second][0].equal(K.factors["0"][0])


def test_places_of_a_sequence_and_calls_count_as_examples():
    inner = nn.Linear(2, 2)
    model, loss = nn.Sequential(inner, nn.Tanh(), inner, nn.ReLU(inplace=True)), nn.MSELoss(reduction="sum")
    x = torch.randn(4, 3, 2)
    K = curvature.KFAC(model, loss, cut(x, torch.randn(4, 3, 2), [1, 3]))
    A, _ = K.factors[inner]
    a = torch.cat([x.reshape(-1, 2), inner(x).tanh().detach().reshape(-1, 2)])
    a = torch.cat([a, torch.ones(24, 1)], 1)
    close(A, a.T @ a / 24, rtol=0, atol=1e-14)


@pytest.mark.parametrize("places", [3, 20])
@pytest.mark.parametrize("kind", ["exact", "empirical"])
def test_terms_of_an_example_are_kept_apart(kind, places):
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x, y = torch.randn(3, places, 3), torch.randn(3, places, 2)
    apart = curvature.KFAC(model, nn.MSELoss(), cut(x, y, [1, 2]), kind=kind).to_dense()
    flat = curvature.KFAC(model, nn.MSELoss(), [(x.reshape(-1, 3), y.reshape(-1, 2))], kind=kind).to_dense()
    close(apart, flat, rtol=0, atol=1e-12)
    several = nn.Sequential(nn.Linear(2, 6), nn.Unflatten(1, (3, 2)))
    data = [(torch.randn(1, 2), torch.randn(1, 3, 2))]
    fisher = curvature.Fisher(several, nn.MSELoss(), data, kind=kind).to_dense()
    close(curvature.KFAC(several, nn.MSELoss(), data, kind=kind).to_dense(), fisher, rtol=0, atol=1e-12)


def test_a_relu_in_place_changes_nothing():
    x, y = torch.randn(4, 3), torch.randn(4, 2)
    first, last = nn.Linear(3, 3), nn.Linear(3, 2)
    plain, inplace = (nn.Sequential(first, nn.ReLU(inplace=i), last) for i in (False, True))
    close(*(curvature.KFAC(m, nn.MSELoss(), [(x, y)]).to_dense() for m in (plain, inplace)), rtol=0, atol=0)


def test_weight_or_bias_alone():
    model, loss = nn.Linear(3, 2), nn.MSELoss()
    data = [(torch.randn(1, 3), torch.randn(1, 2))]
    full = full_ggn(model, loss, data)
    close(curvature.KFAC(model, loss, data, [model.weight]).to_dense(), full[:6, :6], rtol=0, atol=1e-14)
    close(curvature.KFAC(model, loss, data, [model.bias]).to_dense(), full[6:, 6:], rtol=0, atol=1e-14)
    swapped = curvature.KFAC(model, loss, data, [model.bias, model.weight]).to_dense()
    close(swapped, np.roll(full, (2, 2), (0, 1)), rtol=0, atol=1e-14)


def test_a_function_as_loss():
    model, data = dense_model(), cut(torch.randn(5, 3), torch.randn(5, 2), [2, 3])
    called = curvature.KFAC(model, lambda o, y: ((o - y) ** 2).sum(), data, reduction="sum")
    close(called.to_dense(), curvature.KFAC(model, nn.MSELoss(reduction="sum"), data).to_dense(), rtol=0, atol=1e-12)


def test_what_it_is_not_defined_for():
    data = [(torch.randn(2, 3, 4), torch.randn(2, 3, 4))]
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    for model, words in ((nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), "1.weight, 1.bias"),
            (tied, "other biases: 0.weight"),
            (nn.TransformerEncoderLayer(4, 1, 4), r"self_attn\.in_proj_weight")):
        with pytest.raises(ValueError, match=words):
            curvature.KFAC(model, nn.MSELoss(), data)
    layer = nn.TransformerEncoderLayer(4, 1, 4, 0.0, batch_first=True)
    with pytest.raises(ValueError, match=r"self_attn\.out_proj"):
        curvature.KFAC(layer, nn.MSELoss(), data, [layer.linear1.weight, layer.self_attn.out_proj.weight])
    assert curvature.KFAC(layer, nn.MSELoss(), data, [layer.linear1.weight]).to_dense().any()
