"""`nn.init` and `nn.utils` on both libraries from the same seeds: the same numbers, the same errors."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from typing import Any

import pytest

if os.environ.get("WENGERT_REQUIRE_PARITY") != "1":
    pytest.importorskip("torch", reason="compares with PyTorch")

import numpy as np
import torch
import torch.nn.utils.prune

import wengert

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def plain(value: Any) -> Any:
    """A value with tensors as arrays and errors as their types and texts, to compare."""
    if hasattr(value, "detach"):
        return value.detach().numpy()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    return str(value) if hasattr(value, "is_floating_point") else value


def agree(theirs: Any, ours: Any, where: str = "") -> None:
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), where
        assert theirs.shape == ours.shape and theirs.dtype == ours.dtype, where
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=where)
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours), where
        for key in theirs:
            agree(theirs[key], ours[key], f"{where}[{key!r}]")
    elif isinstance(theirs, list):
        assert len(theirs) == len(ours), where
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            agree(a, b, f"{where}[{i}]")
    else:
        assert theirs == ours, where


def error_of(call: Any) -> Any:
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "no error"


def on_both(scenario: Any, *args: Any) -> None:
    results = []
    for library in (torch, wengert):
        library.manual_seed(0)
        x = library.linspace(-1, 1, 20).reshape(4, 5)
        results.append(plain(scenario(library, library.nn, x, *args)))
    agree(*results)


INIT = [
    ("uniform_", ()), ("uniform_", (-2.0, 3.0)), ("normal_", (1.0, 2.0)), ("trunc_normal_", ()),
    ("trunc_normal_", (0.0, 1.0, 5.0, 6.0)), ("trunc_normal_", (0.0, 0.1, -0.5, 0.01)), ("constant_", (3.0,)),
    ("ones_", ()), ("zeros_", ()), ("eye_", ()), ("xavier_uniform_", (2.0,)), ("xavier_normal_", ()),
    ("kaiming_uniform_", (0.1, "fan_out", "relu")), ("kaiming_normal_", ()), ("orthogonal_", ()),
    ("orthogonal_", (2.0,)), ("sparse_", (0.3,)),
]


@pytest.mark.parametrize(("name", "args"), INIT)
def test_initial_values(name: str, args: Any) -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        results = []
        for shape in ((6, 9), (9, 4), (1, 2)):
            t = lib.empty(shape, requires_grad=True)
            results += [getattr(nn.init, name)(t, *args) is t, t, t.grad_fn is None]
        return results

    on_both(scenario)


def test_initial_values_of_kernels() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        init = nn.init
        kernels = [init.dirac_(lib.empty(s), 2) for s in ((4, 2, 3), (4, 4, 3, 3), (6, 2, 2, 3, 4))]
        gains = [
            init.calculate_gain(name, param)
            for name, param in (("tanh", None), ("leaky_relu", 0.2), ("leaky_relu", None), ("selu", None))
        ]
        return [kernels, gains, init.orthogonal_(lib.empty(3, 4, 2)), init.xavier_normal_(lib.empty(3, 4, 2, 2))]

    on_both(scenario)


def test_errors_and_warnings_of_init() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        init, three, square = nn.init, lib.empty(3), lib.empty(3, 3)
        errors = [
            error_of(lambda: init.calculate_gain("x")),
            error_of(lambda: init.calculate_gain("leaky_relu", True)),
            error_of(lambda: init.eye_(three)),
            error_of(lambda: init.dirac_(square)),
            error_of(lambda: init.dirac_(lib.empty(3, 3, 3), 2)),
            error_of(lambda: init.xavier_uniform_(three)),
            error_of(lambda: init.kaiming_normal_(square, mode="x")),
            error_of(lambda: init.orthogonal_(three)),
            error_of(lambda: init.sparse_(three, 0.1)),
        ]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            init.kaiming_uniform_(lib.empty(0, 3))
            init.uniform(lib.empty(2))
            init.trunc_normal_(lib.empty(2), 0, 1, 3, 4)
        return [errors, [(w.category.__name__, str(w.message)) for w in caught]]

    on_both(scenario)


@pytest.mark.parametrize("norm_type", [2, 1, float("inf"), 3.0])
def test_clipping(norm_type: float) -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        m, utils = nn.Linear(5, 6), nn.utils
        m(x).sum().backward()
        results = [utils.clip_grad_norm_(m.parameters(), 0.5, norm_type), m.weight.grad.clone()]
        results.append(utils.get_total_norm([p.grad for p in m.parameters()], norm_type))
        utils.clip_grads_with_norm_(m.parameters(), 0.1, results[-1], foreach=False)
        results.append(m.weight.grad.clone())
        utils.clip_grad_value_(m.parameters(), 0.01)
        results.append(m.weight.grad.clone())
        m.weight.grad.fill_(float("nan"))
        results.append(error_of(lambda: utils.clip_grad_norm_(m.parameters(), 0.5, error_if_nonfinite=True)))
        return [*results, utils.clip_grad_norm_([], 1.0), utils.clip_grad_norm_(m.bias, 1e-3, norm_type)]

    on_both(scenario)


def test_vectors_of_parameters() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        m = nn.Linear(5, 6)
        vector = nn.utils.parameters_to_vector(m.parameters())
        nn.utils.vector_to_parameters(vector * 2, m.parameters())
        return [vector, m.state_dict(), error_of(lambda: nn.utils.vector_to_parameters([1], m.parameters()))]

    on_both(scenario)


def test_sequences() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        u = nn.utils.rnn
        parts = [lib.arange(3.0) + 1, lib.arange(5.0) + 10, lib.arange(1.0) + 100]
        packed = u.pack_sequence(parts, enforce_sorted=False)
        results = [u.pad_sequence(parts), u.pad_sequence(parts, True, -1.0, "left"), *packed]
        results += [
            u.pad_packed_sequence(packed),
            u.pad_packed_sequence(packed, True, -7.0, 8),
            u.unpack_sequence(packed),
        ]
        y = x[:3, :4].unsqueeze(-1).clone().requires_grad_()
        packed = u.pack_padded_sequence(y, [4, 2, 1], True)
        (packed.data * lib.arange(7.0)[:, None]).sum().backward()
        results += [*packed, y.grad, packed.double().data.dtype, packed.float() is packed, packed.is_cuda]
        calls = [
            lambda: u.pack_padded_sequence(y, [1, 2, 3], True),
            lambda: u.pack_padded_sequence(y, [4, 2], True),
            lambda: u.pack_padded_sequence(y, [4, 2, 0], True),
            lambda: u.pack_padded_sequence(y, lib.ones(2, 2), True),
            lambda: u.pad_packed_sequence(packed, total_length=1),
            lambda: u.pad_sequence([]),
            lambda: u.pad_sequence(parts, padding_side="x"),
            lambda: u.PackedSequence(3),
        ]
        return [results, [error_of(call) for call in calls]]

    on_both(scenario)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim: Any) -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        m = nn.utils.parametrizations.weight_norm(nn.Linear(5, 6), dim=dim)
        m(x).sum().backward()
        old = nn.utils.weight_norm(nn.Linear(5, 6), dim=dim)
        old(x).sum().backward()
        results = [repr(m), m.state_dict(), m(x), m.parametrizations.weight.original1.grad, old.weight_v.grad]
        m.load_state_dict(old.state_dict())
        results += [m(x), old(x), error_of(lambda: nn.utils.weight_norm(old))]
        nn.utils.remove_weight_norm(old)
        return [*results, old.state_dict(), error_of(lambda: nn.utils.remove_weight_norm(old)) != "no error"]

    on_both(scenario)


def test_spectral_norm() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        m = nn.utils.parametrizations.spectral_norm(nn.Linear(5, 6))
        outputs = [m(x), m(x), m.eval()(x)]
        outputs[0].sum().backward()
        results = [repr(m), outputs, m.state_dict(), m.parametrizations.weight.original.grad]
        conv = nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(3, 4, 2))
        results += [conv.state_dict(), conv(lib.ones(1, 3, 2))]
        old = nn.utils.spectral_norm(nn.Linear(5, 6))
        outputs = [old(x), old(x), old.eval()(x)]
        outputs[0].sum().backward()
        state = old.state_dict()
        results += [outputs, state, dict(state._metadata), old.weight_orig.grad]
        nn.utils.remove_spectral_norm(old)
        results += [old.state_dict(), len(old._forward_pre_hooks), len(old._state_dict_hooks)]
        bad = nn.utils.parametrizations.spectral_norm
        return [
            *results,
            error_of(lambda: bad(nn.Linear(3, 3), dim=5)),
            error_of(lambda: bad(nn.Linear(3, 3), n_power_iterations=0)),
        ]

    on_both(scenario)


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("sizes", [(4, 4), (4, 6), (6, 4)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
def test_orthogonal(kind: str, sizes: Any, trivial: bool) -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        orthogonal = nn.utils.parametrizations.orthogonal
        m = orthogonal(nn.Linear(*sizes), orthogonal_map=kind, use_trivialization=trivial)
        m(lib.ones(2, sizes[0])).sum().backward()
        return [m.weight, m.parametrizations.weight.original.grad, m.state_dict()]

    on_both(scenario)


def test_errors_of_orthogonal() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        orthogonal = nn.utils.parametrizations.orthogonal
        return [
            error_of(lambda: orthogonal(nn.Linear(3, 3), orthogonal_map="x")),
            error_of(lambda: orthogonal(nn.Linear(3, 3), "bias")),
            error_of(lambda: orthogonal(nn.Linear(3, 3), "nothing")),
        ]

    on_both(scenario)


def test_parametrize() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        p = nn.utils.parametrize

        class Symmetric(nn.Module):
            def forward(self, X):
                return X.triu() + X.triu(1).transpose(-1, -2)

            def right_inverse(self, X):
                return X.triu()

        class Double(nn.Module):
            def forward(self, X):
                return X * 2

        class LowRank(nn.Module):
            def forward(self, a, b):
                return a @ b

            def right_inverse(self, Y):
                return Y[:, :2].clone(), Y[:2].clone()

        class Cut(nn.Module):
            def forward(self, X):
                return X[:1]

        m = nn.Linear(5, 5)
        for name, kind in (("weight", Symmetric), ("weight", Double), ("bias", Double)):
            p.register_parametrization(m, name, kind())
        results = [repr(m), m.weight, m.state_dict(), p.is_parametrized(m), p.is_parametrized(m, "bias")]
        results += [p.type_before_parametrizations(m).__name__, copy.deepcopy(m)(x)]
        with p.cached():
            results.append(m.weight is m.weight)
        other = nn.Linear(5, 5)
        p.transfer_parametrizations_and_params(m, other)
        results += [other.state_dict(), error_of(lambda: setattr(m, "weight", x))]
        p.remove_parametrizations(m, "bias", leave_parametrized=False)
        p.remove_parametrizations(m, "weight")
        results += [repr(m), m.state_dict(), [name for name, _ in m.named_parameters()]]
        low = nn.Linear(5, 5)
        p.register_parametrization(low, "weight", LowRank(), unsafe=True)
        results += [repr(low), low.state_dict(), low(x)]
        low.weight = lib.ones(5, 5)
        results += [
            low.state_dict(),
            error_of(lambda: p.remove_parametrizations(low, "weight", leave_parametrized=False)),
            error_of(lambda: p.register_parametrization(nn.Linear(5, 5), "weights", Symmetric())),
            error_of(lambda: p.register_parametrization(nn.Linear(5, 5), "weight", Cut())),
            error_of(lambda: pickle.dumps(low)),
        ]
        return results

    on_both(scenario)


def test_pruning() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        prune = nn.utils.prune
        m = nn.Linear(5, 6)
        prune.random_unstructured(m, "weight", 0.3)
        prune.l1_unstructured(m, "weight", 4)
        prune.ln_structured(m, "weight", 1, 2, 0)
        prune.random_structured(m, "weight", 2, 1)
        results = [m.state_dict(), m(x), prune.is_pruned(m)]
        prune.remove(m, "weight")
        results += [m.state_dict(), prune.is_pruned(m)]
        net = nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 2))
        prune.l1_unstructured(net[0], "weight", 2)
        pairs = [(net[0], "weight"), (net[1], "weight")]
        prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.4)
        results += [net.state_dict(), net(x)]
        bad = nn.Linear(5, 6)
        calls = [
            lambda: prune.l1_unstructured(bad, "weight", "a"),
            lambda: prune.l1_unstructured(bad, "weight", -1),
            lambda: prune.l1_unstructured(bad, "weight", 1.5),
            lambda: prune.l1_unstructured(bad, "weight", 100),
            lambda: prune.ln_structured(bad, "bias", 1, 2, 0),
            lambda: prune.remove(bad, "weight"),
            lambda: prune.random_structured(bad, "weight", 1, 5),
        ]
        return [*results, [error_of(call) for call in calls], bad.state_dict()]

    on_both(scenario)


def test_fusion() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        conv, norm = nn.Conv2d(3, 4, 2).eval(), nn.BatchNorm2d(4).eval()
        norm.running_mean.normal_()
        linear = nn.utils.fuse_linear_bn_eval(nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval())
        return [nn.utils.fuse_conv_bn_eval(conv, norm).state_dict(), linear.state_dict()]

    on_both(scenario)


def test_stateless() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        call = nn.utils.stateless.functional_call
        m = nn.Sequential(nn.Linear(5, 5), nn.BatchNorm1d(5))
        m.add_module("tied", m[0])
        given = {key: value.clone() for key, value in m.state_dict().items() if "tied" not in key}
        given["0.weight"] = given["0.weight"] * 2
        return [
            call(m, given, x),
            given,
            m.state_dict(),
            error_of(lambda: call(m, {"foo": x}, x, strict=True)),
            error_of(lambda: call(m, {"0.weight": x, "tied.weight": x + 1}, x)),
            error_of(lambda: call(m, {"0.weight": 3}, x)),
            call(m, {"foo": x}, (x,)),
            hasattr(m, "foo"),
        ]

    on_both(scenario)


def test_skip_init_leaves_the_random_stream() -> None:
    def scenario(lib: Any, nn: Any, x: Any) -> Any:
        m = nn.utils.skip_init(nn.Linear, 3, 4)
        return [tuple(m.weight.shape), lib.rand(1), error_of(lambda: nn.utils.skip_init(nn.ReLU))]

    on_both(scenario)


def test_padding_in_evaluation() -> None:
    """What an encoder gives at positions that are padding, with and without nested tensors."""

    def scenario(lib: Any, nn: Any, x: Any, nested: bool) -> Any:
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=nested).eval()
        src = lib.randn(3, 5, 8)
        hidden = lib.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 1, 1, 1, 1]]).bool()
        with lib.no_grad():
            quiet = [encoder(src, src_key_padding_mask=mask) for mask in (hidden, hidden.flip(0))]
        causal = nn.Transformer.generate_square_subsequent_mask(5)
        return [quiet, encoder(src, src_key_padding_mask=hidden), encoder(src, mask=causal)]

    for nested in (True, False):
        on_both(scenario, nested)
