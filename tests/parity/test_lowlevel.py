"""The older functions under ``torch`` on both libraries: the same arguments, values, gradients and refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert

reference = pytest.importorskip("torch")


def numbers(torch, *shape, seed=0, dtype="float64", grad=True):
    x = torch.tensor(np.random.default_rng([seed, *shape]).standard_normal(shape)).to(getattr(torch, dtype))
    return x.requires_grad_(True) if grad else x


def flat(x):
    return [t for v in x for t in flat(v)] if isinstance(x, (list, tuple)) else [x]


N = numbers
INDICES = [1, 2, 4, 5, 4, 3]


def rnn(torch, name, packed=False, batch_first=False, layers=2, bidirectional=True):
    gates, ways = {"gru": 3, "lstm": 4}.get(name, 1), 2 if bidirectional else 1
    params = []
    for k in range(layers):
        for d in range(ways):
            inner = 3 if k == 0 else 4 * ways
            shapes = ((4 * gates, inner), (4 * gates, 4), (4 * gates,), (4 * gates,))
            params += [N(torch, *s, seed=9 + len(params) + i) for i, s in enumerate(shapes)]
    state = N(torch, layers * ways, 2, 4)
    hx = (state, N(torch, layers * ways, 2, 4, seed=2)) if name == "lstm" else state
    f = getattr(torch, name)
    if packed:
        return f(N(torch, 5, 3), torch.tensor([2, 2, 1]), hx, params, True, layers, 0.0, False, bidirectional)
    return f(N(torch, 2, 5, 3) if batch_first else N(torch, 5, 2, 3), hx, params, True, layers, 0.0, False,
        bidirectional, batch_first)


def cell(torch, name):
    gates = {"gru": 3, "lstm": 4}.get(name.split("_")[0], 1)
    hx = N(torch, 2, 4)
    weights = [N(torch, 4 * gates, 3), N(torch, 4 * gates, 4), N(torch, 4 * gates), N(torch, 4 * gates, seed=1)]
    return getattr(torch, name)(N(torch, 2, 3), (hx, N(torch, 2, 4, seed=1)) if gates == 4 else hx, *weights)


def bag(torch, mode, *more, ends=(0, 2, 2, 4)):
    return torch.embedding_bag(N(torch, 6, 2), torch.tensor(INDICES), torch.tensor(list(ends)), False, mode, *more)


CASES = {
    "embedding": lambda torch: torch.embedding(N(torch, 5, 2), torch.tensor([[1, 4], [0, 1]])),
    "embedding padded": lambda torch: torch.embedding(N(torch, 5, 2), torch.tensor([1, 4, 1]), 1, True),
    "bag sum": lambda torch: bag(torch, 0),
    "bag mean": lambda torch: bag(torch, 1),
    "bag max": lambda torch: bag(torch, 2),
    "bag last offset": lambda torch: bag(torch, 1, False, None, True, 4, ends=(0, 2, 2, 6)),
    "bag max last offset": lambda torch: bag(torch, 2, False, None, True, 4, ends=(0, 2, 2, 6)),
    "batch_norm": lambda torch: torch.batch_norm(N(torch, 4, 3), N(torch, 3), N(torch, 3, seed=1), None, None, True,
        0.1, 1e-5, False),
    "native_layer_norm": lambda torch: torch.native_layer_norm(N(torch, 2, 4, 3), (4, 3), N(torch, 4, 3), None, 1e-5),
    "native_group_norm": lambda torch: torch.native_group_norm(N(torch, 2, 4, 3), N(torch, 4), None, 2, 4, 3, 2, 1e-5),
    "native_batch_norm": lambda torch: torch.native_batch_norm(N(torch, 4, 3), None, None, None, None, True, 0.1, 1e-5),
    "native_batch_norm eval": lambda torch: torch.native_batch_norm(
        N(torch, 4, 3), None, None, torch.zeros(3).double(), torch.ones(3).double(), False, 0.1, 1e-5
    ),
    "native_dropout": lambda torch: torch.native_dropout(N(torch, 2, 3), 0.5, False),
    "native_dropout train": lambda torch: (torch.manual_seed(0), torch.native_dropout(N(torch, 4, 3), 0.5, True))[1],
    "bce": lambda torch: torch.binary_cross_entropy_with_logits(N(torch, 3), torch.ones(3).double(), None, None, 2),
    "kl_div": lambda torch: torch.kl_div(N(torch, 3), N(torch, 3, seed=1).exp(), 1, log_target=False),
    "cosine_embedding_loss": lambda torch: torch.cosine_embedding_loss(N(torch, 2, 3), N(torch, 2, 3, seed=1),
        torch.tensor([1, -1]), 0.1, 0),
    "hinge_embedding_loss": lambda torch: torch.hinge_embedding_loss(N(torch, 3), torch.tensor([1, -1, 1]), 0.5),
    "margin_ranking_loss": lambda torch: torch.margin_ranking_loss(N(torch, 3), N(torch, 3, seed=1),
        torch.tensor([1, -1, 1]), 0.5, 2),
    "poisson_nll_loss": lambda torch: torch.poisson_nll_loss(N(torch, 3), torch.ones(3).double(), True, False, 1e-8, 1),
    "triplet_margin_loss": lambda torch: torch.triplet_margin_loss(*(N(torch, 2, 3, seed=i) for i in range(3)), 1.0,
        2.0, 1e-6, True, 0),
    "ctc_loss": lambda torch: torch.ctc_loss(
        N(torch, 5, 2, 4).log_softmax(-1), torch.tensor([[1, 2], [3, 1]]), torch.tensor([5, 4]), torch.tensor([2, 1]),
        0, 2, True
    ),
    "grid_sampler": lambda torch: torch.grid_sampler(N(torch, 1, 2, 4, 4), N(torch, 1, 3, 3, 2).tanh(), 0, 1, True),
    "grid_sampler_2d": lambda torch: torch.grid_sampler_2d(N(torch, 1, 2, 4, 4), N(torch, 1, 3, 3, 2).tanh(), 2, 0,
        False),
    "grid_sampler_3d": lambda torch: torch.grid_sampler_3d(N(torch, 1, 1, 3, 3, 3), N(torch, 1, 2, 2, 2, 3).tanh(), 0,
        2, True),
    "affine_grid_generator": lambda torch: torch.affine_grid_generator(N(torch, 1, 2, 3), [1, 1, 2, 3], True),
    "adaptive_max_pool1d": lambda torch: torch.adaptive_max_pool1d(N(torch, 1, 2, 6), 3),
    "max_pool1d_with_indices": lambda torch: torch.max_pool1d_with_indices(N(torch, 1, 2, 6), 2, 1),
    "frobenius_norm": lambda torch: torch.frobenius_norm(N(torch, 2, 3), 1),
    "frobenius_norm kept": lambda torch: torch.frobenius_norm(N(torch, 2, 3), (0, 1), keepdim=True),
    "nuclear_norm": lambda torch: torch.nuclear_norm(N(torch, 2, 3)),
    "nuclear_norm planes": lambda torch: torch.nuclear_norm(N(torch, 2, 3, 3), (1, 2), True),
    "norm_except_dim": lambda torch: [torch.norm_except_dim(N(torch, 2, 3, 4), 2, d) for d in (-1, 0, 1, 2)],
    **{name: lambda torch, name=name: rnn(torch, name) for name in ("gru", "lstm", "rnn_tanh", "rnn_relu")},
    **{f"{name} packed": lambda torch, name=name: rnn(torch, name, packed=True)
        for name in ("gru", "lstm", "rnn_tanh")},
    "gru batch first": lambda torch: rnn(torch, "gru", batch_first=True, bidirectional=False, layers=1),
    "lstm batch first": lambda torch: rnn(torch, "lstm", batch_first=True),
    **{f"{name}_cell": lambda torch, name=name: cell(torch, f"{name}_cell")
        for name in ("gru", "lstm", "rnn_tanh", "rnn_relu")},
    "range": lambda torch: [torch.range(1, 4), torch.range(1, 2, 0.5), torch.range(5, 1, -2),
        torch.range(0, 3, dtype=torch.int64)],
    "put": lambda torch: torch.put(N(torch, 3), torch.tensor([1]), torch.tensor([7.0]).double()),
    "nonzero_static": lambda torch: torch.nonzero_static(torch.tensor([[1, 0], [2, 3]]), size=5, fill_value=7),
    "nonzero_static few": lambda torch: torch.tensor([[1, 0], [2, 3]]).nonzero_static(size=2),
    "narrow_copy": lambda torch: torch.narrow_copy(N(torch, 4), 0, 1, 2),
    "addmv_": lambda torch: torch.addmv_(torch.zeros(2).double(), N(torch, 2, 3), N(torch, 3), alpha=2),
    "addr_": lambda torch: torch.zeros(2, 3).double().addr_(N(torch, 2), N(torch, 3), alpha=2),
    "addbmm_": lambda torch: torch.ones(2, 4).double().addbmm_(N(torch, 3, 2, 3), N(torch, 3, 3, 4), beta=2),
    "addmv whole": lambda torch: torch.addmv(torch.tensor([1, 2]), torch.tensor([[1, 2], [3, 4]]), torch.tensor([5, 6]),
        alpha=2),
    "sum_to_size": lambda torch: torch.ones(2, 3, dtype=torch.int32).sum_to_size(1, 3),
    "map2_": lambda torch: torch.tensor([1.0, 2.0]).map2_(torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0]),
        lambda a, b, c: a + b * c),
    "view_as_real_copy": lambda torch: torch.view_as_real_copy(torch.tensor([1 + 2j])),
    "dropout_": lambda torch: (torch.manual_seed(0), torch.dropout_(torch.ones(8), 0.5, True))[1],
    "feature_dropout_": lambda torch: (torch.manual_seed(0), torch.feature_dropout_(torch.ones(2, 3, 2), 0.5, True))[1],
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    found = []
    for torch in (wengert, reference):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = [t for t in flat(CASES[name](torch)) if t is not None]
            kinds = [(str(t.dtype), tuple(t.shape), t.requires_grad) for t in answer]
            loss = [(t * torch.arange(t.numel()).reshape(t.shape).to(t.dtype).cos()).sum() for t in answer
                if t.requires_grad]
            leaves, seen = [], set()
            stack = [x.grad_fn for x in loss]
            while stack:
                node = stack.pop()
                if node is None or node in seen:
                    continue
                seen.add(node)
                leaves += [node.variable] if hasattr(node, "variable") else []
                stack += [n for n, _ in node.next_functions]
            leaves.sort(key=lambda t: (tuple(t.shape), t.detach().flatten().tolist()))
            grads = torch.autograd.grad(sum(loss), leaves) if loss else ()
        found.append((kinds, [t.detach().numpy() for t in (*answer, *grads)]))
    assert found[0][0] == found[1][0]
    assert len(found[0][1]) == len(found[1][1])
    for a, b in zip(found[0][1], found[1][1]):
        np.testing.assert_allclose(a, b, 1e-8, 1e-10)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda torch: torch.solve(torch.eye(2), torch.eye(2)),
        lambda torch: torch.eig(torch.eye(2)),
        lambda torch: torch.range(1, 4, 0),
        lambda torch: torch.range(1, 4, -1),
        lambda torch: torch.empty_permuted((2, 3), (0,)),
        lambda torch: torch.empty_permuted((2, 3), (0, 0)),
        lambda torch: torch.empty_permuted((2, 3), (0, 5)),
        lambda torch: torch.nonzero_static(torch.tensor([1]), size=-1),
        lambda torch: torch.embedding(torch.ones(3, 2), torch.tensor([9])),
        lambda torch: torch.addmv(torch.ones(3), torch.ones(3, 4), torch.ones(5)),
        lambda torch: torch.addmv(torch.ones(3), torch.ones(3, 4).double(), torch.ones(4)),
        lambda torch: torch.addbmm(torch.ones(2, 4), torch.ones(3, 2, 5), torch.ones(2, 5, 4)),
        lambda torch: torch.addr(torch.ones(3, 4), torch.ones(3, 1), torch.ones(4)),
        lambda torch: torch.addr(torch.ones(3, 4).long(), torch.ones(3).long(), torch.ones(4).long(), beta=0.5),
        lambda torch: torch.addmm(torch.ones(3), torch.ones(2, 2), torch.ones(2, 4)),
    ],
)
def test_refusals(wrong):
    errors = []
    for torch in (wengert, reference):
        with pytest.raises(Exception) as e, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong(torch)
        errors.append((e.type, str(e.value).split("\n")[0][:70]))
    assert errors[0] == errors[1]


def test_range_warns():
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        wengert.range(1, 2)


def test_layouts():
    for torch in (wengert, reference):
        assert torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
        assert torch.ones(2).new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
        assert torch.empty(2, 3).t().dim_order() == (1, 0)
        assert torch.get_device(torch.ones(1)) == -1
        assert ((torch.sym_int(2.7), torch.sym_max(1, 2.0), torch.sym_not(True), torch.sym_ite(True, 1, 2)) == (2, 2.0,
            False, 1))
