"""What is refused, what is left as it was, and how data stream."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import wengert as torch
from wengert import curvature
from wengert.arrays import kernels

nn = torch.nn
MAKERS = [curvature.Hessian, curvature.GGN, curvature.Fisher, curvature.KFAC]
x, y = torch.arange(12.0).reshape(4, 3).double() / 6, torch.arange(8.0).reshape(4, 2).double() / 8


def pairs():
    yield x, y


class Passes:
    """Counts how often it is gone through."""

    def __init__(self, *batches):
        self.batches, self.passes = batches, 0

    def __iter__(self):
        self.passes += 1
        return iter(self.batches)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("data", [pairs(), iter([(x, y)]), zip([x], [y]), [], Passes(), x, None, (x, y), [(x, y, y)],
    Passes(x), {"x": x}, len],
    ids=["generator", "iterator", "zip", "empty", "empty passes", "tensor", "None", "pair", "triple", "triples", "dict",
        "function"])
def test_data_are_pairs_again_and_again(make, data):
    with pytest.raises(ValueError, match="data"):
        make(nn.Linear(3, 2), nn.MSELoss(), data)


def test_data_that_end_are_noticed():
    class Once(Passes):
        def __iter__(self):
            self.passes += 1
            return iter(self.batches if self.passes < 3 else ())

    H = curvature.Hessian(nn.Linear(3, 2), nn.MSELoss(), Once((x, y)))
    assert (H @ np.ones(8)).any()
    with pytest.raises(ValueError, match="empty"):
        H @ np.ones(8)


@pytest.mark.parametrize("make", MAKERS)
def test_frozen_parameters(make):
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    with pytest.raises(ValueError, match="number 1, of shape \\(2,\\), is frozen"):
        make(model, nn.MSELoss(), [(x, y)], list(model.parameters()))
    assert make(model, nn.MSELoss(), [(x, y)]).shape == (6, 6)
    model.weight.requires_grad_(False)
    with pytest.raises(ValueError, match="no parameter"):
        make(model, nn.MSELoss(), [(x, y)])
    with pytest.raises(ValueError, match="empty"):
        make(model, nn.MSELoss(), [(x, y)], [])


def test_other_refusals():
    model = nn.Linear(3, 2)
    refused = [
        (dict(loss=nn.MSELoss(reduction="none")), "reduction"), (dict(loss=3), "a loss is"),
        (dict(loss=nn.MSELoss(), reduction="sum"), "was given"),
        (dict(loss=lambda o, y: o.sum(), reduction="all"), "all"),
        (dict(params=[model.weight, model.weight]), "twice"), (dict(params=[np.ones(2)]), "ndarray"),
    ]
    for named, words in refused:
        with pytest.raises(ValueError, match=words):
            curvature.Hessian(model, **{"loss": nn.MSELoss(), "data": [(x, y)], **named})
    with pytest.raises(ValueError, match="shape"):
        curvature.GGN(model, nn.MSELoss(), [(x, y[:, :1])]) @ np.ones(8)
    for named, words in ((dict(kind="true"), "kind"), (dict(kind="sampled", samples=0), "samples")):
        for make in curvature.Fisher, curvature.KFAC:
            with pytest.raises(ValueError, match=words):
                make(model, nn.MSELoss(), [(x, y)], **named)
    with pytest.raises(ValueError, match="sampled"):
        curvature.Fisher(model, lambda o, y: o.sum(), [(x, y)], kind="sampled")


@pytest.mark.parametrize("make", MAKERS)
def test_gradients_modes_and_numbers_are_left_alone(make):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 2))
    model[0].weight.grad = torch.ones(3, 3)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    with torch.no_grad():
        A = make(model, nn.MSELoss(), [(x, y), (x[:2], y[:2])])
        first = A @ np.ones(20)
    assert torch.equal(torch.get_rng_state(), state)
    assert model[0].weight.grad.eq(1).all() and model[2].weight.grad is None
    torch.rand(3)
    assert (A @ np.ones(20) == first).all(), "dropout draws the same in every product"


def test_buffers_are_as_before():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    before = {name: b.clone() for name, b in model.named_buffers()}
    H = curvature.Hessian(model, nn.MSELoss(), [(x, y)])
    assert (H @ np.ones(H.shape[0])).any()
    assert all(torch.equal(b, before[name]) for name, b in model.named_buffers())


def test_a_shuffling_loader_comes_in_the_same_order():
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=1, shuffle=True)
    A = curvature.Fisher(nn.Linear(3, 2), nn.MSELoss(), data, kind="sampled")
    assert (A @ np.ones(8) == A @ np.ones(8)).all()


def test_a_product_goes_through_the_data_once():
    data = Passes((x, y), (x[:1], y[:1]))
    G = curvature.GGN(nn.Linear(3, 2), nn.MSELoss(), data)
    before = data.passes
    G @ np.ones((8, 5))
    assert data.passes == before + 1


@pytest.mark.skipif(not kernels.available, reason="the native extension counts memory")
def test_batches_are_gone_before_the_next_comes():
    class Recording(nn.Linear):
        alive = []

        def forward(self, x):
            self.alive.append(torch.cpu.memory_allocated())
            return super().forward(x).tanh()

    model = Recording(1000, 1)
    big = [(torch.ones(500, 1000), torch.ones(500, 1))] * 4
    curvature.Hessian(model, nn.MSELoss(), big) @ np.ones(1001)
    assert max(model.alive[1:]) - model.alive[0] < 100_000, "a batch takes 4 MB"


def test_inputs_may_be_arguments_and_keywords():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, a, b):
            return self.layer(a + b).tanh()

    model, full = Sum(), curvature.Hessian
    expected = full(nn.Sequential(model.layer, nn.Tanh()), nn.MSELoss(), [(x + x, y)]).to_dense()
    for given in (x, x), [x, x], {"a": x, "b": x}:
        np.testing.assert_allclose(full(model, nn.MSELoss(), [(given, y)]).to_dense(), expected, rtol=0, atol=1e-14)


def test_the_type_is_that_of_the_parameters():
    model = nn.Linear(3, 2).float()
    for make in MAKERS:
        A = make(model, nn.MSELoss(), [(x.float(), y.float())])
        assert A.dtype == (A @ np.ones(8)).dtype == A.to_dense().dtype == np.float32
    mixed = nn.ModuleList([nn.Linear(3, 3).float(), nn.Linear(3, 2)])
    H = curvature.Hessian(lambda x: mixed[1](mixed[0](x.float()).double()), nn.MSELoss(), [(x, y)], mixed.parameters())
    assert H.dtype == np.float64 and (H @ np.ones(20)).any()


def test_it_is_an_operator_of_scipy():
    from scipy.sparse.linalg import LinearOperator, cg, eigsh, lobpcg

    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    G = curvature.GGN(model, nn.MSELoss(), [(x, y)])
    assert isinstance(G, LinearOperator) and isinstance(G + G, LinearOperator)
    dense = G.to_dense()
    largest = np.linalg.eigvalsh(dense)[::-1]
    np.testing.assert_allclose(eigsh(G, 2)[0], largest[1::-1], rtol=1e-10)
    start = np.random.default_rng(0).standard_normal((26, 2))
    np.testing.assert_allclose(np.sort(lobpcg(G, start, tol=1e-9, maxiter=200)[0]), np.sort(largest[:2]), rtol=1e-6)
    b = dense @ np.ones(26)
    np.testing.assert_allclose(dense @ cg(G, b, rtol=1e-12)[0], b, atol=1e-10)


def test_no_scipy():
    code = ("import sys; sys.modules['scipy'] = None; import wengert as torch\n"
        "assert torch.curvature.NewtonCG and torch.curvature.NaturalGradient\n"
        "try: torch.curvature.Hessian\n"
        "except ImportError as error: assert \"pip install 'wengert[curvature]'\" in str(error); print('said')")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "said\n"


def test_names():
    assert set(curvature.__all__) <= set(dir(curvature))
    assert all(getattr(curvature, name) for name in curvature.__all__)
    with pytest.raises(AttributeError, match="'Hesse'"):
        curvature.Hesse


def test_types_that_numpy_does_not_have_are_single_precision_outside():
    model = nn.Linear(3, 2)
    exact = curvature.GGN(model, nn.MSELoss(), [(x, y)]).to_dense()
    for dtype, outside in ((torch.bfloat16, np.float32), (torch.float16, np.float16)):
        model, data = model.to(dtype), [(x.to(dtype), y.to(dtype))]
        for make in MAKERS:
            A = make(model, nn.MSELoss(), data)
            assert A.dtype == (A @ np.ones(8)).dtype == outside
            np.testing.assert_allclose(A.to_dense(), exact, rtol=0.05, atol=0.02)
        assert np.isfinite(A.inverse(0.1) @ np.ones(8)).all()


class Scaled(nn.Linear):
    """Counts its calls, and multiplies with an attribute."""

    factor, calls = 1.0, 0

    def forward(self, x):
        Scaled.calls += 1
        return super().forward(x) * self.factor


def _write(t):
    with torch.no_grad():
        t.mul_(1.5)


def _in_memory(t):
    t.detach().numpy()[...] *= 1.5


CHANGES = {
    "a step": lambda model, loss, x, y: _write(model[0].weight),
    "in memory": lambda model, loss, x, y: _in_memory(model[2].bias),
    "data": lambda model, loss, x, y: setattr(model[0].weight, "data", model[0].weight.data * 2),
    "there and back": lambda model, loss, x, y: model[0].weight.detach().mul_(2).mul_(0.5),
    "input": lambda model, loss, x, y: _write(x),
    "target": lambda model, loss, x, y: _in_memory(y),
    "attribute": lambda model, loss, x, y: setattr(model[0], "factor", 3.0),
    "layer": lambda model, loss, x, y: model.__setitem__(1, nn.Sigmoid()),
    "mode": lambda model, loss, x, y: model.eval(),
    "reduced otherwise": lambda model, loss, x, y: setattr(loss, "note", 1),
    "hook": lambda model, loss, x, y: model[1].register_forward_hook(lambda *given: given[2] * 2),
}


@pytest.mark.parametrize("make", [curvature.Hessian, curvature.GGN, lambda *given: curvature.Fisher(*given,
    kind="sampled")], ids=["Hessian", "GGN", "sampled"])
@pytest.mark.parametrize("change", CHANGES)
def test_the_only_batch_is_kept_until_something_changes(change, make):
    x, y = torch.randn(4, 3), torch.randn(4, 2)
    model, loss = nn.Sequential(Scaled(3, 3), nn.Tanh(), nn.Linear(3, 2), nn.Dropout(0.5)), nn.MSELoss()
    A, v = make(model, loss, [(x, y)]), np.linspace(-1, 1, 20)
    first = A @ v
    assert A._kept.state is None, "one product alone notes nothing"
    np.testing.assert_allclose(A @ v, first, rtol=1e-14)
    before = Scaled.calls
    np.testing.assert_allclose(A @ v, first, rtol=1e-14)
    assert Scaled.calls == before
    CHANGES[change](model, loss, x, y)
    again = A @ v
    assert Scaled.calls == before + 1
    fresh = make(model, loss, [(x, y)])
    fresh._problem.random = A._problem.random  # the same masks of dropout
    np.testing.assert_allclose(again, fresh @ v, rtol=1e-13)
    assert A._kept.state is None
    np.testing.assert_allclose(A @ v, again, rtol=1e-14)
    assert (A._kept.state is None) == (change in ("hook", "layer"))


def test_nothing_is_kept_whose_changes_are_not_seen():
    class Odd(nn.Linear):
        thing = None

    model = Odd(3, 2)
    loss = nn.MSELoss()
    things = ((1.5, True), ([1, "a"], True), (object(), False), (lambda: 1, False), ([nn.Linear(1, 1)], False))
    for thing, kept in things:
        model.thing = thing
        A = curvature.Hessian(model, loss, [(x, y)])
        A @ np.ones(8), A @ np.ones(8)
        assert (A._kept.state is not None) is kept
    for loss, data in ((lambda o, t: (o - t).sum(), [(x, y)]), (loss, [(x[:2], y[:2]), (x[2:], y[2:])])):
        A = curvature.Hessian(nn.Linear(3, 2), loss, data)
        A @ np.ones(8), A @ np.ones(8)
        assert A._kept.state is None


@pytest.mark.skipif(not kernels.available, reason="the native extension counts memory")
def test_a_graph_that_is_too_large_is_let_go_as_it_is_walked(monkeypatch):
    monkeypatch.setattr(curvature.kept, "BYTES", 1000)
    model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(50, 50), nn.Tanh())])
    H, v = curvature.Hessian(model, nn.MSELoss(), [(torch.randn(900, 50), torch.randn(900, 50))]), np.ones(10200)

    def peak():
        torch.cpu.reset_peak_memory_stats()
        before = torch.cpu.memory_allocated()
        H @ v
        return torch.cpu.max_memory_allocated() - before

    first, second, third = peak(), peak(), peak()
    assert H._kept.state is None and first < 0.9 * second and third < 1.01 * first


def test_what_a_model_draws_is_the_same_in_every_pass_whatever_it_is():
    class Noisy(nn.Linear):
        def forward(self, x):
            return super().forward(x + torch.randn(x.shape, dtype=x.dtype)).tanh()

    H, v = curvature.Hessian(Noisy(3, 2), nn.MSELoss(), [(x, y), (x, y)]), np.ones(8)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = H @ v
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(3)
    state = torch.get_rng_state()
    assert (H @ v == first).all() and torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(5)
    assert (curvature.Hessian(H._problem.model, nn.MSELoss(), [(x, y), (x, y)]) @ v == first).all()
    assert (curvature.Hessian(H._problem.model, nn.MSELoss(), [(x, y), (x, y)]) @ v == first).all()
    torch.manual_seed(6)
    assert (curvature.Hessian(H._problem.model, nn.MSELoss(), [(x, y), (x, y)]) @ v != first).any()
